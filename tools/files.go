package tools

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/openmanus-go/openmanus/workspace"
)

// maxFile is how many bytes a file may have that a tool reads whole.
const maxFile = 32 << 20

var errTooLarge = errors.New("more than this tool's limit")

// readFile returns the content of a regular file, never nil. The error is for
// the model, which calls the file path. It is [fs.ErrNotExist] if there is no
// file, and errTooLarge if it has more than maxFile bytes.
func readFile(ws workspace.Files, name, path string) ([]byte, error) {
	info, err := stat(ws.FS(), name, path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s has %d bytes, %w of %d bytes; use a command or a program", path,
			info.Size(), errTooLarge, maxFile)
	}
	data, err := fs.ReadFile(ws.FS(), name)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, cause(err))
	}
	return append([]byte{}, data...), nil
}

// stat looks at a file or directory. Anything else is an error: reading a named
// pipe might never end.
func stat(fsys fs.FS, name, path string) (fs.FileInfo, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, cause(err))
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is neither a file nor a directory (%s)", path, info.Mode().Type())
	}
	return info, nil
}

// cause returns err without the operation and the path, for a text that names
// them itself.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
