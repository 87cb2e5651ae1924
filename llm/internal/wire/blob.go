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

// DataURL is data in a URL.
func DataURL(kind string, data []byte) string {
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// KindOf is the MIME type of b, from its bytes if they are those of an image
// or if it is not told.
func KindOf(b llm.Blob) string {
	found, _, _ := mime.ParseMediaType(http.DetectContentType(b.Data))
	told, _, _ := mime.ParseMediaType(b.MIME)
	if strings.HasPrefix(found, "image/") || told == "" || told == "application/octet-stream" {
		return found
	}
	return told
}

// IsText reports whether what has the MIME type kind can be read as it is.
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

// FileText is a text file as a part of a conversation.
func FileText(b llm.Blob) string { return fmt.Sprintf("<file name=%q>\n%s\n</file>", b.Name, b.Data) }

// Describe names b for who cannot see it.
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

// CannotSend is the error of a blob in a message of the user's for which a
// provider has no place. takes says what it does take.
func CannotSend(b llm.Blob, model, takes string) error {
	return fmt.Errorf("%s cannot be sent to %s: it takes %s; put the file into the workspace, where tools can read it",
		Describe(b), model, takes)
}

// NotShown stands in a tool's result for a blob that the provider has no
// place for.
func NotShown(b llm.Blob) string { return "[" + Describe(b) + " cannot be shown to you]" }
