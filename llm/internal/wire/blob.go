package wire

import (
	"encoding/base64"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/openmanus-go/openmanus/llm"
)

// DataURL returns data as a data: URL of the MIME type kind.
func DataURL(kind string, data []byte) string {
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// KindOf returns the MIME type of b: the one of its bytes if they are those of an
// image, or if b names none; otherwise the one that b names.
func KindOf(b llm.Blob) string {
	found, _, _ := mime.ParseMediaType(http.DetectContentType(b.Data))
	told, _, _ := mime.ParseMediaType(b.MIME)
	if strings.HasPrefix(found, "image/") || told == "" || told == "application/octet-stream" {
		return found
	}
	return told
}

// IsText reports whether data of the MIME type kind is readable text.
func IsText(kind string) bool {
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") {
		return true
	}
	switch strings.TrimPrefix(strings.TrimPrefix(kind, "application/"), "x-") {
	case "json", "ndjson", "xml", "javascript", "typescript", "yaml", "toml", "sql", "sh", "shellscript", "python":
		return true
	}
	return false
}

// FileText returns a text file as text for the model, between tags.
func FileText(b llm.Blob) string { return fmt.Sprintf("<file name=%q>\n%s\n</file>", b.Name, b.Data) }

// Describe returns the name, type and size of b for a model that cannot see it.
func Describe(b llm.Blob) string {
	what := "the file"
	if strings.HasPrefix(KindOf(b), "image/") {
		what = "the image"
	}
	if b.Name != "" {
		what += fmt.Sprintf(" %q", b.Name)
	}
	return fmt.Sprintf("%s (%s, %s)", what, KindOf(b), humanize.Bytes(uint64(len(b.Data))))
}

// CannotSend returns the error of a blob in a user's message that a provider does
// not accept. takes says what it accepts.
func CannotSend(b llm.Blob, model, takes string) error {
	return fmt.Errorf("%s cannot be sent to %s: it takes %s; put the file into the workspace, where tools can read it",
		Describe(b), model, takes)
}

// NotShown returns the text that takes the place of a blob in a tool's result if
// the provider does not accept it.
func NotShown(b llm.Blob) string { return "[" + Describe(b) + " cannot be shown to you]" }
