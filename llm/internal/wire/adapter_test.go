package wire

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/llm"
)

// The user's headers override the credentials, and every value is removed from
// errors.
func TestCredentials(t *testing.T) {
	other := strings.ToLower("X-Other") // a name that is not canonical
	own := http.Header{other: {"a", "b"}, "Authorization": {"Bearer mine"}}
	header, secrets := Credentials(own, BearerKey("theirs"))
	if got := header.Get("Authorization"); got != "Bearer mine" {
		t.Errorf("authorization %q", got)
	}
	if got := header.Values("X-Other"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("x-other %q", got)
	}
	slices.Sort(secrets)
	if !slices.Equal(secrets, []string{"a", "b", "mine"}) {
		t.Errorf("secrets %q", secrets)
	}
	header.Set("x-other", "changed")
	if own[other][0] != "a" {
		t.Error("the user's header was changed")
	}
	if header, secrets := Credentials(nil, BearerKey("")); len(header) != 0 || len(secrets) != 0 {
		t.Errorf("without any: %v, %q", header, secrets)
	}
}

// Only letters, digits, _ and - are in an id; two ids stay two.
func TestCallID(t *testing.T) {
	for id, same := range map[string]bool{"call_1": true, "a-B_9": true, "": false, "a b": false, "ü": false,
		"0123456789012345678901234567890123456789012345678901234567890123": true, "01234567890123456789012345678901234567890123456789012345678901234": false} {
		got := CallID(id)
		if (got == id) != same || got == "" || len(got) > 64 || got != CallID(id) || CallID(got) != got {
			t.Errorf("%q: %q", id, got)
		}
	}
	if CallID("a b") == CallID("a c") {
		t.Error("two ids became one")
	}
}

func TestToolChoice(t *testing.T) {
	tools := []llm.ToolSpec{{Name: "look"}}
	for _, c := range []struct {
		choice     string
		tools      []llm.ToolSpec
		mode, name string
		wrong      bool
	}{
		{"", tools, "", "", false}, {"auto", nil, "", "", false}, {"none", nil, "", "", false}, {"none", tools, "none", "", false},
		{"required", tools, "required", "", false}, {"required", nil, "", "", true}, {"tool:look", tools, "tool", "look", false},
		{"tool:other", tools, "", "", true}, {"always", tools, "", "", true},
	} {
		req := &llm.Request{Tools: c.tools, Settings: llm.Settings{ToolChoice: c.choice}}
		if mode, name, err := ToolChoice(req); mode != c.mode || name != c.name || (err != nil) != c.wrong {
			t.Errorf("%q with %d tools: %q, %q, %v", c.choice, len(c.tools), mode, name, err)
		}
	}
}

func TestStrict(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`:                          true,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                                                       false,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":[],"additionalProperties":false}`:                             false,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}},"required":["a"],"additionalProperties":false}`: false,
		`{"anyOf":[{"type":"string"},{"type":"null"}]}`:                                                                                 true,
		`{"$ref":"#/$defs/a","$defs":{"a":{}}}`:                                                                                         false,
		`{}`:                                                                                                                            false,
		`nil`:                                                                                                                           false,
	} {
		if got := Strict([]byte(schema)); got != want {
			t.Errorf("%s: %v", schema, got)
		}
	}
}

func TestKindOf(t *testing.T) {
	png := []byte("\x89PNG\r\n\x1a\n")
	for _, c := range []struct {
		blob llm.Blob
		want string
	}{
		{llm.Blob{MIME: "text/plain", Data: png}, "image/png"}, // its bytes count
		{llm.Blob{MIME: "application/octet-stream", Data: []byte("%PDF-1.7")}, "application/pdf"},
		{llm.Blob{MIME: "text/csv; charset=utf-8", Data: []byte("a,b")}, "text/csv"},
		{llm.Blob{Data: []byte("a,b")}, "text/plain"},
	} {
		if got := KindOf(c.blob); got != c.want {
			t.Errorf("%s: %s, want %s", c.blob.MIME, got, c.want)
		}
	}
	for kind, want := range map[string]bool{"text/csv": true, "application/json": true, "application/x-yaml": true, "image/svg+xml": true,
		"application/pdf": false, "image/png": false, "": false} {
		if got := IsText(kind); got != want {
			t.Errorf("%q is text: %v", kind, got)
		}
	}
}
