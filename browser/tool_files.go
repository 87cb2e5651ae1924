package browser

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/cdp"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

// file is the name in the workspace of a file that the call names.
func (r *runner) file(p string) (string, error) {
	if r.tool.cfg.Files == nil {
		return "", errors.New("there is no workspace for files here")
	}
	return workspace.Name(r.tool.cfg.Dir, p)
}

// put writes a file into the workspace.
func (r *runner) put(ctx context.Context, name string, data []byte) error {
	if err := r.tool.cfg.Files.WriteFile(ctx, name, data); err != nil {
		return err
	}
	r.files = append(r.files, name)
	return nil
}

// keep waits for a download and puts it into the workspace: where the call
// says, or under a name of its own in downloads.
func (r *runner) keep(ctx context.Context, d *Download, name string) (string, error) {
	defer d.Remove()
	if err := d.Wait(ctx, maxDownload); err != nil {
		return "", err
	}
	data, err := os.ReadFile(d.Path)
	if err != nil {
		return "", err
	}
	return r.store(ctx, name, d.Name, data)
}

// store puts data into the workspace, under a name, or in downloads under one
// that is not taken.
func (r *runner) store(ctx context.Context, name, suggested string, data []byte) (string, error) {
	if r.tool.cfg.Files == nil {
		return "", errors.New("there is no workspace to put files into")
	}
	if name == "" {
		name = r.free(suggested)
	}
	return name, r.put(ctx, name, data)
}

func (r *runner) free(suggested string) string {
	ext := path.Ext(suggested)
	base := strings.TrimSuffix(suggested, ext)
	for n := 0; ; n++ {
		name := path.Join("downloads", suggested)
		if n > 0 {
			name = path.Join("downloads", fmt.Sprintf("%s (%d)%s", base, n, ext))
		}
		if _, err := fs.Stat(r.tool.cfg.Files.FS(), name); err != nil {
			return name
		}
	}
}

func (r *runner) text(ctx context.Context, t *Tab) (string, error) {
	page, err := t.State(ctx)
	if err != nil {
		return "", err
	}
	if page.Dialog != nil {
		return "", errDialog
	}
	r.quiet = true
	return "Text of " + page.URL + ":\n\n" + page.Text(), nil
}

// extract gives the model the page as Markdown, and repeats what it looks for.
func (r *runner) extract(ctx context.Context, t *Tab) (string, error) {
	source, err := t.HTML(ctx)
	if err != nil {
		return "", err
	}
	md := ""
	if r.tool.cfg.Markdown != nil {
		if md, err = r.tool.cfg.Markdown([]byte(source), t.URL()); err != nil {
			return "", err
		}
	} else {
		page, err := t.State(ctx)
		if err != nil {
			return "", err
		}
		md = page.Text()
	}
	if strings.TrimSpace(md) == "" {
		return "No content was extracted from the page.", nil
	}
	r.quiet = true
	return fmt.Sprintf("Extracted from page %s, to look for: %s\n\n%s", t.URL(), r.in.Goal, md), nil
}

func (r *runner) screenshot(ctx context.Context, t *Tab) (string, error) {
	png := strings.EqualFold(path.Ext(r.in.FilePath), ".png")
	img, err := t.Screenshot(ctx, png)
	if err != nil {
		return "", err
	}
	kind := "image/jpeg"
	if png {
		kind = "image/png"
	}
	r.image = append(r.image, llm.Blob{MIME: kind, Name: "screenshot", Data: img})
	if r.in.FilePath == "" {
		return "Screenshot of the view", nil
	}
	name, err := r.file(r.in.FilePath)
	if err != nil {
		return "", err
	}
	return "Saved the screenshot to " + name, r.put(ctx, name, img)
}

func (r *runner) savePDF(ctx context.Context, t *Tab) (string, error) {
	name, err := r.file(r.in.FilePath)
	if err != nil {
		return "", err
	}
	data, err := t.PDF(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Saved the page to %s (%d bytes)", name, len(data)), r.put(ctx, name, data)
}

// upload gives a file of the workspace to a field, or to the chooser that the
// page opened.
func (r *runner) upload(ctx context.Context, t *Tab) (string, error) {
	name, err := r.file(r.in.FilePath)
	if err != nil {
		return "", err
	}
	info, err := fs.Stat(r.tool.cfg.Files.FS(), name)
	if err != nil {
		return "", fmt.Errorf("%s cannot be uploaded: %w", name, err)
	}
	if info.IsDir() || info.Size() > maxDownload {
		return "", fmt.Errorf("%s cannot be uploaded: it is a directory, or larger than %d MB", name, maxDownload>>20)
	}
	data, err := fs.ReadFile(r.tool.cfg.Files.FS(), name)
	if err != nil {
		return "", err
	}
	// A copy: the browser reads it later, as whatever user it runs.
	dir, err := os.MkdirTemp(r.b.dir, "upload-")
	if err != nil {
		return "", err
	}
	local := filepath.Join(dir, path.Base(name))
	if err := os.WriteFile(local, data, 0o600); err != nil {
		return "", err
	}
	el, err := r.element(ctx, t, r.in.Index)
	if err != nil {
		return "", err
	}
	said := "Uploaded " + name
	if el != nil {
		said += fmt.Sprintf(" into element at index %d", el.Index)
	}
	return r.acted(ctx, t, said, func() (Outcome, error) { return t.Upload(ctx, el, local) })
}

func (r *runner) download(ctx context.Context, t *Tab) (string, error) {
	name := ""
	if r.in.FilePath != "" {
		var err error
		if name, err = r.file(r.in.FilePath); err != nil {
			return "", err
		}
	}
	if r.in.Index == nil {
		return r.fetch(ctx, t, name)
	}
	el, err := r.element(ctx, t, r.in.Index)
	if err != nil {
		return "", err
	}
	out, err := t.Click(ctx, el, Button{})
	if err != nil {
		return "", err
	}
	if len(out.Downloads) == 0 {
		said, err := r.say(ctx, fmt.Sprintf("Clicked element at index %d, and no download began", el.Index), out, "")
		return said, err
	}
	first := out.Downloads[0]
	if name, err = r.keep(ctx, first, name); err != nil {
		return "", err
	}
	out.Downloads = out.Downloads[1:]
	return r.say(ctx, fmt.Sprintf("Clicked element at index %d - Downloaded file to %s", el.Index, name), out, "")
}

// fetch downloads an address with the cookies of the page.
func (r *runner) fetch(ctx context.Context, t *Tab, name string) (string, error) {
	from, err := r.address()
	if err != nil {
		return "", err
	}
	data, kind, err := t.Fetch(ctx, from, maxDownload)
	if err != nil {
		return "", err
	}
	suggested := "download"
	if u, err := url.Parse(from); err == nil && path.Base(u.Path) != "/" && path.Base(u.Path) != "." {
		suggested = path.Base(u.Path)
	}
	if path.Ext(suggested) == "" {
		if exts, err := mime.ExtensionsByType(kind); err == nil && len(exts) > 0 {
			suggested += exts[0]
		}
	}
	if name, err = r.store(ctx, name, suggested, data); err != nil {
		return "", err
	}
	return fmt.Sprintf("Downloaded file to %s (%d bytes)", name, len(data)), nil
}

// Fetch fetches an address as the page would, with its cookies.
func (t *Tab) Fetch(ctx context.Context, from string, max int) (data []byte, kind string, err error) {
	ctx, done, err := t.act(ctx)
	if err != nil {
		return nil, "", err
	}
	defer done()
	var res struct {
		Resource struct {
			Success bool              `json:"success"`
			Error   string            `json:"netErrorName"`
			Status  float64           `json:"httpStatusCode"`
			Stream  string            `json:"stream"`
			Headers map[string]string `json:"headers"`
		} `json:"resource"`
	}
	if err := t.s.Call(ctx, "Network.loadNetworkResource", map[string]any{"frameId": cdp.FrameID(t.s.target), "url": from,
		"options": map[string]bool{"disableCache": false, "includeCredentials": true}}, &res); err != nil {
		return nil, "", cause(ctx, err)
	}
	if !res.Resource.Success {
		if res.Resource.Status >= 400 {
			return nil, "", fmt.Errorf("%s answers with HTTP %.0f", from, res.Resource.Status)
		}
		return nil, "", fmt.Errorf("%s cannot be fetched: %s", from, netError(res.Resource.Error))
	}
	for k, v := range res.Resource.Headers {
		if strings.EqualFold(k, "Content-Type") {
			kind, _, _ = mime.ParseMediaType(v)
		}
	}
	data, err = t.stream(ctx, res.Resource.Stream, max)
	return data, kind, cause(ctx, err)
}

// stream reads what the browser has for us.
func (t *Tab) stream(ctx context.Context, handle string, max int) ([]byte, error) {
	defer t.s.send("IO.close", map[string]string{"handle": handle})
	var all []byte
	for {
		var chunk struct {
			Base64 bool   `json:"base64Encoded"`
			Data   string `json:"data"`
			EOF    bool   `json:"eof"`
		}
		if err := t.s.Call(ctx, "IO.read", map[string]any{"handle": handle, "size": 1 << 20}, &chunk); err != nil {
			return nil, err
		}
		data := []byte(chunk.Data)
		if chunk.Base64 {
			var err error
			if data, err = base64.StdEncoding.DecodeString(chunk.Data); err != nil {
				return nil, err
			}
		}
		if all = append(all, data...); len(all) > max {
			return nil, fmt.Errorf("it is larger than %d MB", max>>20)
		}
		if chunk.EOF {
			return all, nil
		}
	}
}
