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
	"github.com/openmanus-go/openmanus/llm"
)

// A Detail is what people can see of a result besides its text.
type Detail struct {
	Server     string `json:"server"`
	Tool       string `json:"tool,omitempty"`
	Structured any    `json:"structured,omitempty"`
}

// maxBlob is how large an image or a sound is that is passed on.
const maxBlob = 10 << 20

// result makes a result of ours of a server's. The error says what the server
// said, if it said that the call failed.
func (l *link) result(tool string, res *sdk.CallToolResult) (openmanus.Result, error) {
	r := openmanus.Result{Source: l.source(), Detail: Detail{l.cfg.Name, clean(tool), res.StructuredContent}}
	for _, c := range res.Content {
		r.Parts = append(r.Parts, l.part(c)...)
	}
	if s := res.StructuredContent; s != nil && !said(res.Content, s) {
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
			text = fmt.Sprintf("the server %s says that the call failed, and not why", clean(l.cfg.Name))
		}
		return r, errors.New(text)
	}
	if len(r.Parts) == 0 {
		r.Parts = llm.Parts{llm.Text{Text: "No output returned."}}
	}
	return r, nil
}

// source is what marks content as this server's.
func (l *link) source() string { return "mcp:" + line(l.cfg.Name, 100) }

// joined puts an end of line between texts that follow each other.
func joined(parts llm.Parts) {
	for i := range parts[:max(0, len(parts)-1)] {
		t, ok := parts[i].(llm.Text)
		if _, next := parts[i+1].(llm.Text); ok && next && !strings.HasSuffix(t.Text, "\n") {
			t.Text += "\n"
			parts[i] = t
		}
	}
}

// said reports whether the texts among content say what v does: as JSON, or
// word for word, if v is an object of texts.
func said(content []sdk.Content, v any) bool {
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

// part is a piece of content as the model reads it.
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
		return text("[resource %s: %s reads it from the server %s]", about, nameResources, clean(l.cfg.Name))
	case *sdk.EmbeddedResource:
		return contents(c.Resource)
	}
	return text("[content of a kind that is not known here: %T]", c)
}

// contents is what a resource holds.
func contents(r *sdk.ResourceContents) llm.Parts {
	switch {
	case r == nil:
		return nil
	case r.Blob != nil:
		return append(text("[resource %s]\n", line(r.URI, 500)), blob(r.MIMEType, line(r.URI, 200), r.Blob)...)
	}
	return text("[resource %s]\n%s", line(r.URI, 500), valid(r.Text))
}

// blob passes on an image or a sound. Of anything else it says what it is.
func blob(kind, name string, data []byte) llm.Parts {
	media, _, err := mime.ParseMediaType(kind)
	major, _, _ := strings.Cut(media, "/")
	switch {
	case err != nil || major != "image" && major != "audio" && media != "application/pdf":
		return text("[%d bytes of %s, which are not shown]", len(data), line(kind, 60))
	case len(data) > maxBlob:
		return text("[%s of %d bytes: more than the %d that are passed on]", media, len(data), maxBlob)
	case len(data) == 0:
		return text("[%s without content]", media)
	}
	return llm.Parts{llm.Blob{MIME: media, Name: name, Data: data}}
}

func text(format string, a ...any) llm.Parts {
	return llm.Parts{llm.Text{Text: fmt.Sprintf(format, a...)}}
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
