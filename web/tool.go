package web

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/toolspec"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/sandbox/egress"
	"github.com/openmanus-go/openmanus/workspace"
)

// specs are the descriptions and schemas of the tools: NAME.txt and NAME.json.
//
//go:embed specs
var specs embed.FS

// spec returns the spec of one of the tools.
func spec(name string, h openmanus.Hints, arguments ...openmanus.Argument) openmanus.ToolSpec {
	return toolspec.Read(specs, "specs", name, h, arguments...)
}

// readsOnly are the hints of the tools that only read.
var readsOnly = openmanus.Hints{ReadOnly: true, Idempotent: true}

// opens declares an argument that is an address, or a list of addresses, which
// the tool opens. The tool is a [localTool].
func opens(name string) openmanus.Argument {
	return openmanus.Argument{Name: name, Kind: openmanus.URLArgument, Does: openmanus.Requests, Local: true}
}

// naming returns a context for requests to addresses that a call names: see
// [egress.WithNamed] and allowed.
func naming(ctx context.Context, call openmanus.Call, addresses ...string) context.Context {
	var hosts []string
	for _, a := range addresses {
		if u, err := parseAddress(a); err == nil {
			hosts = append(hosts, strings.ToLower(u.Hostname()))
		}
	}
	return egress.WithNamed(allowed(ctx, call), func(host string) bool { return slices.Contains(hosts, host) })
}

// wrote returns the labels of a text that was read at these addresses. Errors have
// them too: they may repeat what the other side sent. Answers of a local server
// are private.
func wrote(call openmanus.Call, addresses ...string) []openmanus.Source {
	var all []openmanus.Source
	for _, a := range addresses {
		all = append(all, openmanus.Source{From: strings.TrimSpace(a), Private: call.Scope != ""})
	}
	return all
}

// A Saved says where the bytes of a page are kept. It is in the Detail of
// results, so that a session keeps the blob.
type Saved struct {
	URL   string        `json:"url"`
	Asked string        `json:"asked,omitempty"` // the address that was asked for, before redirects
	Title string        `json:"title,omitempty"`
	Type  string        `json:"type"` // Content-Type, with its parameters
	Time  string        `json:"time"` // when it was read, RFC 3339
	Blob  openmanus.Ref `json:"blob"` // sha256:… of the bytes
}

// save keeps the bytes of a page as a blob, as they were before anything was made
// of them.
func save(ctx context.Context, blobs openmanus.Blobs, p *Page) (Saved, error) {
	ref, err := blobs.Put(ctx, p.Body.Data)
	if err != nil {
		return Saved{}, fmt.Errorf("saving %s: %w", p.URL, err)
	}
	return Saved{
		URL:   p.URL,
		Title: p.Title,
		Type:  cmp.Or(p.Body.ContentType, p.Body.Type),
		Time:  p.Body.Time.Format("2006-01-02T15:04:05Z"),
		Blob:  ref,
	}, nil
}

// maxImage is how large an image may be that the model is shown.
const maxImage = 5 << 20

// A fetcher is the tool web_fetch.
type fetcher struct {
	openmanus.Tool
	r *Reader
	d *Downloads
}

type fetchInput struct {
	URL    string `json:"url"`
	Links  bool   `json:"links"`
	Offset int    `json:"offset"`
	SaveTo string `json:"save_to"`
}

// NewFetch returns the tool web_fetch, which reads one page, or saves a file to the
// workspace. The Detail of its results is a [Saved] or a [Download]. Without d it saves
// nothing.
func NewFetch(r *Reader, d *Downloads) openmanus.Tool {
	f := &fetcher{r: r, d: d}
	hints := openmanus.Hints{Edits: true, Destructive: true, Idempotent: true}
	f.Tool = openmanus.Func(spec("web_fetch", hints, opens("url"),
		openmanus.Argument{Name: "save_to", Kind: openmanus.PathArgument, Does: openmanus.Writes}), f.fetch)
	return f
}

// Hints implements [openmanus.CallHinter].
func (f *fetcher) Hints(call openmanus.Call) openmanus.Hints {
	var in fetchInput
	if err := json.Unmarshal([]byte(call.Input), &in); err == nil && in.SaveTo == "" {
		return readsOnly
	}
	return f.Spec().Hints
}

// Preview implements [openmanus.Previewer]. Nobody is asked about a file that would replace
// what the session has not seen.
func (f *fetcher) Preview(ctx context.Context, call openmanus.Call) (string, error) {
	var in fetchInput
	if err := json.Unmarshal([]byte(call.Input), &in); err != nil || in.SaveTo == "" || f.d == nil {
		return "", nil
	}
	name, err := workspace.NameIn(ctx, f.d.Dir, in.SaveTo)
	if err == nil {
		err = workspace.MayReplace(ctx, f.d.Files, name, nil)
	}
	return "", err
}

// Scope implements [openmanus.Scoper], as for [localTool].
func (f *fetcher) Scope(ctx context.Context, call openmanus.Call) (string, error) {
	return localTool{f.Tool, f.r}.Scope(ctx, call)
}

// fetch carries out a call.
func (f *fetcher) fetch(ctx context.Context, call openmanus.Call, in fetchInput) (openmanus.Result, error) {
	switch {
	case in.SaveTo == "":
		return f.read(ctx, call, in)
	case in.Links || in.Offset > 0:
		return openmanus.Result{}, errors.New("save_to saves a file as it is, without links and offset: leave them out")
	case f.d == nil:
		return openmanus.Result{}, errors.New("there is no workspace to save a file to: leave out save_to")
	}
	name, err := workspace.NameIn(ctx, f.d.Dir, in.SaveTo)
	if err != nil {
		return openmanus.Result{}, err
	}
	d, err := f.r.save(naming(ctx, call, in.URL), f.d, in.URL, name, call.Live)
	if err != nil {
		return openmanus.Result{Sources: wrote(call, in.URL)}, err
	}
	kind := cmp.Or(d.Type, "no content type")
	res := openmanus.TextResult("Saved to %s: %d bytes, %s, sha256 %s", in.SaveTo, d.Bytes, kind, d.SHA256)
	res.Detail, res.Source, res.Sources = d, d.URL, wrote(call, d.URL)
	return res, nil
}

// read shows a page, or what follows after an offset. A page that the last call read is
// made again from its bytes, so that its offsets count in the same text.
func (f *fetcher) read(ctx context.Context, call openmanus.Call, in fetchInput) (openmanus.Result, error) {
	p, saved, err := f.page(ctx, call, in)
	if err != nil {
		return openmanus.Result{Sources: wrote(call, in.URL)}, err
	}
	text := p.Markdown
	if in.Links {
		text += "\n\n" + p.listLinks()
	}
	whole := len(text)
	if in.Offset > whole {
		return openmanus.Result{Sources: wrote(call, in.URL)}, fmt.Errorf("the offset %d is beyond the end: the page has %d bytes", in.Offset, whole)
	}
	for in.Offset > 0 && in.Offset < whole && !utf8.RuneStart(text[in.Offset]) {
		in.Offset--
	}
	end := in.Offset + clip.Page(text[in.Offset:], call.ResultSize().Text)
	shown := text[in.Offset:end]
	switch {
	case end < whole:
		shown = fmt.Sprintf("%s\n\n(bytes %d to %d of %d; offset %d goes on)", strings.TrimRight(shown, "\n"), in.Offset, end, whole, end)
	case in.Offset > 0:
		shown = fmt.Sprintf("%s\n\n(bytes %d to %d of %d)", strings.TrimRight(shown, "\n"), in.Offset, end, whole)
	}
	if in.Offset == 0 {
		shown = p.head() + "\n" + shown
		if p.drawn {
			shown = strings.TrimRight(shown, "\n") + "\n\n(The page has hardly any text of its own. It has scripts, which web_fetch does not run, and they may draw" +
				" the rest: open it in the browser (browser_use, go_to_url), or fetch the address from which the scripts get their data.)"
		}
	}
	res := openmanus.TextResult("%s", shown)
	if p.Image != nil && len(p.Image) < maxImage {
		res.Parts = append(res.Parts, llm.Blob{MIME: p.Body.Type, Name: "image", Data: p.Image})
	}
	res.Detail, res.Source, res.Sources, res.Reading = saved, p.URL, wrote(call, p.URL), true
	return res, nil
}

// page returns the page at an address, and what keeps its bytes.
func (f *fetcher) page(ctx context.Context, call openmanus.Call, in fetchInput) (*Page, Saved, error) {
	var last Saved
	if in.Offset > 0 && len(call.Last) > 0 && json.Unmarshal(call.Last, &last) == nil && last.Asked == in.URL && last.Blob != "" {
		if p, err := f.r.again(ctx, call.Blobs, last); err == nil {
			return p, last, nil
		}
	}
	p, err := f.r.Read(naming(ctx, call, in.URL), in.URL)
	if err != nil {
		return nil, last, err
	}
	saved, err := save(ctx, call.Blobs, p)
	saved.Asked = in.URL
	return p, saved, err
}

// head returns what is known about a page, a line each.
func (p *Page) head() string {
	canonical := p.Canonical
	if canonical == p.URL {
		canonical = ""
	}
	var b strings.Builder
	for _, field := range [][2]string{
		{"Title", p.Title}, {"URL", p.URL}, {"Author", p.Author}, {"Date", p.Date}, {"Canonical", canonical}, {"Note", p.Note},
	} {
		if field[1] != "" {
			fmt.Fprintf(&b, "%s: %s\n", field[0], field[1])
		}
	}
	return b.String()
}

// maxLinks is how many links of a page are listed.
const maxLinks = 200

// listLinks lists the links of a page, maxLinks of them at most.
func (p *Page) listLinks() string {
	var b strings.Builder
	b.WriteString("Links:\n")
	for _, l := range p.Links[:min(len(p.Links), maxLinks)] {
		fmt.Fprintf(&b, "- %s: %s\n", l.Text, l.URL)
	}
	if more := len(p.Links) - maxLinks; more > 0 {
		fmt.Fprintf(&b, "(%d more)\n", more)
	}
	return b.String()
}
