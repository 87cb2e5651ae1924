package release

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// From returns a source: a directory, or an address below which the files are.
func From(place string, client *http.Client) (Source, error) {
	if u, err := url.Parse(place); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" {
		return &address{u, client}, nil
	}
	if strings.Contains(place, "://") {
		return nil, fmt.Errorf("%q: allowed are an address that begins with https:// and a directory", place)
	}
	info, err := os.Stat(place)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is no directory", place)
	}
	return directory(place), nil
}

// A directory is a source on this machine.
type directory string

// Open implements [Source].
func (d directory) Open(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(filepath.Join(string(d), name))
}

// An address is a source elsewhere.
type address struct {
	base   *url.URL
	client *http.Client
}

// stalled is how long a server may send nothing.
const stalled = time.Minute

// Open implements [Source].
func (a *address) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	at := a.base.JoinPath(name).String()
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(stalled, cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	res, err := a.client.Do(req)
	if err != nil {
		cancel()
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		cancel()
		_ = res.Body.Close()
		return nil, fmt.Errorf("%s: %s", at, res.Status)
	}
	return &body{res.Body, timer, cancel}, nil
}

// A body ends when nothing has come for a time.
type body struct {
	io.ReadCloser
	timer  *time.Timer
	cancel context.CancelFunc
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.timer.Reset(stalled)
	}
	return n, err
}

// Close implements [io.Closer].
func (b *body) Close() error {
	b.timer.Stop()
	defer b.cancel()
	return b.ReadCloser.Close()
}
