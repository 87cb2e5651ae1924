package document

import (
	"bytes"
	"context"
	"io/fs"
	"time"
)

// Bytes is [Read] for a document in memory. Of its name only the ending
// counts, as for Read.
func Bytes(ctx context.Context, name string, data []byte, o Options) (*Document, error) {
	return Read(ctx, memory{name, data}, name, o)
}

// A memory is a file system of one file, and that file's [fs.FileInfo].
type memory struct {
	name string
	data []byte
}

func (m memory) Open(name string) (fs.File, error) {
	if name != m.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &memoryFile{bytes.NewReader(m.data), m}, nil
}

// ReadFile implements [fs.ReadFileFS], so that the data is not copied.
func (m memory) ReadFile(name string) ([]byte, error) {
	if name != m.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return m.data, nil
}

type memoryFile struct {
	*bytes.Reader
	info memory
}

func (f *memoryFile) Close() error               { return nil }
func (f *memoryFile) Stat() (fs.FileInfo, error) { return f.info, nil }

func (m memory) Name() string       { return m.name }
func (m memory) Size() int64        { return int64(len(m.data)) }
func (m memory) Mode() fs.FileMode  { return 0o444 }
func (m memory) ModTime() time.Time { return time.Time{} }
func (m memory) IsDir() bool        { return false }
func (m memory) Sys() any           { return nil }
