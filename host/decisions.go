package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/gate"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/gist"
)

// Rememberable reports whether a decision about the call c, in a session with
// the state s, can be remembered.
func Rememberable(s *openmanus.State, c *openmanus.CallState) bool { return gate.CallKey(s, c) != "" }

// Decision returns a decision about the call c of a session that is to be
// remembered. It is bound to a hash of everything that the user was shown: tool,
// arguments, workspace and sandbox. Its description of the call contains no
// secrets. The caller sets what was decided, by whom and when.
func (h *Host) Decision(session string, s *openmanus.State, c *openmanus.CallState) gate.Decision {
	what := []rune(gist.Call(c.Call))
	return gate.Decision{
		Key: gate.CallKey(s, c), Tool: c.Name, What: h.Secrets.Replace(string(what[:min(len(what), 200)])),
		Workspace: s.Config.Workspace, Session: session,
	}
}

// ByPerson is the By of rulings and answers of the person at this machine, and ForGood the
// [openmanus.Ruled].Rule of a decision that is remembered.
const (
	ByPerson = "person"
	ForGood  = "remembered from now on"
)

// Remember records a decision about the call c of a session, so that the same call is not
// asked about again: see [gate.Memory]. by names the person.
func (h *Host) Remember(session string, s *openmanus.State, c *openmanus.CallState, allow bool, by string) error {
	d := h.Decision(session, s, c)
	d.Allow, d.By, d.At = allow, by, time.Now().UTC()
	return h.Memory().Remember(d)
}

// ErrNotLasting is why a decision is not remembered whose call depends on the moment.
var ErrNotLasting = errors.New("this decision cannot be remembered, because the effect of the call depends on the file " +
	"or page as it is then. A rule in [approval] of your configuration can allow edits")

// WhyNotLasting returns the error for a decision about q that cannot be remembered. It
// names the option that allows a site for the rest of the session, where there is one.
func WhyNotLasting(q openmanus.Asked) error {
	if !gate.OnlyPerson(q.Rule) && q.Rule != gate.RuleLocal {
		return ErrNotLasting
	}
	text := "this decision cannot be remembered: such a call is asked about in each session"
	if q.Scope != "" {
		text += ". --site allows " + clip.Plain(q.Scope) + " for the rest of this one"
	}
	return errors.New(text)
}

// CheckInput checks the arguments that a person wrote in place of the model's, and returns
// them, or "" if they are the model's. An error goes on from the words that name them.
func CheckInput(s *openmanus.State, c *openmanus.CallState, input string) (string, error) {
	if !json.Valid([]byte(input)) { // a model's slips are mended, a person can be asked
		return "", errors.New(`is not valid JSON: write {"name": value, …}`)
	}
	for _, spec := range s.Config.Tools {
		if spec.Name != c.Name {
			continue
		}
		schema, err := args.Compile(spec.Input)
		if err != nil {
			return "", fmt.Errorf("cannot be checked: the schema of %s: %w", c.Name, err)
		}
		if input, err = schema.Check(input); err != nil {
			return "", fmt.Errorf("does not fit %s: %w", c.Name, err)
		}
	}
	if input == c.Arguments() {
		return "", nil // as the model wrote them
	}
	return input, nil
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
