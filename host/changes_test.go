package host

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/llm"
)

// A call's changes are: the files that it names, if its tool edits these; all
// changes while it ran alone, if it is a command.
func TestChangesOfACall(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("old.txt", "old")
	put("gone.txt", "gone")
	h := &Host{Options: Options{Config: &config.Config{DataDir: t.TempDir()}}}
	s := &openmanus.State{}
	s.Config.Workspace = dir
	edits := openmanus.ToolSpec{Hints: openmanus.Hints{Edits: true},
		Arguments: []openmanus.Argument{{Name: "path", Kind: openmanus.PathArgument, Does: openmanus.Writes}}}
	call := func(input string) openmanus.Call { return openmanus.Call{Call: llm.Call{Input: input}} }

	edit := h.changes(s, call(`{"path":"`+filepath.ToSlash(filepath.Join(dir, "report"))+`"}`), edits)
	put("report.html", "<p>")
	put("yours.txt", "a person was here")
	if own, meanwhile := edit(); fmt.Sprint(own, meanwhile) != "[{report.html created}] []" {
		t.Errorf("an edit: %v, meanwhile %v", own, meanwhile)
	}
	nothing := h.changes(s, call(`{"path":"old.txt"}`), edits)
	if own, meanwhile := nothing(); own != nil || meanwhile != nil {
		t.Errorf("an edit that failed: %v, meanwhile %v", own, meanwhile)
	}

	command := h.changes(s, call(`{"command":"x"}`), openmanus.ToolSpec{})
	put("old.txt", "changed")
	if err := os.Remove(filepath.Join(dir, "gone.txt")); err != nil {
		t.Fatal(err)
	}
	put("new.txt", "new")
	if own, meanwhile := command(); fmt.Sprint(own, meanwhile) != "[{gone.txt deleted} {new.txt created} {old.txt modified}] []" {
		t.Errorf("a command: %v, meanwhile %v", own, meanwhile)
	}

	one := h.changes(s, call(`{}`), openmanus.ToolSpec{})
	two := h.changes(s, call(`{}`), openmanus.ToolSpec{})
	put("whose.txt", "who knows")
	for _, end := range []func() (own, meanwhile []openmanus.FileChange){one, two} {
		if own, meanwhile := end(); fmt.Sprint(own, meanwhile) != "[] [{whose.txt created}]" {
			t.Errorf("two commands at once: %v, meanwhile %v", own, meanwhile)
		}
	}
	after := h.changes(s, call(`{}`), openmanus.ToolSpec{})
	put("mine.txt", "mine")
	if own, _ := after(); fmt.Sprint(own) != "[{mine.txt created}]" {
		t.Errorf("alone again: %v", own)
	}
	s.Config.Workspace = filepath.Join(dir, "not there")
	if own, meanwhile := h.changes(s, call(`{}`), openmanus.ToolSpec{})(); own != nil || meanwhile != nil {
		t.Errorf("in no workspace: %v, %v", own, meanwhile)
	}
}
