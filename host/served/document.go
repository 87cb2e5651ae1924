package served

import (
	"context"

	"github.com/openmanus-go/openmanus/data/document"
	"github.com/openmanus-go/openmanus/server"
)

// shownText is how many bytes of a document's text are shown.
const shownText = 512 << 10

// ReadDocument implements [server.DocumentReader]. It reads the document in pages, as far
// as a person can be shown at once; More says that there is more.
func (h Host) ReadDocument(ctx context.Context, name string, data []byte) (server.Document, error) {
	d, err := document.Bytes(ctx, name, data, document.Options{MaxText: shownText, Paged: true})
	if err != nil {
		return server.Document{}, err
	}
	out := server.Document{Format: d.Format, About: d.About, Parts: []server.DocumentPart{}, Notes: append([]string{}, d.Notes...), More: d.More}
	for _, p := range d.Parts {
		out.Parts = append(out.Parts, server.DocumentPart{Label: p.Label, Text: p.Text})
	}
	return out, nil
}
