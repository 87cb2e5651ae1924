package document

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/near"
	"github.com/openmanus-go/openmanus/internal/sight"
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
		Path   string `json:"path"`
		Pages  string `json:"pages"`
		Offset int    `json:"offset"`

		Encoding string `json:"encoding"`
	}
	run := func(ctx context.Context, call openmanus.Call, in input) (openmanus.Result, error) {
		name, err := workspace.NameIn(ctx, ws.Dir(), in.Path)
		if err != nil {
			return openmanus.Result{}, err
		}
		o, err := selection(in.Pages)
		if err != nil {
			return openmanus.Result{}, err
		}
		o.Paged, o.MaxText, o.Encoding = true, in.Offset+1<<20, in.Encoding
		raw, err := load(ws.FS(), name, maxBytes)
		var d *Document
		if err == nil {
			d, err = parse(ctx, ws.FS(), name, raw, o)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("there is no file %s%s", in.Path, near.File(workspace.Unnamed(ws.FS()), name))
		}
		if err != nil {
			return openmanus.Result{}, err
		}
		next, err := d.page(o, in.Offset, call.ResultSize().Text)
		if err != nil {
			return openmanus.Result{}, err
		}
		if in.Pages == "" && in.Offset == 0 && next == "" {
			sight.Saw(ctx, name, sight.Sum(raw))
		} else {
			sight.SawLines(ctx, name, sight.Sum(raw), 0, 0, 0)
		}
		return result(name, d, in.Pages, next), nil
	}
	return openmanus.Func(spec, run)
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

// page leaves in d what the model reads at a time: whole parts, in about limit bytes, or
// as much as fits of the first one after its byte offset. It returns how to go on, or "".
func (d *Document) page(o Options, offset, limit int) (next string, err error) {
	if len(d.Parts) == 0 {
		return "", nil
	}
	first := &d.Parts[0]
	size := len(first.Text)
	if offset > size || offset < 0 {
		return "", fmt.Errorf("the offset %d is beyond the end: %s has %d bytes", offset, first.Label, size)
	}
	for offset > 0 && offset < size && !utf8.RuneStart(first.Text[offset]) {
		offset--
	}
	first.Text = first.Text[offset:]
	if n := clip.Page(first.Text, limit); n < len(first.Text) || d.More && len(d.Parts) == 1 {
		first.Text, d.Parts = first.Text[:n], d.Parts[:1]
		on := fmt.Sprintf("pages %q, ", rest(first.Number, o.To))
		if first.Label == "text" { // the only part there is
			on = ""
		}
		return fmt.Sprintf("(%s: bytes %d to %d of %s; %soffset %d goes on)", first.Label, offset, offset+n,
			ofAll(size, d.More && size == offset+n), on, offset+n), nil
	}
	last, whole := d.Parts[len(d.Parts)-1].Number, len(d.Parts)
	if d.More { // something of the last one is missing
		whole--
	}
	n, used := 0, 0
	for ; n < whole; n++ {
		if used += len(d.Parts[n].Text) + len(d.Parts[n].Label) + len("\n---  ---\n\n"); used > limit && n > 0 {
			break
		}
	}
	if n == len(d.Parts) {
		return "", nil
	}
	from, to, of := first.Number, d.Parts[n-1].Number, ""
	if total := max(d.Total, last); d.Total > 0 || o.To == 0 && !d.More {
		of = fmt.Sprintf(" of %d", total)
	}
	next, d.Parts = rest(d.Parts[n].Number, o.To), d.Parts[:n]
	return fmt.Sprintf("(%s %s%s; pages %q goes on)", d.kind(), rest(from, to), of, next), nil
}

// rest writes a selection from a part on.
func rest(from, to int) string {
	switch to {
	case 0:
		return fmt.Sprintf("%d-", from)
	case from:
		return strconv.Itoa(from)
	}
	return fmt.Sprintf("%d-%d", from, to)
}

// ofAll writes a size that may be larger.
func ofAll(size int, more bool) string {
	if more {
		return fmt.Sprintf("more than %d", size)
	}
	return strconv.Itoa(size)
}

// kind returns what the parts are called: pages, slides, sheets, or else parts.
func (d *Document) kind() string {
	for _, k := range []string{"page", "slide", "sheet"} {
		if strings.HasPrefix(d.Parts[0].Label, k+" ") {
			return k + "s"
		}
	}
	return "parts"
}

// result is what the model reads of a document: a line about it, the text, and
// the image if there is one. pages is the argument, for the error that it fits
// nothing; next is how to go on.
func result(name string, d *Document, pages, next string) openmanus.Result {
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
	if next != "" {
		b.WriteString("\n" + next + "\n")
	}
	res := openmanus.TextResult("%s", b.String())
	res.Detail, res.Reading = detail, true
	if d.Image != nil {
		res.Parts = append(res.Parts, llm.Blob{MIME: d.MIME, Name: path.Base(name), Data: d.Image})
	}
	return res
}
