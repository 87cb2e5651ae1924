package journal_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/journal/journaltest"
	"github.com/openmanus-go/openmanus/llm"
)

// Every ref in a field of any body is one of the session, or belongs to the content of a
// workspace, and not both.
func TestRefsOfEveryBody(t *testing.T) {
	packs := []string{"snapped", "rewound"}
	for _, b := range journaltest.Bodies() {
		stored, err := journal.Codec{}.Encode(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		refs, found := journal.RefsOf(b), journal.PacksOf(b)
		if slices.Contains(packs, stored.Type) {
			refs, found = found, refs
		}
		if len(found) > 0 || !slices.Equal(refs, stored.Refs()) {
			t.Errorf("%s names %q and %q, and has %q", stored.Type, refs, found, stored.Refs())
		}
	}
}

// A session reads the blobs that its events name in a field for them, and those
// of the sessions that delegated to it; not what is only spoken of.
func TestSessionBlobs(t *testing.T) {
	mem := new(journal.Memory)
	put := func(text string) openmanus.Ref {
		ref, err := mem.Put(t.Context(), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	in := func(text string, ref openmanus.Ref) json.RawMessage {
		return json.RawMessage(strings.ReplaceAll(text, "REF", string(ref)))
	}
	const yes, no = true, false
	type one struct {
		body func(openmanus.Ref) openmanus.Body
		want bool
	}
	cases := map[string]one{
		"the whole of a result": {func(r openmanus.Ref) openmanus.Body { return openmanus.CallDone{Call: "c0-0", Whole: r} }, yes},
		"a page that was saved": {func(r openmanus.Ref) openmanus.Body {
			return openmanus.CallDone{Call: "c0-1", Detail: in(`{"url":"http://example.org","blob":"REF"}`, r)}
		}, yes},
		"the record of an edit": {func(r openmanus.Ref) openmanus.Body {
			return openmanus.CallDone{Call: "c0-e", Detail: in(`{"path":"f","undo":[{"path":"f","edit":"REF"}]}`, r)}
		}, yes},
		"pages of research": {func(r openmanus.Ref) openmanus.Body {
			return openmanus.CallDone{Call: "c0-2", Detail: in(`{"sources":[{"id":"p1","blob":"REF"}]}`, r)}
		}, yes},
		"an elided result": {func(r openmanus.Ref) openmanus.Body {
			return openmanus.Elided{N: 1, Calls: []openmanus.Elision{{Call: "c0-0", Whole: r}}}
		}, yes},
		"what was compacted": {func(r openmanus.Ref) openmanus.Body { return openmanus.Compacted{N: 1, Whole: r} }, yes},
		"a message": {func(r openmanus.Ref) openmanus.Body {
			return openmanus.UserSaid{ID: "m", Message: llm.Say(llm.User, string(r))}
		}, no},
		"the text of a result": {func(r openmanus.Ref) openmanus.Body {
			return openmanus.CallDone{Call: "c0-3", Parts: llm.Parts{llm.Text{Text: `read_output {"ref":"` + string(r) + `"}`}}}
		}, no},
		"the URL of a page": {func(r openmanus.Ref) openmanus.Body {
			return openmanus.CallDone{Call: "c0-4", Source: "http://example.org/" + string(r), Detail: in(`{"url":"http://example.org/REF"}`, r)}
		}, no},
		"a longer text in the field": {func(r openmanus.Ref) openmanus.Body {
			return openmanus.CallDone{Call: "c0-5", Detail: in(`{"blob":"see REF"}`, r)}
		}, no},
		"a field that a server made": {func(r openmanus.Ref) openmanus.Body {
			return openmanus.CallDone{Call: "c0-6", Source: "mcp:files", Detail: in(`{"server":"files","structured":{"a":1,"blob":"REF"}}`, r)}
		}, no},
		"a title": {func(r openmanus.Ref) openmanus.Body { return openmanus.Titled{ID: "t", Title: string(r)} }, no},
	}
	bodies := []openmanus.Body{openmanus.Opened{Flow: "f", Version: openmanus.FormatVersion}}
	for name, c := range cases {
		bodies = append(bodies, c.body(put(name)))
	}
	for id, bodies := range map[string][]openmanus.Body{
		"s": bodies, "s.c0-0": {openmanus.Opened{Flow: "f", Parent: "s"}}, "s.c0-0.c0-0": {openmanus.Opened{Flow: "f", Parent: "s.c0-0"}},
		"other": {openmanus.Opened{Flow: "f"}}, "orphan": {openmanus.Opened{Flow: "f", Parent: "gone"}},
	} {
		if _, err := mem.Append(t.Context(), id, bodies...); err != nil {
			t.Fatal(err)
		}
	}
	for session, reads := range map[string]bool{"s": yes, "s.c0-0": yes, "s.c0-0.c0-0": yes, "other": no, "orphan": no, "": no} {
		blobs := journal.SessionBlobs(mem, mem, session)
		for name, c := range cases {
			data, err := openmanus.ReadBlob(t.Context(), blobs, openmanus.RefOf([]byte(name)))
			if want := c.want && reads; want != (err == nil) || want != (string(data) == name) || !want && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s, %q: %q, %v", session, name, data, err)
			}
		}
		ref, err := blobs.Put(t.Context(), []byte("mine"))
		if data, e := openmanus.ReadBlob(t.Context(), blobs, ref); err != nil || e != nil || string(data) != "mine" {
			t.Errorf("%s, what it has stored: %q, %v, %v", session, data, err, e)
		}
	}

	// An export has the blobs that the session can read, and no others.
	var b strings.Builder
	if err := journal.Export(t.Context(), mem, mem, "s", &b); err != nil {
		t.Fatal(err)
	}
	for name, c := range cases {
		if got := strings.Contains(b.String(), `{"blob":"`+string(openmanus.RefOf([]byte(name)))+`"`); got != c.want {
			t.Errorf("the export has %s: %v", name, got)
		}
	}
}
