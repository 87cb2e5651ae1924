package web

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/andybalholm/brotli"
)

const (
	defaultMaxBytes = 20 << 20
	defaultTimeout  = 30 * time.Second
	maxRedirects    = 10

	// robot is what we are called in robots.txt.
	robot = "openmanus"
	agent = "Mozilla/5.0 (compatible; openmanus; +https://github.com/openmanus-go/openmanus)"
)

// A Reader reads pages. It is safe for concurrent use; its fields are set
// before use.
type Reader struct {
	Client *http.Client // how requests go out; nil: http.DefaultClient

	// Robots keeps to what sites ask of robots.
	Robots bool

	// Convert, if not nil, makes text of what is neither HTML nor text, such
	// as a PDF. The same bytes must make the same text. It is called from many
	// goroutines.
	Convert func(ctx context.Context, name string, data []byte) (text string, err error)

	MaxBytes int64         // of a page; 0: 20 MiB
	Timeout  time.Duration // for a page; 0: 30 s

	mu    sync.Mutex
	rules map[string]*robots // by scheme and host
}

// A Body is what an address gave.
type Body struct {
	URL   string // where it came from, after redirects
	Type  string // its media type, without parameters
	Param string // the whole of Content-Type
	Data  []byte
	Time  time.Time
}

// get fetches an address. It follows redirects, each of which the client may
// refuse, and undoes compression; what is too large is an error.
func (r *Reader) get(ctx context.Context, address string) (*Body, error) {
	u, err := parse(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.Timeout, defaultTimeout))
	defer cancel()
	if r.Robots {
		if err := r.allowed(ctx, u); err != nil {
			return nil, err
		}
	}
	b, err := r.fetch(ctx, u)
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		return nil, fmt.Errorf("%s was not read within %v", address, cmp.Or(r.Timeout, defaultTimeout))
	}
	return b, err
}

// parse reads an address of the web.
func parse(address string) (*url.URL, error) {
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no address of the web: only http and https are read", address)
	}
	u.Fragment = ""
	return u, nil
}

func (r *Reader) fetch(ctx context.Context, u *url.URL) (*Body, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", agent)
	req.Header.Set("Accept", "text/html,application/xhtml+xml,application/pdf;q=0.9,*/*;q=0.8")
	req.Header.Set("Accept-Encoding", "gzip, br, deflate")
	req.Header.Set("Accept-Language", "en;q=0.9,*;q=0.5")
	res, err := r.client(u).Do(req)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return nil, fmt.Errorf("%s cannot be read: %w", u, err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return nil, &StatusError{URL: res.Request.URL.String(), Status: res.StatusCode, RetryAfter: res.Header.Get("Retry-After")}
	}
	data, err := r.body(res)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", u, err)
	}
	b := &Body{URL: res.Request.URL.String(), Param: res.Header.Get("Content-Type"), Data: data, Time: time.Now().UTC()}
	b.Type, _, _ = mime.ParseMediaType(b.Param)
	if b.Type == "" || b.Type == "application/octet-stream" {
		b.Type = guess(res.Request.URL.Path, data)
	}
	return b, nil
}

// A StatusError is an answer that is not one of success.
type StatusError struct {
	URL        string
	Status     int
	RetryAfter string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s answers with HTTP %d %s", e.URL, e.Status, http.StatusText(e.Status))
}

// client is the client for a request: redirects are counted, and those that
// lead to another site are asked about in its robots.txt.
func (r *Reader) client(from *url.URL) *http.Client {
	var c http.Client
	if r.Client != nil {
		c = *r.Client
	}
	before := c.CheckRedirect
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if len(via) >= maxRedirects {
			return fmt.Errorf("it redirects more than %d times", maxRedirects)
		}
		if before != nil {
			if err := before(req, via); err != nil {
				return err
			}
		}
		if r.Robots && req.URL.Host != from.Host {
			return r.allowed(req.Context(), req.URL)
		}
		return nil
	}
	return &c
}

// body reads and unpacks what was answered.
func (r *Reader) body(res *http.Response) ([]byte, error) {
	limit := cmp.Or(r.MaxBytes, defaultMaxBytes)
	if res.ContentLength > limit {
		return nil, fmt.Errorf("it is larger than %d MB", limit>>20)
	}
	var from io.Reader = io.LimitReader(res.Body, limit+1)
	switch strings.ToLower(res.Header.Get("Content-Encoding")) {
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(from)
		if err != nil {
			return nil, err
		}
		from = z
	case "br":
		from = brotli.NewReader(from)
	case "deflate":
		from = inflate(from)
	}
	data, err := io.ReadAll(io.LimitReader(from, limit+1))
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("it is larger than %d MB", limit>>20)
	}
	return data, err
}

// inflate undoes "deflate", which is zlib's format, and from some servers what
// is in it.
func inflate(from io.Reader) io.Reader {
	r := bufio.NewReader(from)
	if head, err := r.Peek(2); err == nil && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		if z, err := zlib.NewReader(r); err == nil {
			return z
		}
	}
	return flate.NewReader(r)
}

// guess is the media type of what nobody says it of.
func guess(name string, data []byte) string {
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		t, _, _ = mime.ParseMediaType(t)
		return t
	}
	t, _, _ := mime.ParseMediaType(http.DetectContentType(bytes.TrimSpace(data)))
	return t
}
