package server

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
)

// TestModeOfUser: a request narrows what the user may do and never widens it, and one that
// names no mode gets ask, or less if that is the most that the user may.
func TestModeOfUser(t *testing.T) {
	for _, c := range []struct{ user, asked, want string }{ // want "": refused
		{"", "", "ask"}, {"", "ask", "ask"}, {"", "readonly", "readonly"}, {"", "plan", "plan"}, {"", "edits", ""}, {"", "all", ""},
		{"edits", "", "ask"}, {"edits", "edits", "edits"}, {"edits", "all", ""},
		{"all", "", "ask"}, {"all", "all", "all"},
		{"plan", "", "plan"}, {"plan", "ask", ""}, {"plan", "readonly", "readonly"},
		{"readonly", "", "readonly"}, {"readonly", "ask", ""}, {"readonly", "plan", ""}, {"readonly", "edits", ""}, {"readonly", "readonly", "readonly"},
	} {
		got, err := User{Name: "ann", Approve: c.user}.mode("approve", c.asked)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("a user with %q asks for %q: %q, %v, want %q", c.user, c.asked, got, err, c.want)
		}
		if err != nil && !strings.Contains(err.Error(), "An administrator of this server can change that: [users.ann] approve") {
			t.Errorf("it does not say who can allow it: %v", err)
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
