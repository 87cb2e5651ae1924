package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/openmanus-go/openmanus/internal/hostexec"
)

// edit has the user edit a text in the editor of VISUAL or EDITOR, and returns what they
// saved. The file is named after pattern, as in [os.CreateTemp], in a directory that only
// the user can read, and is deleted afterwards.
func (t *terminal) edit(ctx context.Context, pattern, text string) (string, error) {
	visual, _ := t.env("VISUAL")
	editor, _ := t.env("EDITOR")
	words := strings.Fields(cmp.Or(strings.TrimSpace(visual), strings.TrimSpace(editor)))
	if len(words) == 0 {
		return "", errors.New("no editor is known: set EDITOR, such as EDITOR=nano")
	}
	outside := hostexec.Outside(t.dir)
	parent, err := outside.Dir()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(parent, "openmanus-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, strings.ReplaceAll(pattern, "*", "openmanus"))
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		return "", err
	}
	cmd := outside.PersonsCommand(ctx, words[0], append(words[1:], name)...)
	// Editors read settings where they start.
	cmd.Dir = dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.in, t.err, t.err // standard output is for results
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("the editor %s: %w", words[0], err)
	}
	data, err := os.ReadFile(name)
	return string(data), err
}
