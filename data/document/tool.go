package document

import (
	"context"
	"embed"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/toolspec"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

// specFiles has the texts that models read: the tool's description, and the schema
// of its arguments.
//
//go:embed spec
var specFiles embed.FS

// A Detail is the Detail of a result of read_document.
type Detail struct {
	Path   string   `json:"path"`
	Format string   `json:"format"`
	About  string   `json:"about"`
	Parts  []string `json:"parts,omitempty"` // their labels
	Notes  []string `json:"notes,omitempty"`
}

// NewTool returns the tool read_document, which reads documents of ws. Its
// results have a [Detail], and an image for models that can see.
func NewTool(ws workspace.Workspace) openmanus.Tool {
	spec := toolspec.Read(specFiles, "spec", "read_document", openmanus.Hints{ReadOnly: true, Idempotent: true},
		openmanus.Argument{Name: "path", Kind: openmanus.PathArgument, Does: openmanus.Reads})
	type input struct {
		Path  string `json:"path"`
		Pages string `json:"pages"`
	}
	return openmanus.Func(spec, func(ctx context.Context, _ openmanus.Call, in input) (openmanus.Result, error) {
		name, err := workspace.Name(ws.Dir(), in.Path)
		if err != nil {
			return openmanus.Result{}, err
		}
		o, err := selection(in.Pages)
		if err != nil {
			return openmanus.Result{}, err
		}
		d, err := Read(ctx, ws.FS(), name, o)
		if err != nil {
			return openmanus.Result{}, err
		}
		return result(name, d, in.Pages), nil
	})
}

// selection parses 3, 2-5 and 7-.
func selection(pages string) (o Options, err error) {
	if pages = strings.ReplaceAll(pages, " ", ""); pages == "" {
		return o, nil
	}
	from, to, ranged := strings.Cut(pages, "-")
	if o.From, err = strconv.Atoi(from); err != nil || o.From < 1 {
		return o, fmt.Errorf("pages %q: write 3, 2-5, or 7-; they count from 1", pages)
	}
	switch {
	case !ranged:
		o.To = o.From
	case to != "":
		if o.To, err = strconv.Atoi(to); err != nil || o.To < o.From {
			return o, fmt.Errorf("pages %q: write 3, 2-5, or 7-; they count from 1", pages)
		}
	}
	return o, nil
}

// result is what the model reads of a document: a line about it, the text, and
// the image if there is one. pages is the argument, for the error that it fits
// nothing.
func result(name string, d *Document, pages string) openmanus.Result {
	detail := Detail{Path: name, Format: d.Format, About: d.About, Notes: d.Notes}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s\n", name, d.Format, d.About)
	for _, p := range d.Parts {
		detail.Parts = append(detail.Parts, p.Label)
	}
	if len(d.Parts) == 0 && d.Image == nil {
		in := ""
		if pages != "" {
			in = " in " + pages
		}
		fmt.Fprintf(&b, "\nThere is no text%s.\n", in)
	}
	b.WriteString(d.String())
	res := openmanus.TextResult("%s", b.String())
	res.Detail = detail
	if d.Image != nil {
		res.Parts = append(res.Parts, llm.Blob{MIME: d.MIME, Name: path.Base(name), Data: d.Image})
	}
	return res
}
