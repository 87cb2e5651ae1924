package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/llm"
)

// A Detail is the Detail of the results of tools of servers.
type Detail struct {
	Server     string `json:"server"`
	Tool       string `json:"tool,omitempty"`
	Structured any    `json:"structured,omitempty"`
}

// maxBlob is how many bytes an image or a sound may have.
const maxBlob = 10 << 20

// result converts an MCP result. If IsError is set, its text is returned as the
// error.
func (l *link) result(tool string, res *sdk.CallToolResult) (openmanus.Result, error) {
	r := openmanus.Result{Source: l.source()}
	r.Detail = Detail{l.cfg.Name, clip.Clean(tool), res.StructuredContent}
	for _, c := range res.Content {
		r.Parts = append(r.Parts, l.part(c)...)
	}
	if s := res.StructuredContent; s != nil && !repeats(res.Content, s) {
		data, err := json.Marshal(s)
		if err == nil {
			r.Parts = append(r.Parts, llm.Text{Text: string(data)})
		}
	}
	joined(r.Parts)
	if res.IsError {
		text := r.Parts.Text()
		var others llm.Parts
		for _, p := range r.Parts {
			if _, ok := p.(llm.Text); !ok {
				others = append(others, p)
			}
		}
		if r.Parts = others; strings.TrimSpace(text) == "" {
			text = fmt.Sprintf("the server %s says that the call failed, but not why", clip.Clean(l.cfg.Name))
		}
		return r, errors.New(text)
	}
	if len(r.Parts) == 0 {
		r.Parts = llm.Parts{llm.Text{Text: "No output returned."}}
	}
	return r, nil
}

// source is the [openmanus.Result].Source of this server's content.
func (l *link) source() string { return "mcp:" + line(l.cfg.Name, 100) }

// joined puts a line end between texts that follow each other.
func joined(parts llm.Parts) {
	for i := range parts[:max(0, len(parts)-1)] {
		t, ok := parts[i].(llm.Text)
		if _, next := parts[i+1].(llm.Text); ok && next && !strings.HasSuffix(t.Text, "\n") {
			t.Text += "\n"
			parts[i] = t
		}
	}
}

// repeats reports whether the texts of content repeat v: as JSON, or, if v is an
// object of strings, each of them.
func repeats(content []sdk.Content, v any) bool {
	all := ""
	for _, c := range content {
		var same any
		t, ok := c.(*sdk.TextContent)
		if !ok {
			continue
		}
		if json.Unmarshal([]byte(t.Text), &same) == nil && reflect.DeepEqual(same, v) {
			return true
		}
		all += t.Text + "\n"
	}
	object, ok := v.(map[string]any)
	for _, value := range object {
		s, text := value.(string)
		ok = ok && text && strings.Contains(all, s)
	}
	return ok && all != ""
}

// part converts a piece of content.
func (l *link) part(c sdk.Content) llm.Parts {
	switch c := c.(type) {
	case *sdk.TextContent:
		return text("%s", valid(c.Text))
	case *sdk.ImageContent:
		return blob(c.MIMEType, "", c.Data)
	case *sdk.AudioContent:
		return blob(c.MIMEType, "", c.Data)
	case *sdk.ResourceLink:
		about := line(c.URI, 500)
		if c.Name != "" || c.Description != "" {
			about += " (" + line(strings.TrimSpace(c.Name+" "+c.Description), 300) + ")"
		}
		return text("[resource %s: %s reads it from the server %s]", about, nameResources, clip.Clean(l.cfg.Name))
	case *sdk.EmbeddedResource:
		return contents(c.Resource)
	}
	return text("[content of an unknown kind: %T]", c)
}

// contents converts the content of a resource.
func contents(r *sdk.ResourceContents) llm.Parts {
	switch {
	case r == nil:
		return nil
	case r.Blob != nil:
		return append(text("[resource %s]\n", line(r.URI, 500)),
			blob(r.MIMEType, line(r.URI, 200), r.Blob)...)
	}
	return text("[resource %s]\n%s", line(r.URI, 500), valid(r.Text))
}

// blob converts an image, a sound or a PDF. For anything else it returns a text
// that says what it is.
func blob(kind, name string, data []byte) llm.Parts {
	media, _, err := mime.ParseMediaType(kind)
	major, _, _ := strings.Cut(media, "/")
	switch {
	case err != nil || major != "image" && major != "audio" && media != "application/pdf":
		return text("[%d bytes of %s: not shown]", len(data), line(kind, 60))
	case len(data) > maxBlob:
		return text("[%s of %d bytes, more than %d: not shown]", media, len(data), maxBlob)
	case len(data) == 0:
		return text("[%s without content]", media)
	}
	return llm.Parts{llm.Blob{MIME: media, Name: name, Data: data}}
}

func text(format string, a ...any) llm.Parts {
	return llm.Parts{llm.Text{Text: fmt.Sprintf(format, a...)}}
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
