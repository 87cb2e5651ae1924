package acp

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/surface"
)

// messageOf returns a prompt as a message: its texts, and its images and embedded files as
// attachments. An error names the block and the field.
func messageOf(blocks []content) (m surface.Message, err error) {
	var text strings.Builder
	for i, b := range blocks {
		field := "prompt." + strconv.Itoa(i)
		switch b.Type {
		case "text":
			text.WriteString(b.Text)
		case "image":
			if !strings.HasPrefix(b.MIMEType, "image/") {
				return m, wrong(field+".mimeType", "%q is none of an image", clip.Text(b.MIMEType, 40))
			}
			data, err := base64.StdEncoding.DecodeString(b.Data)
			if err != nil || len(data) == 0 {
				return m, wrong(field+".data", "it must be an image in base64")
			}
			m.Files = append(m.Files, act.File{Name: fileName(b.URI), MIME: b.MIMEType, Data: data})
		case "resource_link":
			if b.URI == "" {
				return m, wrong(field+".uri", "it is missing")
			}
			fmt.Fprintf(&text, "[%s](%s)", clip.OneLine(b.Name), pathOf(b.URI))
		case "resource":
			f, err := fileOf(field+".resource", b.Resource)
			if err != nil {
				return m, err
			}
			fmt.Fprintf(&text, "@%s", f.Name)
			m.Files = append(m.Files, f)
		case "audio":
			return m, wrong(field+".type", "sound is not understood: initialize says so")
		default:
			return m, wrong(field+".type", "%q is none of text, image, resource_link, resource", clip.Text(b.Type, 40))
		}
	}
	m.Text = text.String()
	if strings.TrimSpace(m.Text) == "" && len(m.Files) == 0 {
		return m, wrong("prompt", "it says nothing")
	}
	return m, nil
}

// fileOf returns a file that is embedded in a prompt, as text or in base64.
func fileOf(field string, r *resource) (act.File, error) {
	switch {
	case r == nil:
		return act.File{}, wrong(field, "it is missing")
	case r.Text != nil:
		return act.File{Name: pathOf(r.URI), MIME: "text/plain", Data: []byte(*r.Text)}, nil
	case r.Blob != nil:
		data, err := base64.StdEncoding.DecodeString(*r.Blob)
		if err != nil {
			return act.File{}, wrong(field+".blob", "it must be base64")
		}
		return act.File{Name: pathOf(r.URI), MIME: r.MIMEType, Data: data}, nil
	}
	return act.File{}, wrong(field, "it needs text or blob")
}

// pathOf returns the path of a file: URI, with its fragment, which names lines, or any
// other URI unchanged. The result is one harmless line.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return clip.OneLine(clip.Clean(uri))
	}
	path := filepath.FromSlash(u.Path)
	if u.Fragment != "" {
		path += "#" + u.Fragment
	}
	return clip.OneLine(clip.Clean(path))
}

// fileName returns the last element of the path of a URI.
func fileName(uri string) string {
	if uri == "" {
		return ""
	}
	return filepath.Base(pathOf(uri))
}
