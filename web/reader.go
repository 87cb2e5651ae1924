package web

import (
	"bufio"
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

	"github.com/openmanus-go/openmanus/sandbox/egress"
)

const (
	defaultMaxBytes = 20 << 20
	defaultTimeout  = 30 * time.Second
	maxRedirects    = 10

	// robotName is the name by which a robots.txt addresses us.
	robotName  = "openmanus"
	robotAgent = "Mozilla/5.0 (compatible; openmanus; +https://github.com/openmanus-go/openmanus)"
)

// A Reader reads pages. Its fields are set before use; then it is safe for
// concurrent use.
type Reader struct {
	// Client sends the requests; nil means http.DefaultClient. Its dialer decides
	// which hosts can be reached.
	Client *http.Client

	// Local, if not nil, reports whether an address is one that the user must allow,
	// such as [egress.Dialer.Local].
	Local func(ctx context.Context, address string) (egress.Local, bool)

	// Robots makes it respect the robots.txt of each site.
	Robots bool

	// Convert, if not nil, converts what is neither HTML nor text, such as a PDF,
	// to text. The same bytes must give the same text. It is called from many
	// goroutines.
	Convert func(ctx context.Context, name string, data []byte) (text string, err error)

	MaxBytes int64         // of a page, packed or not; 0 means 20 MiB
	Timeout  time.Duration // for a page; 0 means 30 seconds

	mu    sync.Mutex
	rules map[string]*robots // by scheme and host
}

// A Body is what an address answered.
type Body struct {
	URL         string // after redirects
	Type        string // the media type without parameters, guessed if the server names none
	ContentType string // as the server says it
	Data        []byte // unpacked
	Time        time.Time
}

// A StatusError is the error of an answer with a status other than 2xx. Callers
// find it with [errors.As].
type StatusError struct {
	URL        string
	Status     int
	RetryAfter string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s answers with HTTP %d %s", e.URL, e.Status, http.StatusText(e.Status))
}

// get fetches an address within the time limit, if the site's robots.txt allows
// it. It follows redirects and unpacks the answer.
func (r *Reader) get(ctx context.Context, address string) (*Body, error) {
	u, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	timeout := cmp.Or(r.Timeout, defaultTimeout)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if r.Robots {
		if err := r.allowed(ctx, u); err != nil {
			return nil, err
		}
	}
	b, err := r.fetch(ctx, u)
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		return nil, fmt.Errorf("%s was not read within %v", address, timeout)
	}
	return b, err
}

// parseAddress parses an address with or without a scheme. It refuses schemes
// other than http and https, and drops the fragment.
func parseAddress(address string) (*url.URL, error) {
	u, err := egress.ParseURL(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not a web address: only http and https are read", address)
	}
	u.Fragment = ""
	return u, nil
}

// fetch fetches an address without asking the robots.txt of its host.
func (r *Reader) fetch(ctx context.Context, u *url.URL) (*Body, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", robotAgent)
	req.Header.Set("Accept", "text/html,application/xhtml+xml,application/pdf;q=0.9,*/*;q=0.8")
	req.Header.Set("Accept-Encoding", "gzip, br, deflate")
	req.Header.Set("Accept-Language", "en;q=0.9,*;q=0.5")
	res, err := r.client(u).Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", u, withoutAddress(err))
	}
	defer res.Body.Close()
	final := res.Request.URL
	if res.StatusCode/100 != 2 {
		return nil, &StatusError{final.String(), res.StatusCode, res.Header.Get("Retry-After")}
	}
	data, err := r.unpack(res)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", u, err)
	}
	b := &Body{URL: final.String(), Data: data, Time: time.Now().UTC()}
	b.ContentType = res.Header.Get("Content-Type")
	b.Type, _, _ = mime.ParseMediaType(b.ContentType)
	if b.Type == "" || b.Type == "application/octet-stream" {
		b.Type = guessType(final.Path, data)
	}
	return b, nil
}

// client returns the client for a request to an address. It limits redirects, and
// asks the robots.txt of each other host that one leads to.
func (r *Reader) client(from *url.URL) *http.Client {
	var c http.Client
	if r.Client != nil {
		c = *r.Client
	}
	configured := c.CheckRedirect
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if len(via) >= maxRedirects {
			return fmt.Errorf("it redirects more than %d times", maxRedirects)
		}
		if configured != nil {
			if err := configured(req, via); err != nil {
				return err
			}
		}
		if r.Robots && req.URL.Host != from.Host {
			return r.allowed(egress.WithLocal(req.Context(), nil), req.URL)
		}
		return nil
	}
	return &c
}

// unpack reads an answer and undoes its compression. The limit holds before and
// after, so that a small answer cannot unpack to a huge page.
func (r *Reader) unpack(res *http.Response) ([]byte, error) {
	limit := cmp.Or(r.MaxBytes, defaultMaxBytes)
	tooLarge := fmt.Errorf("it is larger than %d MB", limit>>20)
	if res.ContentLength > limit {
		return nil, tooLarge
	}
	var from io.Reader = io.LimitReader(res.Body, limit+1)
	if packed, err := unpacked(res, from); err != nil {
		return nil, err
	} else if packed != nil {
		from = packed
	}
	data, err := io.ReadAll(io.LimitReader(from, limit+1))
	if int64(len(data)) > limit {
		return nil, tooLarge
	}
	return data, err
}

// unpacked undoes the compression of an answer with this body. It returns nil if there
// is none.
func unpacked(res *http.Response, body io.Reader) (io.Reader, error) {
	switch strings.ToLower(res.Header.Get("Content-Encoding")) {
	case "gzip", "x-gzip":
		return gzip.NewReader(body)
	case "br":
		return brotli.NewReader(body), nil
	case "deflate":
		return inflate(body), nil
	}
	return nil, nil
}

// inflate undoes "deflate", which means the zlib format (RFC 9110, 8.4.1.2); some
// servers send the bare deflate data in it.
func inflate(from io.Reader) io.Reader {
	r := bufio.NewReader(from)
	head, err := r.Peek(2)
	if err == nil && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 { // a zlib header
		if z, err := zlib.NewReader(r); err == nil {
			return z
		}
	}
	return flate.NewReader(r)
}

// guessType returns a media type by the extension of a path, or by the content:
// for servers that send none, or one that says nothing.
func guessType(name string, data []byte) string {
	t := mime.TypeByExtension(path.Ext(name))
	if t == "" {
		t = http.DetectContentType(data)
	}
	t, _, _ = mime.ParseMediaType(t)
	return t
}

var errTooDeep = errors.New("the page is nested too deeply to be read")
