package host

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/gate"
	"github.com/openmanus-go/openmanus/internal/gist"
)

// Rememberable reports whether a decision about the call c, in a session with
// the state s, can be remembered.
func Rememberable(s *openmanus.State, c *openmanus.CallState) bool { return gate.CallKey(s, c) != "" }

// Decision returns a decision about the call c of a session that is to be
// remembered. It is bound to a hash of everything that the user was shown: tool,
// arguments, workspace and sandbox. What it shows of the call has no secrets. The
// caller sets what was decided, by whom and when.
func (h *Host) Decision(session string, s *openmanus.State, c *openmanus.CallState) gate.Decision {
	what := []rune(gist.Call(c.Call))
	return gate.Decision{
		Key: gate.CallKey(s, c), Tool: c.Name, What: h.Secrets.Replace(string(what[:min(len(what), 200)])),
		Workspace: s.Config.Workspace, Session: session,
	}
}

// RemoveCopies deletes the copies of a workspace in which the attempts of a session,
// and sessions below it, worked. It is called when the session was deleted.
func (h *Host) RemoveCopies(id string) error {
	c := h.copies("", 0)
	err := c.Remove(id)
	if err == nil { // it is an id, so no pattern
		below, _ := filepath.Glob(filepath.Join(c.Home, id+".*"))
		for _, dir := range below {
			err = errors.Join(err, c.Remove(filepath.Base(dir)))
		}
	}
	if err != nil {
		return fmt.Errorf("session %s is deleted, but not all copies of its attempts: %w", id, err)
	}
	return nil
}
