package browser

import (
	"context"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"
)

// Pages of the workspace
//
// A page that lies in the workspace is shown at an address that only the browser knows, in
// a world of its own: it shares no cookies and no storage with other pages, and reaches no network. Its
// requests are answered here, file by file, and the proxy of its world leads nowhere. So a script in it
// can read files beside it, and cannot take them anywhere.

// filesHost is the host of the addresses of files. There is none of this name.
const filesHost = "workspace.internal"

// A shelf is the files that the pages of one world show.
type shelf struct {
	files   fs.FS
	served  map[string]bool // the names of files that pages have got; b.mu guards it
	refused map[string]bool // the hosts that they asked for in vain, as served
}

// fileAddress returns the address at which a file is shown.
func fileAddress(name string) string {
	return (&url.URL{Scheme: "http", Host: filesHost, Path: "/" + name}).String()
}

// shelved returns the file that an address shows, or "".
func shelved(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host != filesHost {
		return ""
	}
	return strings.TrimPrefix(path.Clean(u.Path), "/")
}

// newShelf opens an empty tab in a world of its own, whose pages are files.
func (b *Browser) newShelf(ctx context.Context, files fs.FS) (*Tab, error) {
	world, err := cdp.Call(ctx, b.c.root, target.CreateBrowserContext, target.CreateBrowserContextParams{
		DisposeOnDetach: ptr(true), ProxyServer: "http://127.0.0.1:1", ProxyBypassList: "<-loopback>"})
	if err != nil {
		return nil, fmt.Errorf("no tab can be opened for files: %w", err)
	}
	t, err := b.newIn(ctx, target.CreateTargetParams{URL: "about:blank", BrowserContextID: world.BrowserContextID})
	if err != nil {
		return nil, err
	}
	b.note(func() {
		t.shelf = &shelf{files: files, served: make(map[string]bool), refused: make(map[string]bool)}
	})
	return t, t.judge(ctx)
}

// serve answers a request of a page that is a file.
func (b *Browser) serve(s *session, sh *shelf, id fetch.RequestID, address string) {
	u, err := url.Parse(address)
	if err != nil || u.Host != filesHost {
		if err == nil && strings.HasPrefix(u.Scheme, "http") {
			b.note(func() { sh.refused[u.Host] = true })
		}
		s.send(fetch.CommandFailRequest, fetch.FailRequestParams{RequestID: id, ErrorReason: network.ErrorReasonBlockedByClient})
		return
	}
	status, kind, body := sh.read(shelved(address))
	if status == http.StatusOK {
		b.note(func() { sh.served[shelved(address)] = true })
	}
	s.send(fetch.CommandFulfillRequest, fetch.FulfillRequestParams{
		RequestID: id, ResponseCode: int64(status), Body: body,
		ResponseHeaders: []*fetch.HeaderEntry{{Name: "Content-Type", Value: kind}, {Name: "Cache-Control", Value: "no-store"},
			{Name: "Content-Length", Value: strconv.Itoa(len(body))}},
	})
}

// read returns what a file is answered with. Hidden files are not shown.
func (sh *shelf) read(name string) (status int, kind string, body []byte) {
	no := func(status int, why string) (int, string, []byte) {
		return status, "text/plain; charset=utf-8", []byte(name + ": " + why)
	}
	if !fs.ValidPath(name) || strings.HasPrefix(name, ".") || strings.Contains(name, "/.") {
		return no(http.StatusForbidden, "hidden files are not shown")
	}
	info, err := fs.Stat(sh.files, name)
	switch {
	case err != nil:
		return no(http.StatusNotFound, "there is no such file")
	case info.IsDir() || info.Size() > maxDownload:
		return no(http.StatusForbidden, fmt.Sprintf("it is a directory, or larger than %d MB", maxDownload>>20))
	}
	if body, err = fs.ReadFile(sh.files, name); err != nil {
		return no(http.StatusInternalServerError, "it cannot be read")
	}
	if kind = mime.TypeByExtension(path.Ext(name)); kind == "" {
		kind = http.DetectContentType(body)
	}
	return http.StatusOK, kind, body
}
