package server

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

func TestMayUse(t *testing.T) {
	for _, c := range []struct {
		user, mode string
		want       bool
	}{
		{"", "", true},
		{"", "ask", true},
		{"", "readonly", true},
		{"", "edits", false},
		{"", "all", false},
		{"edits", "edits", true},
		{"edits", "all", false},
		{"all", "all", true},
		{"readonly", "ask", true}, // asking is always allowed
		{"readonly", "readonly", true},
		{"readonly", "edits", false},
	} {
		if got := (User{Approve: c.user}).mayUse(c.mode); got != c.want {
			t.Errorf("a user with %q may use %q: %v, want %v", c.user, c.mode, got, c.want)
		}
	}
}

func TestWorkspacePaths(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	u := User{Root: filepath.Join(dir, "ann")}
	outside := filepath.Join(dir, "bob")
	if err := os.MkdirAll(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := u.workspace("a"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(u.Root, "link")); err != nil {
		t.Skip(err)
	}
	for name, want := range map[string]string{ // want is what relative makes of it; "": refused
		"a":                             "a",
		"a/b":                           "a/b",
		"./a/../c":                      "c",
		filepath.Join(u.Root, "d", "e"): "d/e",
		"..":                            "",
		"../bob":                        "",
		outside:                         "",
		"link":                          "",
		"link/x":                        "",
	} {
		path, err := u.workspace(name)
		if (err == nil) != (want != "") {
			t.Errorf("%s is %q, %v", name, path, err)
			continue
		}
		if err != nil {
			continue
		}
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", name, err)
		}
		if got := u.relative(path); got != want {
			t.Errorf("%s is relative %q, want %q", name, got, want)
		}
	}
	if got := u.relative(outside); got != outside {
		t.Errorf("a directory elsewhere is %q", got)
	}
}

func TestContentTypes(t *testing.T) {
	for name, want := range map[string]string{ // + is shown in a page
		"a.html": "text/plain; charset=utf-8 +", "a.js": "text/plain; charset=utf-8 +", "a.xml": "text/plain; charset=utf-8 +",
		"a.css": "text/plain; charset=utf-8 +", "a.svg": "image/svg+xml +", "a.png": "image/png +", "a.pdf": "application/pdf +",
		"a": "application/octet-stream", "a.unknown": "application/octet-stream",
	} {
		got := contentType(name)
		if mayShow(got) {
			got += " +"
		}
		if got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestLimits(t *testing.T) {
	for _, want := range []openmanus.Limits{
		{},
		{Steps: 7, Tokens: 1000, Money: openmanus.Dollar / 4, Time: 90 * time.Second},
		{Steps: -1, Tokens: -1, Money: -1, Time: -1},
	} {
		if got := limitsView(want).limits(); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v became %+v", want, got)
		}
	}
}

func TestResponseIDs(t *testing.T) {
	const session = "20261122-1314-ok2vzdul_x"
	if got, err := sessionOf(responseID(session)); got != session || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, id := range []string{"", "resp_", "resp_x", "msg_a_b"} {
		if got, err := sessionOf(id); err == nil {
			t.Errorf("%q is a response of %q", id, got)
		}
	}
}

func TestPrompt(t *testing.T) {
	const both = `[{"role":"system","content":"Be brief."},{"role":"assistant","content":null},
		{"role":"user","content":[{"type":"text","text":"Hi."},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}]`
	for _, c := range []struct{ session, messages, want string }{
		{"", `[{"role":"user","content":"Hi."}]`, "Hi."},
		{"", both, "The conversation so far:\n<system>\nBe brief.\n</system>\n\nNow:\n|Hi.|image/png"},
		{"s", both, "Hi.|image/png"},
		{"", `[]`, "error"},
		{"", `[{"role":"user","content":""}]`, "error"},
		{"", `[{"role":"user","content":"Hi."},{"role":"assistant","content":"Hello."}]`, "error"},
		{"", `[{"role":"user","content":7}]`, "error"},
		{"", `[{"role":"user","content":[{"type":"input_audio"}]}]`, "error"},
		{"", `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.org/a.png"}}]}]`, "error"},
		{"", `[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,?"}]}]`, "error"},
	} {
		var messages []chatMessage
		var parts llm.Parts
		err := json.Unmarshal([]byte(c.messages), &messages)
		if err == nil {
			parts, err = prompt(c.session, messages)
		}
		var got []string
		for _, p := range parts {
			switch p := p.(type) {
			case llm.Text:
				got = append(got, p.Text)
			case llm.Blob:
				got = append(got, p.MIME)
			}
		}
		text := strings.Join(got, "|")
		if err != nil {
			text = "error"
		}
		if text != c.want {
			t.Errorf("%s: %q, want %q (%v)", c.messages, text, c.want, err)
		}
	}
}
