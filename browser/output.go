package browser

import (
	"context"
	"fmt"
	"mime"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/io"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
)

// Screenshot returns a picture of the view, as PNG or as JPEG of quality 70. Its
// size is that of the view in device pixels.
func (t *Tab) Screenshot(ctx context.Context, png bool) ([]byte, error) {
	return viewing(ctx, t, func(ctx context.Context) ([]byte, error) {
		p := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatJpeg, Quality: ptr(int64(70))}
		if png {
			p = page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng}
		}
		res, err := cdp.Call(ctx, t.s, page.CaptureScreenshot, p)
		return res.Data, err
	})
}

// PDF returns the page as it would be printed, with backgrounds and in the paper
// size that the page asks for.
func (t *Tab) PDF(ctx context.Context) ([]byte, error) {
	return viewing(ctx, t, func(ctx context.Context) ([]byte, error) {
		p := page.PrintToPDFParams{PrintBackground: ptr(true), PreferCSSPageSize: ptr(true)}
		res, err := cdp.Call(ctx, t.s, page.PrintToPDF, p)
		return res.Data, err
	})
}

// Fetch fetches an address as the page would, with its cookies but without running
// anything. It returns the media type as well, without parameters. An answer of
// more than max bytes is an error.
func (t *Tab) Fetch(ctx context.Context, url string, max int) (data []byte, mediaType string, err error) {
	ctx, done, err := t.act(ctx)
	if err != nil {
		return nil, "", err
	}
	defer done()
	res, err := cdp.Call(ctx, t.s, network.LoadNetworkResource, network.LoadNetworkResourceParams{
		FrameID: cdp.FrameID(t.s.target),
		URL:     url,
		Options: &network.LoadNetworkResourceOptions{IncludeCredentials: true},
	})
	r := res.Resource
	switch {
	case err != nil:
		return nil, "", cause(ctx, err)
	case !r.Success && r.HTTPStatusCode >= 400:
		return nil, "", fmt.Errorf("%s answers with HTTP %.0f", url, r.HTTPStatusCode)
	case !r.Success:
		return nil, "", fmt.Errorf("%s cannot be fetched: %s", url, netError(r.NetErrorName))
	}
	for name, value := range r.Headers {
		if strings.EqualFold(name, "Content-Type") {
			mediaType, _, _ = mime.ParseMediaType(fmt.Sprint(value))
		}
	}
	data, err = t.readStream(ctx, r.Stream, max)
	return data, mediaType, cause(ctx, err)
}

// readStream reads a stream of the browser and closes it.
func (t *Tab) readStream(ctx context.Context, handle io.StreamHandle, max int) ([]byte, error) {
	defer t.s.send(io.CommandClose, io.CloseParams{Handle: handle})
	var all []byte
	for {
		p := io.ReadParams{Handle: handle, Size: 1 << 20}
		chunk, err := cdp.Call(ctx, t.s, io.Read, p)
		if err != nil {
			return nil, err
		}
		if all = append(all, chunk.Data...); len(all) > max {
			return nil, fmt.Errorf("it is larger than %d MB", max>>20)
		}
		if chunk.EOF {
			return all, nil
		}
	}
}
