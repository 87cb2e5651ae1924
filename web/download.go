package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/workspace"
)

// Downloads say where web_fetch saves files. The fields are set before use; then they
// are safe for concurrent use.
type Downloads struct {
	Files workspace.Files // the workspace
	Dir   string          // its root, absolute

	// Partial is a directory outside the workspace for what has not come whole yet, so
	// that a later call, in this process or another, goes on where one was interrupted.
	// Programs in the workspace must not write it: what is in there is sent to servers.
	// "" means that every call begins anew.
	Partial string

	MaxBytes int64 // of a file; 0 means 200 MiB
}

const (
	defaultMaxDownload = 200 << 20
	maxTries           = 5                  // of a download that goes on after each
	maxPartialAge      = 7 * 24 * time.Hour // after which what has not come whole is dropped
	progressStep       = 8 << 20            // bytes between two lines of progress
	downloadAccept     = "*/*"              // a file is wanted as it is
	partialEnding      = ".part"
)

// A Download is the Detail of a result that saved a file.
type Download struct {
	Path   string `json:"path"`   // slash-separated, relative to the workspace
	Change string `json:"change"` // "created" or "modified"
	Bytes  int64  `json:"bytes"`
	URL    string `json:"url"` // after redirects
	Type   string `json:"type,omitempty"`
	SHA256 string `json:"sha256"`
}

// save fetches address into the file name of the workspace. Lines about its progress
// go to live.
func (r *Reader) save(ctx context.Context, d *Downloads, address, name string, live io.Writer) (*Download, error) {
	u, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	out := &Download{Path: name, Change: "created"}
	switch info, err := fs.Stat(d.Files.FS(), name); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("saving %s: %w", name, err)
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory: name a file in it", name)
	default:
		if err := workspace.MayReplace(ctx, d.Files, name, nil); err != nil {
			return nil, err
		}
		out.Change = "modified"
	}
	if r.Robots {
		if err := r.allowed(ctx, u); err != nil {
			return nil, err
		}
	}
	p, err := d.partial(name, u)
	if err != nil {
		return nil, err
	}
	defer p.close()
	t := &transfer{r: r, d: d, u: u, p: p, live: live, out: out}
	if err := t.run(ctx); err != nil {
		return nil, err
	}
	return out, t.finish(ctx)
}

// A partial is what has come of a file so far.
type partial struct {
	file *os.File
	note string // the path of what is known about it; "": nothing is kept

	validator string // of the version that file has: an ETag or a date; "": none
	size      int64
	whole     bool // nothing is missing
}

// A partialNote is what is kept beside a partial file.
type partialNote struct {
	Validator string `json:"validator"`
	File      string `json:"file"` // its name
}

// partial opens what has come of a file so far, or begins anew.
func (d *Downloads) partial(name string, u *url.URL) (*partial, error) {
	if d.Partial == "" {
		f, err := os.CreateTemp("", "openmanus-*"+partialEnding)
		if err != nil {
			return nil, err
		}
		return &partial{file: f}, nil
	}
	if err := os.MkdirAll(d.Partial, 0o700); err != nil {
		return nil, err
	}
	d.dropOld()
	sum := sha256.Sum256([]byte(d.Dir + "\x00" + name + "\x00" + u.String()))
	p := &partial{note: filepath.Join(d.Partial, hex.EncodeToString(sum[:16])+".json")}
	var n partialNote
	if data, err := os.ReadFile(p.note); err == nil && json.Unmarshal(data, &n) == nil && n.Validator != "" && filepath.Base(n.File) == n.File {
		if f, err := os.OpenFile(filepath.Join(d.Partial, n.File), os.O_RDWR, 0); err == nil {
			p.file, p.validator = f, n.Validator
			p.size, err = f.Seek(0, io.SeekEnd)
			return p, err
		}
	}
	return p, nil
}

// dropOld removes what was interrupted long ago. A file that cannot be removed
// stays.
func (d *Downloads) dropOld() {
	entries, err := os.ReadDir(d.Partial)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > maxPartialAge {
			_ = os.Remove(filepath.Join(d.Partial, e.Name()))
		}
	}
}

// begin begins with a version of the file, from its first byte. The name of the partial
// file has the validator in it, so that two processes write either the same bytes to one
// file, or to two.
func (p *partial) begin(validator string) (err error) {
	if p.note == "" {
		p.size = 0
		return p.file.Truncate(0)
	}
	p.discard()
	sum := sha256.Sum256([]byte(p.note + validator))
	path := strings.TrimSuffix(p.note, ".json") + "-" + hex.EncodeToString(sum[:8]) + partialEnding
	if p.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return err
	}
	p.size, p.validator = 0, validator
	if validator == "" {
		return nil
	}
	data, err := json.Marshal(partialNote{validator, filepath.Base(path)})
	if err == nil {
		err = os.WriteFile(p.note, data, 0o600)
	}
	return err
}

// discard drops what has come so far.
func (p *partial) discard() {
	if p.file == nil {
		return
	}
	_ = os.Remove(p.file.Name()) // another process may have done so
	_ = p.file.Close()
	if p.note != "" {
		_ = os.Remove(p.note)
	}
	p.file, p.size, p.validator = nil, 0, ""
}

// close keeps what can be gone on with later, and drops the rest.
func (p *partial) close() {
	if p.whole || p.note == "" || p.validator == "" || p.size == 0 {
		p.discard()
		return
	}
	_ = p.file.Close()
}

// A transfer is a download that is under way.
type transfer struct {
	r    *Reader
	d    *Downloads
	u    *url.URL
	p    *partial
	live io.Writer
	out  *Download

	total int64 // bytes of the whole file; -1: unknown
	told  int64 // bytes at the last line of progress
}

// run receives the file, going on where the connection breaks as long as each try
// brings something.
func (t *transfer) run(ctx context.Context) error {
	for try := 1; ; try++ {
		before := t.p.size
		err := t.receive(ctx)
		var broke *brokeOff
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.As(err, &broke):
			return err
		case try < maxTries && t.p.validator != "" && t.p.size > before:
			t.tell("the connection broke off after %s; going on", bytesOf(t.p.size, t.total))
		case t.p.validator != "" && t.p.size > 0 && t.p.note != "":
			return fmt.Errorf("%s broke off after %s: %w. The same call goes on from there", t.u, bytesOf(t.p.size, t.total), broke.err)
		default:
			return fmt.Errorf("%s broke off after %s: %w", t.u, bytesOf(t.p.size, t.total), broke.err)
		}
	}
}

// A brokeOff is the error of an answer that did not come whole.
type brokeOff struct{ err error }

func (b *brokeOff) Error() string { return b.err.Error() }

// receive sends a request for what is missing, and writes what comes to the partial
// file. It ends when nothing comes for the reader's time limit.
func (t *transfer) receive(ctx context.Context) error {
	patience := cmp.Or(t.r.Timeout, defaultTimeout)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clock := time.AfterFunc(patience, func() { cancel(fmt.Errorf("nothing came for %v", patience)) })
	defer clock.Stop()
	res, err := t.request(ctx)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return &brokeOff{fmt.Errorf("%s cannot be read: %w", t.u, withoutAddress(err))}
	}
	defer res.Body.Close()
	body, err := t.accept(res)
	if err != nil || body == nil {
		return err
	}
	limit := cmp.Or(t.d.MaxBytes, defaultMaxDownload)
	buf := make([]byte, 64<<10)
	for {
		n, err := body.Read(buf)
		clock.Reset(patience)
		if t.p.size+int64(n) > limit {
			t.p.validator = ""
			return t.tooLarge(limit)
		}
		if _, err := t.p.file.WriteAt(buf[:n], t.p.size); err != nil {
			return err
		}
		if t.p.size += int64(n); t.p.size-t.told >= progressStep {
			t.told = t.p.size
			t.tell("%s", bytesOf(t.p.size, t.total))
		}
		switch {
		case err == io.EOF && t.total >= 0 && t.p.size != t.total:
			return &brokeOff{io.ErrUnexpectedEOF}
		case err == io.EOF:
			return nil
		case err != nil:
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return &brokeOff{err}
		}
	}
}

// request asks for the file, or for what is missing of the version that is there.
func (t *transfer) request(ctx context.Context) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", robotAgent)
	req.Header.Set("Accept", downloadAccept)
	req.Header.Set("Accept-Encoding", "identity")
	if t.p.size > 0 && t.p.validator != "" {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", t.p.size))
		req.Header.Set("If-Range", t.p.validator)
	}
	return t.r.client(t.u).Do(req)
}

// accept looks at the head of an answer, and returns the body that continues the partial
// file, or nil if nothing is missing.
func (t *transfer) accept(res *http.Response) (io.Reader, error) {
	t.out.URL, t.out.Type = res.Request.URL.String(), res.Header.Get("Content-Type")
	limit := cmp.Or(t.d.MaxBytes, defaultMaxDownload)
	switch res.StatusCode {
	case http.StatusPartialContent:
		from, total, ok := contentRange(res.Header.Get("Content-Range"))
		if !ok || from != t.p.size || t.p.size == 0 {
			return nil, fmt.Errorf("%s sends a part that was not asked for (%q)", t.u, res.Header.Get("Content-Range"))
		}
		if t.total = total; total > limit {
			return nil, t.tooLarge(limit)
		}
		return res.Body, nil
	case http.StatusRequestedRangeNotSatisfiable:
		if _, total, ok := contentRange(res.Header.Get("Content-Range")); ok && total == t.p.size && total > 0 {
			return nil, nil
		}
		t.p.discard()
		return nil, &StatusError{t.out.URL, res.StatusCode, ""}
	case http.StatusOK:
	default:
		return nil, &StatusError{t.out.URL, res.StatusCode, res.Header.Get("Retry-After")}
	}
	if t.total = res.ContentLength; t.total > limit {
		return nil, t.tooLarge(limit)
	}
	validator := res.Header.Get("ETag")
	if validator == "" || strings.HasPrefix(validator, "W/") { // those do not promise the same bytes
		validator = res.Header.Get("Last-Modified")
	}
	body := io.Reader(res.Body)
	if packed, err := unpacked(res, res.Body); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", t.u, err)
	} else if packed != nil { // although it was asked not to be
		body, validator, t.total = packed, "", -1
	}
	return body, t.p.begin(validator)
}

func (t *transfer) tooLarge(limit int64) error {
	return fmt.Errorf("%s is larger than %d MB, which is the limit for a file: [web] max_download sets another", t.u, limit>>20)
}

// contentRange parses "bytes 5-9/10" and "bytes */10". from and total are -1 where the
// header does not say them.
func contentRange(h string) (from, total int64, ok bool) {
	span, all, ok := strings.Cut(strings.TrimPrefix(h, "bytes "), "/")
	if !ok || !strings.HasPrefix(h, "bytes ") {
		return 0, 0, false
	}
	from, total = -1, -1
	var err error
	if all != "*" {
		if total, err = strconv.ParseInt(all, 10, 64); err != nil || total < 0 {
			return 0, 0, false
		}
	}
	if span != "*" {
		begin, _, _ := strings.Cut(span, "-")
		if from, err = strconv.ParseInt(begin, 10, 64); err != nil || from < 0 {
			return 0, 0, false
		}
	}
	return from, total, true
}

// finish writes the file into the workspace, and computes its hash.
func (t *transfer) finish(ctx context.Context) error {
	if t.p.file == nil { // an answer without a body
		if err := t.p.begin(""); err != nil {
			return err
		}
	}
	sum := sha256.New()
	from := io.TeeReader(io.NewSectionReader(t.p.file, 0, t.p.size), sum)
	var err error
	if w, ok := t.d.Files.(workspace.StreamWriter); ok {
		err = w.WriteFrom(ctx, t.out.Path, from)
	} else {
		var data []byte
		if data, err = io.ReadAll(from); err == nil {
			err = t.d.Files.WriteFile(ctx, t.out.Path, data)
		}
	}
	if err != nil {
		return fmt.Errorf("saving %s: %w", t.out.Path, err)
	}
	t.p.whole = true
	t.out.Bytes, t.out.SHA256 = t.p.size, hex.EncodeToString(sum.Sum(nil))
	if kind, _, err := mime.ParseMediaType(t.out.Type); err == nil {
		t.out.Type = kind
	}
	return nil
}

// tell writes a line of progress.
func (t *transfer) tell(format string, a ...any) {
	if t.live != nil {
		fmt.Fprintf(t.live, format+"\n", a...)
	}
}

// bytesOf writes how much of a file has come.
func bytesOf(n, total int64) string {
	if total < 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d of %d bytes", n, total)
}
