package a2aclient

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	wire "github.com/openmanus-go/openmanus/internal/a2awire"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// The bindings that this program speaks, the preferred one first.
const (
	jsonRPC  = "JSONRPC"
	httpJSON = "HTTP+JSON"
)

// A Found is a card as it was found.
type Found struct {
	Card wire.Card
	Raw  json.RawMessage // all of it, with its names sorted
	Hash string          // of Raw: what a person approves
}

// readCard reads a card. Its hash is over the JSON with sorted names, so that white space
// and order do not matter.
func readCard(data []byte) (*Found, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("it is no card of an agent: %w", err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	f := &Found{Raw: raw, Hash: fmt.Sprintf("%x", sha256.Sum256(raw))}
	if err := json.Unmarshal(raw, &f.Card); err != nil {
		return nil, fmt.Errorf("it is no card of A2A %s: %w", wire.Version, err)
	}
	return f, nil
}

// ReadCard reads the card of the agent, within 30 seconds. It may be any card: [Approvals]
// says whether a person knows it.
func (c *Client) ReadCard(ctx context.Context) (*Found, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", c.home.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.do(req, c.o.Token)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	bad := func(err error) error { return fmt.Errorf("the card of the agent %s at %s: %w", c.o.Name, c.home, err) }
	data, err := read(resp.Body, maxCard)
	if err != nil {
		return nil, bad(err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, bad(fmt.Errorf("the server answers with status %d", resp.StatusCode))
	}
	f, err := readCard(data)
	if err != nil {
		return nil, bad(err)
	}
	return f, nil
}

// choose returns the interface to use: one of the protocol's version and of a binding
// that this program speaks.
func (f *Found) choose() (wire.Interface, error) {
	var there []string
	for _, binding := range []string{jsonRPC, httpJSON} {
		for _, at := range f.Card.Interfaces {
			if at.Binding == binding && (at.Version == wire.Version || strings.HasPrefix(at.Version, wire.Version+".")) {
				return at, nil
			}
		}
	}
	for _, at := range f.Card.Interfaces {
		there = append(there, clip.OneLine(clip.Clean(at.Binding+" "+at.Version)))
	}
	if len(there) == 0 {
		there = []string{"none"}
	}
	return wire.Interface{}, fmt.Errorf("it cannot be asked: this program speaks A2A %s over %s or %s, and the card names %s",
		wire.Version, jsonRPC, httpJSON, clip.Text(strings.Join(there, ", "), 300))
}

// Shown returns what a person approves: who the agent says it is, what it says it can
// do, and where it is asked.
func (f *Found) Shown() string {
	line := func(s string, n int) string { return clip.Text(clip.OneLine(clip.Visible(s)), n) }
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s\n", line(f.Card.Name, 100), line(f.Card.Version, 40), line(f.Card.Description, 600))
	if at, err := f.choose(); err != nil {
		fmt.Fprintf(&b, "  %s\n", err)
	} else {
		fmt.Fprintf(&b, "  asked at %s, over %s\n", line(at.URL, 300), at.Binding)
	}
	for i, s := range f.Card.Skills {
		if i == 20 {
			fmt.Fprintf(&b, "  and %d more\n", len(f.Card.Skills)-i)
			break
		}
		fmt.Fprintf(&b, "  - %s: %s\n", line(s.Name, 100), line(s.Description, 300))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Description says in a line what the agent can do, for agents that give it work. The
// words are the other side's: they are cut, and harmless to show.
func (f *Found) Description() string {
	var skills []string
	for _, s := range f.Card.Skills {
		skills = append(skills, s.Name)
	}
	text := f.Card.Description
	if len(skills) > 0 {
		text += " (" + strings.Join(skills, ", ") + ")"
	}
	return clip.Text(clip.OneLine(clip.Clean(text)), 400)
}

// Differs names the members in which two cards differ, in order, for the person who has to
// approve the new one.
func (f *Found) Differs(from *Found) string {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(f.Raw, &a) != nil || json.Unmarshal(from.Raw, &b) != nil {
		return "all of it"
	}
	var names []string
	for name := range a {
		if !bytes.Equal(a[name], b[name]) {
			names = append(names, name)
		}
	}
	for name := range maps.Keys(b) {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return clip.Text(clip.OneLine(clip.Clean(strings.Join(names, ", "))), 200)
}
