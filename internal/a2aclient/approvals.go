package a2aclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/openmanus-go/openmanus/internal/wholefile"
)

// Approvals are the cards that a person approved: a file for each agent, in one
// directory. They are safe for concurrent use, by processes too.
type Approvals struct{ dir string }

// NewApprovals returns the approvals in a directory, which need not exist.
func NewApprovals(dir string) *Approvals { return &Approvals{dir} }

// An approval is the file of one agent.
type approval struct {
	Name string          `json:"name"`
	URL  string          `json:"url"` // as configured
	Hash string          `json:"hash"`
	Card json.RawMessage `json:"card"`
	At   time.Time       `json:"at"`
}

func (a *Approvals) path(name string) string { return filepath.Join(a.dir, name+".json") }

// Approved returns the card that was approved of an agent at a URL, or nil. An approval
// for another URL does not count. A file that cannot be read is an error that says how to
// write it anew.
func (a *Approvals) Approved(name, url string) (*Found, error) {
	data, err := os.ReadFile(a.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var one approval
	if err := json.Unmarshal(data, &one); err != nil {
		return nil, fmt.Errorf("%s: %w (openmanus a2a approve %s writes it anew)", a.path(name), err, name)
	}
	f, err := readCard(one.Card)
	if err != nil || f.Hash != one.Hash || one.Name != name || one.URL != url {
		return nil, err
	}
	return f, nil
}

// Approve records that a person approved a card, in place of an earlier one. The file is
// replaced as a whole.
func (a *Approvals) Approve(name, url string, f *Found) error {
	return wholefile.WriteJSON(a.path(name), approval{name, url, f.Hash, f.Raw, time.Now().UTC()})
}

// Revoke forgets an agent.
func (a *Approvals) Revoke(name string) error {
	if err := os.Remove(a.path(name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Check returns the card that was approved of an agent if it is still the agent's. The
// error says what to do.
func (a *Approvals) Check(name, url string, now *Found) error {
	was, err := a.Approved(name, url)
	switch {
	case err != nil:
		return err
	case was == nil:
		return NotApproved(name)
	case was.Hash != now.Hash:
		return fmt.Errorf("the card of the agent %s is another one than you approved (%s): nothing was sent. "+
			"openmanus a2a approve %s shows it and approves it", name, now.Differs(was), name)
	}
	return nil
}

// NotApproved says that an agent is not approved.
func NotApproved(name string) error {
	return fmt.Errorf("the agent a2a:%s is not approved: openmanus a2a approve %s shows its card and approves it", name, name)
}
