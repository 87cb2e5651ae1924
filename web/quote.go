package web

import (
	"context"
	"fmt"
	"mime"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/openmanus-go/openmanus"
)

// Says reports whether a text contains a quotation word for word. Differences in
// spacing, line breaks, the shape of quotation marks and dashes, ligatures and
// the markup of Markdown do not count. Differences in letters, digits, case and
// all other marks do. An ellipsis in the quotation stands for nothing: a
// quotation is in one piece.
func Says(text, quotation string) bool {
	q := normalize(quotation)
	return q != "" && strings.Contains(" "+normalize(text)+" ", " "+q+" ")
}

// normalize returns the words of a text as Says compares them, with single spaces
// between them. A word is what stands between spaces, without the marks at its
// ends.
func normalize(s string) string {
	s = norm.NFKC.String(s)
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\u00ad' || unicode.Is(unicode.Cf, r): // soft hyphens and other invisible characters
		case strings.ContainsRune("‘’‚‛′`", r):
			b.WriteByte('\'')
		case strings.ContainsRune("“”„‟″«»", r):
			b.WriteByte('"')
		case unicode.Is(unicode.Pd, r): // dashes
			b.WriteByte('-')
		case strings.ContainsRune(`*_#>|\`, r): // markup
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	var words []string
	for _, w := range strings.Fields(b.String()) {
		if w = strings.Trim(w, `"'.,;:!?()[]…`); w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// Check reports whether a saved page contains a quotation word for word. It makes
// the page again from the bytes that were kept.
func (r *Reader) Check(ctx context.Context, blobs openmanus.Blobs, s Saved, quotation string) (bool, error) {
	p, err := r.again(ctx, blobs, s)
	if err != nil {
		return false, err
	}
	return Says(p.Text, quotation), nil
}

// again makes a page again from the bytes that were kept.
func (r *Reader) again(ctx context.Context, blobs openmanus.Blobs, s Saved) (*Page, error) {
	data, err := openmanus.ReadBlob(ctx, blobs, s.Blob)
	if err != nil {
		return nil, fmt.Errorf("the saved page %s: %w", s.URL, err)
	}
	b := &Body{URL: s.URL, ContentType: s.Type, Data: data}
	if b.Type, _, err = mime.ParseMediaType(s.Type); err != nil {
		b.Type = s.Type
	}
	if u, err := url.Parse(s.URL); err == nil && (b.Type == "" || b.Type == "application/octet-stream") {
		b.Type = guessType(u.Path, data)
	}
	return r.Page(ctx, b)
}
