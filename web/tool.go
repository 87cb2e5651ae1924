package web

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/egress"
	"github.com/openmanus-go/openmanus/internal/toolspec"
	"github.com/openmanus-go/openmanus/llm"
)

// specs are the descriptions and schemas of the tools: NAME.txt and NAME.json.
//
//go:embed specs
var specs embed.FS

// spec returns the spec of one of the tools.
func spec(name string, h openmanus.Hints, arguments ...openmanus.Argument) openmanus.ToolSpec {
	read := func(file string) string {
		data, err := specs.ReadFile("specs/" + file)
		if err != nil {
			panic(err) // a programmer's mistake: the name has no file
		}
		return string(data)
	}
	return toolspec.New(name, read(name+".txt"), read(name+".json"), h, arguments...)
}

// readsOnly are the hints of the tools that only read.
var readsOnly = openmanus.Hints{ReadOnly: true, Idempotent: true}

// opens declares an argument that is an address, or a list of addresses, which
// the tool opens.
func opens(name string) openmanus.Argument {
	return openmanus.Argument{Name: name, Kind: openmanus.URLArgument, Does: openmanus.Requests}
}

// naming returns a context for requests to addresses that a call names: see
// [egress.WithNamed].
func naming(ctx context.Context, addresses ...string) context.Context {
	var hosts []string
	for _, a := range addresses {
		if u, err := parseAddress(a); err == nil {
			hosts = append(hosts, strings.ToLower(u.Hostname()))
		}
	}
	return egress.WithNamed(ctx, func(host string) bool { return slices.Contains(hosts, host) })
}

// wrote returns the labels of a text that was read at these addresses. Errors have
// them too: they may repeat what the other side sent.
func wrote(addresses ...string) []openmanus.Source {
	var all []openmanus.Source
	for _, a := range addresses {
		all = append(all, openmanus.Source{From: strings.TrimSpace(a)})
	}
	return all
}

// A Saved says where the bytes of a page are kept. It is in the Detail of
// results, so that a session keeps the blob.
type Saved struct {
	URL   string        `json:"url"`
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

// NewFetch returns the tool web_fetch, which reads one page. The Detail of its
// results is a [Saved].
func NewFetch(r *Reader) openmanus.Tool {
	type input struct {
		URL   string `json:"url"`
		Links bool   `json:"links"`
	}
	return openmanus.Func(spec("web_fetch", readsOnly, opens("url")),
		func(ctx context.Context, call openmanus.Call, in input) (openmanus.Result, error) {
			p, err := r.Read(naming(ctx, in.URL), in.URL)
			if err != nil {
				return openmanus.Result{Sources: wrote(in.URL)}, err
			}
			saved, err := save(ctx, call.Blobs, p)
			if err != nil {
				return openmanus.Result{}, err
			}
			text := p.head() + "\n" + p.Markdown
			if in.Links {
				text += "\n\n" + p.listLinks()
			}
			res := openmanus.TextResult("%s", text)
			if p.Image != nil && len(p.Image) < maxImage {
				res.Parts = append(res.Parts, llm.Blob{MIME: p.Body.Type, Name: "image", Data: p.Image})
			}
			res.Detail, res.Source, res.Sources = saved, p.URL, wrote(p.URL)
			return res, nil
		})
}

// head returns what is known about a page, a line each.
func (p *Page) head() string {
	canonical := p.Canonical
	if canonical == p.URL {
		canonical = ""
	}
	var b strings.Builder
	for _, field := range [][2]string{
		{"Title", p.Title}, {"URL", p.URL}, {"Author", p.Author}, {"Date", p.Date}, {"Canonical", canonical},
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
