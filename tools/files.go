package tools

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/openmanus-go/openmanus/workspace"
)

// maxFile is the size in bytes up to which a tool reads a whole file.
const maxFile = 32 << 20

var errTooLarge = errors.New("more than this tool's limit")

// readFile returns the whole content of a regular file, never nil. The error
// is for the model, which calls the file path; it is [fs.ErrNotExist] if
// there is none and errTooLarge if it is larger than maxFile.
func readFile(ws workspace.Files, name, path string) ([]byte, error) {
	info, err := stat(ws.FS(), name, path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s has %d bytes, %w of %d bytes; use a command or a program", path, info.Size(), errTooLarge, maxFile)
	}
	data, err := fs.ReadFile(ws.FS(), name)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, cause(err))
	}
	return append([]byte{}, data...), nil
}

// stat looks at a file or directory. What is neither, such as a named pipe,
// is an error: reading it might never end.
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

// cause takes the operation and the path out of an error whose text names
// them again.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
