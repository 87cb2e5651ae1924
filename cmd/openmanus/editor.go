package main

import (
	"context"

	"github.com/openmanus-go/openmanus/internal/hostexec"
)

// edit has the user edit a text in the editor of VISUAL or EDITOR, and returns what they
// saved. pattern names the file, as for [os.CreateTemp].
func (t *terminal) edit(ctx context.Context, pattern, text string) (string, error) {
	visual, _ := t.env("VISUAL")
	editor, _ := t.env("EDITOR")
	words, err := hostexec.Editor(visual, editor)
	if err != nil {
		return "", err
	}
	cmd, saved, err := hostexec.Outside(t.dir).Edit(ctx, words, pattern, text)
	if err != nil {
		return "", err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.in, t.err, t.err // standard output is for results
	return saved(cmd.Run())
}
