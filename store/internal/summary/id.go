package summary

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// CheckID returns an error for what cannot be a session id: it is UTF-8 of 1 to 255 bytes
// without slashes and NULs.
func CheckID(session string) error {
	switch {
	case session == "":
		return errors.New("the session id is empty")
	case len(session) > 255:
		return fmt.Errorf("the session id is longer than 255 bytes: %.40q…", session)
	case strings.ContainsAny(session, "/\x00"), !utf8.ValidString(session):
		return fmt.Errorf("%q is not a valid session id: it must be UTF-8 without slashes and NULs", session)
	}
	return nil
}

// Only returns the session of the list all, in which one with the id was looked for. If it has
// none, the error is [openmanus.ErrNoSession].
func Only(id string, all []journal.SessionInfo, err error) (journal.SessionInfo, error) {
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("session %s: %w", id, openmanus.ErrNoSession)
	}
	if err != nil {
		return journal.SessionInfo{}, err
	}
	return all[0], nil
}

// MaxCandidates is how many sessions an error of [Named] lists.
const MaxCandidates = 8

// Named returns the id of the session that prefix names, of those whose ids begin with it:
// the one whose id it is, which comes first, or the only one. Otherwise the error lists
// some of them or, if there is none, is [openmanus.ErrNoSession].
func Named(prefix string, all []journal.SessionInfo) (string, error) {
	switch {
	case len(all) == 0:
		return "", fmt.Errorf("no session has an id that begins with %q: %w", prefix, openmanus.ErrNoSession)
	case len(all) == 1 || all[0].ID == prefix:
		return all[0].ID, nil
	}
	var list strings.Builder
	for i, info := range all {
		if i == MaxCandidates {
			list.WriteString("\n  … and more")
			break
		}
		fmt.Fprintf(&list, "\n  %s  %s", info.ID, info.Title)
	}
	return "", fmt.Errorf("more than one session has an id that begins with %q; give more characters:%s", prefix, list.String())
}
