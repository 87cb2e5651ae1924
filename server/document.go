package server

import (
	"context"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus/internal/regular"
	"github.com/openmanus-go/openmanus/journal"
)

// A DocumentReader is a [Host] that reads documents, such as Office files, as Markdown.
type DocumentReader interface {
	// ReadDocument reads the content of a file with this name. Documents are not trusted:
	// a broken one is an error that says so, whose text is sent to the user.
	ReadDocument(ctx context.Context, name string, data []byte) (Document, error)
}

// A Document is what can be shown of a file that only other programs display.
type Document struct {
	Format string         `json:"format" doc:"Such as Word document."`
	About  string         `json:"about" doc:"One line about it, such as 12 pages."`
	Parts  []DocumentPart `json:"parts"`
	Notes  []string       `json:"notes" doc:"What could not be read, and why."`
	More   bool           `json:"more,omitempty" doc:"Text was left out, because there is so much."`
}

// A DocumentPart is a page, a slide or a sheet of a [Document].
type DocumentPart struct {
	Label string `json:"label" doc:"Such as page 3."`
	Text  string `json:"text" doc:"Markdown."`
}

// The limits of one document: bytes of the file, which is held in memory, and time.
const (
	maxDocument  = 64 << 20
	documentTime = 30 * time.Second
)

// A documentRequest asks for a document as Markdown.
type documentRequest struct {
	OneSession
	Path string `path:"path" maxLength:"4096" doc:"Relative to the workspace."`
	At   int64  `query:"at" minimum:"0" doc:"As it was after this event. Default: as it is."`
}

// document responds with a document of the workspace as Markdown, now or as it was after
// an event. Documents are limited in size and time, because reading them is expensive.
func (s *Server) document(ctx context.Context, info journal.SessionInfo, in *documentRequest) (*body[Document], error) {
	reader, ok := s.Host.(DocumentReader)
	if !ok {
		return nil, huma.Error501NotImplemented("this server does not read documents")
	}
	name, err := (&FileRequest{Path: in.Path}).clean()
	if err != nil {
		return nil, err
	}
	read := s.content
	if in.At > 0 {
		read = func(ctx context.Context, info journal.SessionInfo, name string) ([]byte, error) {
			return s.pastContent(ctx, info, in.At, name)
		}
	}
	data, err := read(ctx, info, name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, documentTime)
	defer cancel()
	d, err := reader.ReadDocument(ctx, path.Base(name), data)
	if err != nil {
		return nil, &FieldError{"path.path", err}
	}
	return &body[Document]{d}, nil
}

// content returns a regular file of the workspace, if it is small enough for a document.
// Links that leave the workspace are not followed.
func (s *Server) content(ctx context.Context, info journal.SessionInfo, name string) ([]byte, error) {
	root, err := s.openWorkspace(ctx, info.Workspace)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, stat, err := regular.Open(root, name)
	if err != nil {
		return nil, pathError(err)
	}
	defer f.Close()
	if stat.Size() > maxDocument {
		return nil, &FieldError{"path.path", fmt.Errorf("it has more than %d bytes: download it", maxDocument)}
	}
	return io.ReadAll(io.LimitReader(f, maxDocument))
}
