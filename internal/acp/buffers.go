package acp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// patience is how long the client may take to read or write a file.
const patience = 10 * time.Second

// fileAbility says which files of its own a client reads and writes for an agent.
type fileAbility struct{ ReadTextFile, WriteTextFile bool }

// buffers are the [workspace.Buffers] of a client.
type buffers struct{ a *agent }

// ReadText implements [workspace.Buffers]. The text is that of the editor, with changes
// that are not saved yet.
func (b buffers) ReadText(ctx context.Context, session, path string) (string, error) {
	var answer struct{ Content *string }
	err := b.ask(ctx, b.a.client.FS.ReadTextFile, "fs/read_text_file", session, path, object{}, &answer)
	if err == nil && answer.Content == nil {
		err = errors.New("the editor answered without the text of the file")
	}
	if err != nil {
		return "", err
	}
	return *answer.Content, nil
}

// WriteText implements [workspace.Buffers].
func (b buffers) WriteText(ctx context.Context, session, path, text string) error {
	return b.ask(ctx, b.a.client.FS.WriteTextFile, "fs/write_text_file", session, path, object{"content": text}, new(object))
}

// ask has the client do something with a file of a session that is open there, or below
// one. It knows nothing of open files outside the directory.
func (b buffers) ask(ctx context.Context, able bool, method, session, path string, params object, answer any) error {
	top, _, _ := strings.Cut(session, ".")
	s := b.a.session(top)
	if !able || s == nil {
		return errors.ErrUnsupported
	}
	path, ok := s.ofClient(path)
	if !ok {
		return errors.ErrUnsupported
	}
	params["sessionId"], params["path"] = top, path
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := b.a.call(asking, method, params, answer)
	var refused *Error
	switch {
	case errors.As(err, &refused) && refused.Code == codeNotFound:
		return fmt.Errorf("the editor: %w", fs.ErrNotExist)
	case errors.As(err, &refused) && refused.Code == codeMethod:
		return errors.ErrUnsupported
	case refused != nil:
		return fmt.Errorf("the editor refuses: %s", clip.OneLine(clip.Clean(clip.Text(refused.Message, 300))))
	case err != nil && ctx.Err() == nil && asking.Err() != nil:
		return fmt.Errorf("the editor did not answer within %v, and nothing was done; try again, or ask the person to look at it", patience)
	case b.a.ctx.Err() != nil:
		return errors.New("the editor is gone")
	case err != nil && ctx.Err() == nil:
		return fmt.Errorf("the editor answered what cannot be read: %w", err)
	}
	return err
}

// ofClient returns the path of a file as the client has it, which may have opened the
// directory by another path.
func (s *session) ofClient(path string) (string, bool) {
	real, err := filepath.EvalSymlinks(s.dir)
	if err != nil {
		return "", false
	}
	rel, err := filepath.Rel(real, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.Join(s.dir, rel), true
}
