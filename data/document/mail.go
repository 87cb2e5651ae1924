package document

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"regexp"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/openmanus-go/openmanus/internal/charset"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/ctxio"
)

const (
	maxMailDepth = 10   // messages and parts in each other
	maxMailParts = 1000 // of a message
	maxMessages  = 1000 // of a mailbox that are read
)

// mailHead matches the beginning of a message that was saved.
var mailHead = regexp.MustCompile(`(?i)^(return-path|received|delivered-to|message-id|mime-version|` +
	`from|x-[a-z-]+|date|subject): ?[^\n]*\r?\n`)

// isMail reports whether a file is a message, by its name or by its headers.
func isMail(ext string, data []byte) bool {
	if ext == ".eml" || ext == ".mht" || ext == ".mhtml" {
		return true
	}
	head := data[:min(len(data), 8192)]
	if end := bytes.Index(head, []byte("\n\n")); end > 0 {
		head = head[:end]
	}
	lower := bytes.ToLower(head)
	return mailHead.Match(head) && bytes.Contains(lower, []byte("\nfrom:")) &&
		(bytes.Contains(lower, []byte("\nmime-version:")) || bytes.Contains(lower, []byte("\nmessage-id:")))
}

// isMailbox reports whether a file has messages below each other (RFC 4155): each begins with a line
// "From ", which no header is.
func isMailbox(ext string, data []byte) bool {
	return bytes.HasPrefix(data, []byte("From ")) &&
		(ext == ".mbox" || isMail("", data[min(len(data), bytes.IndexByte(data, '\n')+1):]))
}

// mail reads a message (RFC 5322, MIME: RFC 2045 to 2047): its headers, its text and the list of what
// is attached.
func (r *reader) mail() error {
	text, err := r.message(bytes.NewReader(r.data), 0)
	if err != nil {
		return fmt.Errorf("the message cannot be read: %w", err)
	}
	r.doc.Format, r.doc.About = "mail", "a message"
	r.add(1, "message", text)
	return nil
}

// mailbox reads messages below each other, each as a part.
func (r *reader) mailbox() error {
	all := bytes.Split(append([]byte("\n"), r.data...), []byte("\nFrom "))
	r.doc.Format, r.doc.Total = "mailbox", len(all)-1
	r.doc.About = fmt.Sprintf("%d message%s", len(all)-1, clip.Which(len(all)-1, "", "s"))
	for i, m := range all {
		if i == 0 || !r.wants(i) || r.full() {
			continue
		}
		_, m, _ = bytes.Cut(m, []byte("\n"))
		text, err := r.message(bytes.NewReader(m), 0)
		if err != nil {
			r.note("message %d: %v", i, err)
			continue
		}
		r.add(i, fmt.Sprintf("message %d", i), text)
	}
	return r.ctx.Err()
}

// words decodes the words of headers.
var words = mime.WordDecoder{CharsetReader: func(set string, src io.Reader) (io.Reader, error) {
	data, err := io.ReadAll(src)
	return strings.NewReader(charset.String(string(data), set)), err
}}

// header returns what a header says. One that has other letters than ASCII, which mail of old does not
// encode, is read as any text is.
func header(v string) string {
	if plain, err := words.DecodeHeader(v); err == nil {
		v = plain
	}
	return charset.String(v, "")
}

// message returns the text of a message.
func (r *reader) message(src io.Reader, deep int) (string, error) {
	m, err := mail.ReadMessage(ctxio.NewReader(r.ctx, src))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, h := range []string{"From", "To", "Cc", "Bcc", "Reply-To", "Date", "Subject"} {
		if v := m.Header.Get(h); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", h, strings.Join(strings.Fields(header(v)), " "))
		}
	}
	p := &mailParts{r: r, left: maxMailParts}
	p.part(textproto.MIMEHeader(m.Header), m.Body, deep)
	b.WriteString("\n" + p.text.String())
	if len(p.attached) > 0 {
		b.WriteString("\nAttached: " + strings.Join(p.attached, ", ") + "\n")
	}
	return b.String(), r.ctx.Err()
}

// mailParts collects the parts of a message: texts in their order, pages as Markdown, and of all
// others the names.
type mailParts struct {
	r        *reader
	text     strings.Builder
	attached []string
	left     int // parts that may still be read
}

// part adds a part. A broken part becomes a note.
func (p *mailParts) part(h textproto.MIMEHeader, src io.Reader, deep int) {
	if p.left--; p.left < 0 || deep > maxMailDepth {
		p.r.note("the message has too many parts in it; some are left out")
		return
	}
	kind, param, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || kind == "" {
		kind, param = "text/plain", nil
	}
	disposition, file, _ := mime.ParseMediaType(h.Get("Content-Disposition"))
	name := file["filename"]
	name = header(cmp.Or(name, param["name"]))
	switch strings.ToLower(strings.TrimSpace(h.Get("Content-Transfer-Encoding"))) {
	case "base64":
		src = base64.NewDecoder(base64.StdEncoding, &base64Only{src})
	case "quoted-printable":
		src = quotedprintable.NewReader(src)
	}
	if strings.HasPrefix(kind, "multipart/") && param["boundary"] != "" {
		p.parts(kind, param["boundary"], src, deep)
		return
	}
	data, err := unpack(p.r.ctx, src, maxUnpacked)
	if err != nil && len(data) == 0 {
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			p.r.note("a part of the message (%s): %v", kind, err)
		}
	}
	switch {
	case disposition == "attachment" || name != "" && !strings.HasPrefix(kind, "text/"):
		size := humanize.IBytes(uint64(len(data)))
		p.attached = append(p.attached, fmt.Sprintf("%s (%s, %s)", orUnnamed(name), kind, size))
	case kind == "message/rfc822":
		text, err := p.r.message(bytes.NewReader(data), deep+1)
		if err != nil {
			p.r.note("a message in the message: %v", err)
		}
		p.text.WriteString("\nA message in it:\n" + text)
	case kind == "text/html":
		text, err := p.r.markdown(data, h.Get("Content-Type"))
		if err != nil {
			p.r.note("the page in the message: %v", err)
		}
		p.text.WriteString(text + "\n")
	case strings.HasPrefix(kind, "text/"):
		text, err := p.r.decode(data, param["charset"])
		if err != nil {
			p.r.note("a text in the message: %v", err)
		}
		p.text.WriteString(text + "\n")
	default:
		size := humanize.IBytes(uint64(len(data)))
		p.attached = append(p.attached, fmt.Sprintf("%s (%s, %s)", orUnnamed(name), kind, size))
	}
}

// orUnnamed returns a name for a list.
func orUnnamed(name string) string {
	if name == "" {
		return "a file without a name"
	}
	return name
}

// parts adds the parts of one that has several. Among alternatives it takes the
// plain text, if that is not empty, and otherwise the last one.
func (p *mailParts) parts(kind, boundary string, src io.Reader, deep int) {
	alternative := kind == "multipart/alternative"
	before := p.text.Len()
	reader := multipart.NewReader(src, boundary)
	for p.left > 0 && p.r.ctx.Err() == nil {
		part, err := reader.NextRawPart()
		if err == io.EOF {
			return
		}
		if err != nil {
			p.r.note("the message is cut off or broken: %v", err)
			return
		}
		if alternative && strings.TrimSpace(p.text.String()[before:]) != "" {
			continue
		}
		p.part(part.Header, part, deep+1)
	}
}

// A base64Only leaves out what is no base 64, as mail programs do.
type base64Only struct{ r io.Reader }

func (b *base64Only) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	kept := 0
	for _, c := range p[:n] {
		if c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' ||
			c == '+' || c == '/' || c == '=' {
			p[kept] = c
			kept++
		}
	}
	return kept, err
}
