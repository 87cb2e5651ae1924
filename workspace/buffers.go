package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus/internal/sight"
)

// Buffers are texts of files as an editor has them, which need not be saved. Paths are
// absolute and have no symbolic links below the workspace. An error that is
// [errors.ErrUnsupported] says that the editor does not do this for files of the session:
// the file on the disk counts. The methods may be used by many goroutines.
type Buffers interface {
	// ReadText returns the text of a file. That there is no such file is
	// [fs.ErrNotExist].
	ReadText(ctx context.Context, session, path string) (string, error)

	// WriteText replaces the text of a file, which it makes if there is none. Its
	// directory exists.
	WriteText(ctx context.Context, session, path, text string) error
}

// maxBuffer is how many bytes a file may have that an editor is asked for.
const maxBuffer = 8 << 20

// WithBuffers returns d as a workspace whose files a person may have open in an editor.
// By [In], calls of sessions find the texts there; all other uses find the disk.
func WithBuffers(d *Dir, b Buffers) Workspace { return buffered{d, b} }

// A disk is a [Dir]. By this name it can be embedded, and has its method Dir.
type disk = Dir

// A buffered workspace is that of WithBuffers.
type buffered struct {
	*disk
	buffers Buffers
}

// In returns w as a call of a session finds it: with the texts that an editor has, if w is
// one of [WithBuffers]. The result is for this call, and reads while ctx lasts.
//
// There, FS gives the text of a file as the editor has it, with the line ends and the
// byte order mark of the file on the disk. WriteFile and [ChangeFiles] give it to the
// editor, after the same checks as for the disk, and then see to it that the file is
// saved. Content that is not UTF-8 text or is larger than 8 MiB, and operations that the
// editor does not offer, go the usual way. An editor that fails or does not answer is an
// error, and nothing was changed. Several files are changed one after the other, and put
// back if one fails.
func In(ctx context.Context, w Workspace, session string) Workspace {
	if e, ok := w.(buffered); ok {
		return edited{e, ctx, session}
	}
	return w
}

// edited is a buffered workspace as a call finds it.
type edited struct {
	buffered
	ctx     context.Context // of the call: reading has none
	session string
}

func (e edited) FS() fs.FS { return editedFS{dirFS{e.disk, false}, e} }

// An editedFS is the view of files with the texts of an editor.
type editedFS struct {
	dirFS
	e edited
}

func (f editedFS) Open(name string) (fs.File, error) {
	file, err := f.dirFS.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxBuffer {
		return file, err
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	if err == nil {
		data, err = f.e.shown(name, data)
	}
	if err != nil {
		return nil, pathError("read", name, err)
	}
	return &textFile{bytes.NewReader(data), textInfo{info, int64(len(data))}}, nil
}

func (f editedFS) ReadFile(name string) ([]byte, error) {
	file, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	return data, pathError("read", name, err)
}

// shown returns the text that the editor has of a file, or what the disk has.
func (e edited) shown(name string, data []byte) ([]byte, error) {
	if !isText(data) {
		return data, nil
	}
	target, err := e.resolve(name)
	if err != nil {
		return nil, err
	}
	text, err := e.buffers.ReadText(e.ctx, e.session, e.at(target))
	switch {
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, fs.ErrNotExist):
		return data, nil
	case err != nil:
		return nil, err
	}
	return asOnDisk(text, data), nil
}

// at returns the path of a name without symbolic links.
func (e edited) at(target string) string { return filepath.Join(e.path, filepath.FromSlash(target)) }

// isText reports whether an editor has data as it is.
func isText(data []byte) bool {
	return len(data) <= maxBuffer && bytes.IndexByte(data, 0) < 0 && utf8.Valid(data)
}

const byteOrderMark = "\uFEFF"

// asOnDisk returns a text of an editor, which may keep line ends and the byte order mark
// of a file for itself, with those that the file has.
func asOnDisk(text string, data []byte) []byte {
	if bytes.HasPrefix(data, []byte(byteOrderMark)) && !strings.HasPrefix(text, byteOrderMark) {
		text = byteOrderMark + text
	}
	lines := bytes.Count(data, []byte("\n"))
	if lines > 0 && bytes.Count(data, []byte("\r\n")) == lines && !strings.Contains(text, "\r") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return []byte(text)
}

// WriteFile implements [Files].
func (e edited) WriteFile(ctx context.Context, name string, data []byte) error {
	target, err := e.writable(ctx, name)
	if err != nil {
		return pathError("write", name, err)
	}
	if err := MayReplace(ctx, e, name, data); err != nil {
		return err
	}
	seen, next := sight.Of(ctx), sight.Sum(data)
	was, err := presentIn(e.FS(), name)
	if err != nil {
		return pathError("write", name, err)
	}
	if err = e.write(sight.With(ctx, nil), target, name, data); err == nil {
		seen.Wrote(target, was, next)
	}
	return err
}

// write is WriteFile for the file target, which the caller calls name.
func (e edited) write(ctx context.Context, target, name string, data []byte) error {
	before, err := e.onDisk(target)
	if err != nil {
		return pathError("write", name, err)
	}
	if !isText(data) || !isText(before) {
		return e.disk.WriteFile(ctx, name, data)
	}
	made, err := e.makeParents(target)
	if err == nil {
		err = e.buffers.WriteText(ctx, e.session, e.at(target), string(data))
	}
	if err != nil {
		for _, dir := range made {
			if e.root.Remove(dir) != nil {
				break // somebody has put something there
			}
		}
		if errors.Is(err, errors.ErrUnsupported) {
			return e.disk.WriteFile(ctx, name, data)
		}
		return pathError("write", name, err)
	}
	if now, err := e.resolve(target); err != nil || now != target {
		return pathError("write", name, fmt.Errorf("the editor was given the text, but %w", errMoved))
	}
	after, err := e.onDisk(target)
	if err == nil && after != nil && !bytes.Equal(before, after) || err == nil && bytes.Equal(after, data) {
		return nil // the editor has saved it, perhaps after it formatted it
	}
	return e.disk.WriteFile(ctx, name, data)
}

// writable returns the name without symbolic links, or the error with which the file
// cannot be written.
func (d *Dir) writable(ctx context.Context, name string) (target string, err error) {
	if err = d.usable(ctx, name); err != nil {
		return "", err
	}
	if target, err = d.resolve(name); err != nil {
		return "", err
	}
	if err = d.allowed(ctx, name, target); err != nil {
		return "", err
	}
	_, err = d.replaceable(target)
	return target, err
}

// onDisk returns what a file has on the disk, nil if there is none. For a large one it
// is the beginning, and not text.
func (e edited) onDisk(target string) ([]byte, error) {
	file, err := (dirFS{e.disk, false}).Open(target)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxBuffer+1))
	return append([]byte{}, data...), err
}

// Change implements [Changer].
func (e edited) Change(ctx context.Context, changes []Change) error {
	for _, c := range changes {
		if c.Data == nil {
			continue // Remove checks it, and changes nothing if it fails
		}
		if _, err := e.writable(ctx, c.Name); err != nil {
			return pathError("write", c.Name, err)
		}
	}
	return ChangeFiles(ctx, oneByOne{e}, changes)
}

// oneByOne are files that are changed one after the other.
type oneByOne struct{ Files }

// A textFile is an open file with the text of an editor.
type textFile struct {
	*bytes.Reader
	info textInfo
}

func (f *textFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *textFile) Close() error               { return nil }

// textInfo is that of the file on the disk, with the size of the text.
type textInfo struct {
	fs.FileInfo
	size int64
}

func (i textInfo) Size() int64 { return i.size }

var (
	_ fs.ReadFileFS = editedFS{}
	_ Changer       = edited{}
)
