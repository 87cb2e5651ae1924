package hostexec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Editor returns the words of the command that is the person's editor: that of VISUAL, or else
// of EDITOR.
func Editor(visual, editor string) ([]string, error) {
	words := strings.Fields(cmp.Or(strings.TrimSpace(visual), editor))
	if len(words) == 0 {
		return nil, errors.New("no editor is known: set EDITOR, such as EDITOR=nano")
	}
	return words, nil
}

// Edit returns the command that opens a text in an editor, whose words are those of [Editor].
// The file is named after pattern, as in [os.CreateTemp], in a directory that only the person
// can read, in which the editor starts: editors read settings there. saved returns what was
// saved, or the error with which the command ended, and removes the file.
func (f Finder) Edit(ctx context.Context, editor []string, pattern, text string) (cmd *exec.Cmd, saved func(ended error) (string, error), err error) {
	parent, err := f.Dir()
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp(parent, "openmanus-")
	if err != nil {
		return nil, nil, err
	}
	name := filepath.Join(dir, strings.ReplaceAll(pattern, "*", "openmanus"))
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	cmd = f.PersonsCommand(ctx, editor[0], append(editor[1:], name)...)
	cmd.Dir = dir
	return cmd, func(ended error) (string, error) {
		defer os.RemoveAll(dir)
		if ended != nil {
			return "", fmt.Errorf("the editor %s: %w", editor[0], ended)
		}
		data, err := os.ReadFile(name)
		return string(data), err
	}, nil
}
