package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
)

// A Download is a file that a page gave.
type Download struct {
	URL  string
	Name string // as the page suggests; nothing but a name
	Path string // where the file is when it is done
	Done bool
	Err  error // why it did not come

	guid  string
	b     *Browser
	bytes float64
}

// downloading takes in how a download is going.
func (b *Browser) downloading(method string, params jsonv2.Value) {
	if method == "Browser.downloadWillBegin" {
		var ev cdpbrowser.EventDownloadWillBegin
		if decode(params, &ev) != nil {
			return
		}
		name := filepath.Base(filepath.Clean("/" + filepath.ToSlash(ev.SuggestedFilename)))
		if name == "/" || name == "." || name == "\\" {
			name = "download"
		}
		d := &Download{URL: ev.URL, Name: name, Path: filepath.Join(b.dir, "downloads", filepath.Base(ev.GUID)), guid: ev.GUID, b: b}
		b.note(func() { b.downloads[ev.GUID] = d })
		return
	}
	var ev cdpbrowser.EventDownloadProgress
	if decode(params, &ev) != nil {
		return
	}
	b.note(func() {
		d := b.downloads[ev.GUID]
		if d == nil {
			return
		}
		d.bytes = max(ev.ReceivedBytes, ev.TotalBytes)
		switch ev.State {
		case cdpbrowser.DownloadProgressStateCompleted:
			d.Done = true
		case cdpbrowser.DownloadProgressStateCanceled:
			d.Done, d.Err = true, errors.Join(d.Err, errors.New("the download broke off"))
		}
	})
}

// Wait waits until the download is done. One that is larger than max bytes, or
// would be, is cancelled.
func (d *Download) Wait(ctx context.Context, max int64) error {
	var err error
	large := false
	werr := d.b.wait(ctx, func() bool {
		large, err = d.bytes > float64(max), d.Err
		return d.Done || large
	})
	if large {
		d.Remove()
		return fmt.Errorf("%s is larger than %d MB, which is the limit for a download", d.Name, max>>20)
	}
	if werr != nil {
		d.Remove()
		return fmt.Errorf("the download of %s was given up: %w", d.Name, werr)
	}
	return err
}

// Remove cancels the download, and removes what there is of it.
func (d *Download) Remove() {
	d.b.c.root.send("Browser.cancelDownload", map[string]string{"guid": d.guid})
	os.Remove(d.Path) // it may not be there
}
