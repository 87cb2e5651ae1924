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

// A Download is a file that a page offered and the browser saves into a directory
// of its own, under a name that the page cannot choose. The browser's events
// change it until it is done; Done and Err may be read after [Download.Wait].
type Download struct {
	URL  string
	Name string // as the page suggests, without any directory
	Path string // of the file, once it is done
	Done bool
	Err  error // why it failed

	id    string
	b     *Browser
	bytes float64 // received or announced, whichever is more
}

// downloadBegins handles the event of a download that begins.
func (b *Browser) downloadBegins(params jsonv2.Value) {
	var ev cdpbrowser.EventDownloadWillBegin
	if decode(params, &ev) != nil {
		return
	}
	d := &Download{
		URL:  ev.URL,
		Name: fileName(ev.SuggestedFilename),
		Path: filepath.Join(b.dir, "downloads", filepath.Base(ev.GUID)),
		id:   ev.GUID,
		b:    b,
	}
	b.note(func() { b.downloads[ev.GUID] = d })
}

// fileName returns the last element of a path that a page suggests, or
// "download" if it has none.
func fileName(suggested string) string {
	switch name := filepath.Base(filepath.Clean("/" + filepath.ToSlash(suggested))); name {
	case "/", `\`:
		return "download"
	default:
		return name
	}
}

// downloadProgress handles the event that more of a download has arrived.
func (b *Browser) downloadProgress(params jsonv2.Value) {
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
			d.Done, d.Err = true, errors.Join(d.Err, errors.New("the download was cut off"))
		}
	})
}

// Wait waits until the download is done, and returns why it failed if it did. It
// cancels one that is or announces to be larger than max bytes, and one that is
// not done when ctx ends.
func (d *Download) Wait(ctx context.Context, max int64) error {
	var err error
	large := false
	werr := d.b.wait(ctx, func() bool {
		large, err = d.bytes > float64(max), d.Err
		return d.Done || large
	})
	switch {
	case large:
		d.Remove()
		return fmt.Errorf("%s is larger than %d MB, which is the limit for a download", d.Name, max>>20)
	case werr != nil:
		d.Remove()
		return fmt.Errorf("the download of %s was cancelled: %w", d.Name, werr)
	}
	return err
}

// Remove cancels the download if it is under way, and removes its file. It has no error:
// the file may not exist yet.
func (d *Download) Remove() {
	d.b.c.root.send("Browser.cancelDownload", map[string]string{"guid": d.id})
	os.Remove(d.Path) // it may not exist
}
