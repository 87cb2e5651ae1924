package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/gate"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/gist"
)

// Lasting implements [act.Memory]. A decision is bound to a hash of everything that the
// person was shown: tool, arguments, workspace and sandbox. Its description of the call
// contains no secrets. It goes into the file of approvals: see [gate.Memory].
func (h *Host) Lasting(session string, s *openmanus.State, c *openmanus.CallState) (func(allow bool, by string) error, error) {
	key := gate.CallKey(s, c)
	if key == "" {
		return nil, whyNotLasting(c.Question())
	}
	what := []rune(gist.Call(c.Call))
	d := gate.Decision{
		Key: key, Tool: c.Name, What: h.Secrets.Replace(string(what[:min(len(what), 200)])),
		Workspace: s.Config.Workspace, Session: session,
	}
	return func(allow bool, by string) error {
		d.Allow, d.By, d.At = allow, by, time.Now().UTC()
		return h.Memory().Remember(d)
	}, nil
}

// whyNotLasting returns the error for a decision about q that cannot be remembered. It
// names the option that allows a site for the rest of the session, where there is one.
func whyNotLasting(q openmanus.Asked) error {
	if !gate.OnlyPerson(q.Rule) && q.Rule != gate.RuleLocal {
		return errors.New("the effect of the call depends on the file or page as it is then. " +
			"A rule in [approval] of your configuration can allow edits")
	}
	text := "such a call is asked about in each session"
	if q.Scope != "" {
		text += ". --site allows " + clip.Plain(q.Scope) + " for the rest of this one"
	}
	return errors.New(text)
}

// Deleted removes what was kept for a session that was deleted: the copies of a workspace in
// which its attempts, and sessions below it, worked, and that of a fork if nothing in it changed.
func (h *Host) Deleted(id string) error {
	_, ferr := h.RemoveForkFiles(context.Background(), id, false)
	c := h.copies("", 0)
	err := c.Remove(id)
	if err == nil { // it is an id, so no pattern
		below, _ := filepath.Glob(filepath.Join(c.Home, id+".*"))
		for _, dir := range below {
			err = errors.Join(err, c.Remove(filepath.Base(dir)))
		}
	}
	if err != nil {
		err = fmt.Errorf("session %s is deleted, but not all copies of its attempts: %w", id, err)
	}
	return errors.Join(ferr, err)
}
