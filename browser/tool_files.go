package browser

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

// workspaceName returns the name in the workspace of the file that the call names.
func (c *runner) workspaceName(ctx context.Context) (string, error) {
	if c.tool.cfg.Files == nil {
		return "", errNoFiles
	}
	return workspace.NameIn(ctx, c.tool.cfg.Dir, c.in.FilePath)
}

// target is workspaceName for a file that the call writes.
func (c *runner) target(ctx context.Context) (string, error) {
	name, err := c.workspaceName(ctx)
	if err == nil {
		err = workspace.MayReplace(ctx, c.tool.cfg.Files, name, nil)
	}
	return name, err
}

var errNoFiles = errors.New("there is no workspace for files")

// write writes a file into the workspace.
func (c *runner) write(ctx context.Context, name string, data []byte) error {
	if err := c.tool.cfg.Files.WriteFile(ctx, name, data); err != nil {
		return err
	}
	c.files = append(c.files, name)
	return nil
}

// keep waits for a download, moves it into the workspace, and returns its name and
// size there: "downloads/a.csv (12 bytes)". name is where it goes; with "", it goes
// into downloads.
func (c *runner) keep(ctx context.Context, d *Download, name string) (string, error) {
	defer d.Remove()
	if err := d.Wait(ctx, maxDownload); err != nil {
		return "", err
	}
	data, err := os.ReadFile(d.Path)
	if err != nil {
		return "", err
	}
	return c.store(ctx, name, d.Name, data)
}

// store writes data into the workspace and returns the name of the file and its size.
// The name is name, or with "" a new one in downloads that resembles suggested.
func (c *runner) store(ctx context.Context, name, suggested string, data []byte) (string, error) {
	if c.tool.cfg.Files == nil {
		return "", errNoFiles
	}
	if name == "" {
		name = freeName(c.tool.cfg.Files.FS(), suggested)
	}
	return fmt.Sprintf("%s (%d bytes)", name, len(data)), c.write(ctx, name, data)
}

// freeName returns a name in downloads that no file has: "downloads/a.csv", then
// "downloads/a (1).csv".
func freeName(files fs.FS, suggested string) string {
	ext := path.Ext(suggested)
	name := path.Join("downloads", suggested)
	for n := 1; ; n++ {
		if _, err := fs.Stat(files, name); err != nil {
			return name
		}
		name = path.Join("downloads", fmt.Sprintf("%s (%d)%s", strings.TrimSuffix(suggested, ext), n, ext))
	}
}

// text returns all text of the page, also beyond the view.
func (c *runner) text(ctx context.Context) (string, Outcome, error) {
	page, err := c.tab.State(ctx)
	if err != nil {
		return "", Outcome{}, err
	}
	if page.Dialog != nil {
		return "", Outcome{}, errDialog
	}
	c.quiet = true
	return "Text of " + page.URL + ":\n\n" + page.Text(), Outcome{}, nil
}

// extract returns the page as Markdown, and reminds the model of what it looks
// for.
func (c *runner) extract(ctx context.Context) (string, Outcome, error) {
	md, err := c.markdown(ctx)
	if err != nil {
		return "", Outcome{}, err
	}
	if blank(md) {
		return "No content was extracted from the page.", Outcome{}, nil
	}
	c.quiet = true
	did := fmt.Sprintf("Extracted from page %s, to look for: %s\n\n%s", c.tab.URL(), c.in.Goal, md)
	return did, Outcome{}, nil
}

// html returns the HTML of the page, or of an element.
func (c *runner) html(ctx context.Context) (string, Outcome, error) {
	source, err := c.tab.Source(ctx, c.el)
	if err != nil {
		return "", Outcome{}, err
	}
	c.quiet = true
	of := c.tab.URL()
	if c.el != nil {
		of = fmt.Sprintf("element %d of %s", c.el.Index, of)
	}
	return "HTML of " + of + ":\n\n" + source, Outcome{}, nil
}

// links lists the links of the page, one a line.
func (c *runner) links(ctx context.Context) (string, Outcome, error) {
	all, err := c.tab.Links(ctx)
	if err != nil {
		return "", Outcome{}, err
	}
	c.quiet = true
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s:\n", clip.Count(len(all), "link"), c.tab.URL())
	for _, l := range all {
		fmt.Fprintf(&b, "\n%s - %s", cut(cmp.Or(l.Text, "(no text)"), 150), l.URL)
	}
	return b.String(), Outcome{}, nil
}

// execute runs a script in the page.
func (c *runner) execute(ctx context.Context) (string, Outcome, error) {
	value, out, err := c.tab.Execute(ctx, c.in.Script)
	return "The script returned: " + value, out, err
}

// markdown returns the page as Markdown, or as text if the tool cannot convert it.
func (c *runner) markdown(ctx context.Context) (string, error) {
	if c.tool.cfg.Markdown == nil {
		page, err := c.tab.State(ctx)
		if err != nil {
			return "", err
		}
		return page.Text(), nil
	}
	source, err := c.tab.HTML(ctx)
	if err != nil {
		return "", err
	}
	return c.tool.cfg.Markdown([]byte(source), c.tab.URL())
}

// screenshot shows the view to the model, and writes it to a file if the call names
// one: as PNG if its name says so, else as JPEG.
func (c *runner) screenshot(ctx context.Context) (string, Outcome, error) {
	mediaType, png := "image/jpeg", strings.EqualFold(path.Ext(c.in.FilePath), ".png")
	if png {
		mediaType = "image/png"
	}
	img, err := c.tab.Screenshot(ctx, png)
	if err != nil {
		return "", Outcome{}, err
	}
	c.image = &llm.Blob{MIME: mediaType, Name: "screenshot", Data: img, View: true}
	if c.in.FilePath == "" {
		return "Screenshot of the view", Outcome{}, nil
	}
	name, err := c.target(ctx)
	if err != nil {
		return "", Outcome{}, err
	}
	return "Saved the screenshot to " + name, Outcome{}, c.write(ctx, name, img)
}

// savePDF prints the page into a file.
func (c *runner) savePDF(ctx context.Context) (string, Outcome, error) {
	name, err := c.target(ctx)
	if err != nil {
		return "", Outcome{}, err
	}
	data, err := c.tab.PDF(ctx)
	if err != nil {
		return "", Outcome{}, err
	}
	return fmt.Sprintf("Saved the page to %s (%d bytes)", name, len(data)), Outcome{}, c.write(ctx, name, data)
}

// upload puts a file of the workspace into a field, or into the file chooser that
// the page opened.
func (c *runner) upload(ctx context.Context) (string, Outcome, error) {
	name, err := c.workspaceName(ctx)
	if err != nil {
		return "", Outcome{}, err
	}
	local, err := c.copyOut(name)
	if err != nil {
		return "", Outcome{}, err
	}
	did := "Uploaded " + name
	if c.el != nil {
		did += fmt.Sprintf(" into element at index %d", c.el.Index)
	}
	out, err := c.tab.Upload(ctx, c.el, local)
	if err == nil && c.el != nil && c.el.Kind == fileField && !out.Moved {
		if v, err := c.tab.fieldValue(ctx, c.el); err == nil && !slices.Contains(v.Values, path.Base(local)) {
			did += "; the field has " + v.say() + " now"
		}
	}
	return did, out, err
}

// copyOut copies a file of the workspace to where the browser can read it, which
// it does later and maybe as another user.
func (c *runner) copyOut(name string) (local string, err error) {
	files := c.tool.cfg.Files.FS()
	info, err := fs.Stat(files, name)
	if err != nil {
		return "", fmt.Errorf("%s cannot be uploaded: %w", name, err)
	}
	if info.IsDir() || info.Size() > maxDownload {
		return "", fmt.Errorf(
			"%s cannot be uploaded: it is a directory, or larger than %d MB", name, maxDownload>>20)
	}
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(c.b.dir, "upload-")
	if err != nil {
		return "", err
	}
	local = filepath.Join(dir, path.Base(name))
	return local, os.WriteFile(local, data, 0o600)
}

// download downloads an address, or what an element leads to when it is clicked.
func (c *runner) download(ctx context.Context) (did string, out Outcome, err error) {
	name := ""
	if c.in.FilePath != "" {
		if name, err = c.target(ctx); err != nil {
			return "", Outcome{}, err
		}
	}
	if c.el == nil {
		return c.fetch(ctx, name)
	}
	if out, err = c.tab.Click(ctx, c.el, Button{}); err != nil {
		return "", Outcome{}, err
	}
	did = fmt.Sprintf("Clicked element at index %d", c.el.Index)
	if len(out.Downloads) == 0 {
		return did + ", and no download began", out, nil
	}
	first := out.Downloads[0]
	out.Downloads = out.Downloads[1:]
	if name, err = c.keep(ctx, first, name); err != nil {
		return "", Outcome{}, err
	}
	return did + " - Downloaded file to " + name, out, nil
}

// fetch downloads an address with the cookies of the page.
func (c *runner) fetch(ctx context.Context, name string) (string, Outcome, error) {
	from, err := c.address(ctx)
	if err != nil {
		return "", Outcome{}, err
	}
	data, mediaType, err := c.tab.Fetch(ctx, from, maxDownload)
	if err != nil {
		return "", Outcome{}, err
	}
	if name, err = c.store(ctx, name, suggestName(from, mediaType), data); err != nil {
		return "", Outcome{}, err
	}
	c.quiet = true // the page is as before
	return "Downloaded file to " + name, Outcome{}, nil
}

// suggestName returns a file name for what an address gave: the last element of
// its path, with an extension for the media type if it has none.
func suggestName(address, mediaType string) string {
	name := "download"
	if u, err := url.Parse(address); err == nil && path.Base(u.Path) != "/" && path.Base(u.Path) != "." {
		name = path.Base(u.Path)
	}
	if path.Ext(name) == "" {
		if exts, err := mime.ExtensionsByType(mediaType); err == nil && len(exts) > 0 {
			name += exts[0]
		}
	}
	return name
}
