package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/workspace"
)

// ErrNoChromium is the error of [PDF] where there is none.
var ErrNoChromium = errors.New("there is no Chromium to make the PDF with: install one (Debian: apt-get install chromium), or print the HTML from a browser")

// browsers are the names of Chromium and its kin.
func browsers() []string {
	list := []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge", "msedge"}
	switch runtime.GOOS {
	case "linux": // beside Debian's wrapper, which reads files that a sandbox may not show
		list = append([]string{"/usr/lib/chromium/chromium"}, list...)
	case "darwin":
		list = append(list, "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium")
	case "windows":
		list = append(list, `C:\Program Files\Google\Chrome\Application\chrome.exe`, `C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe`)
	}
	return list
}

// PDF prints a page without scripts, [Page].Print, into the named file of the
// workspace. It runs the Chromium of the machine there, without the network,
// for at most two minutes; the policy in the page lets no script run. For that
// time the page is a hidden file beside the PDF.
func PDF(ctx context.Context, ws workspace.Workspace, print []byte, name string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	page := path.Join(path.Dir(name), "."+path.Base(name)+".html")
	if err := ws.WriteFile(ctx, page, print); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ws.Remove(context.WithoutCancel(ctx), page)) }()
	// A PDF of before would hide that none was made.
	if err := ws.Remove(ctx, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, program := range browsers() {
		said, err := printWith(ctx, ws, program, page, name, false)
		if notFound(err) {
			continue
		}
		if err != nil && strings.Contains(said, "sandbox") && ctx.Err() == nil {
			// Root, and containers without user namespaces: the page runs no
			// script and loads nothing, so what the sandbox is for is not there.
			said, err = printWith(ctx, ws, program, page, name, true)
		}
		if err != nil {
			return fmt.Errorf("%s could not print the report: %w%s", program, err, lastLine(said))
		}
		data, err := fs.ReadFile(ws.FS(), name)
		if err != nil || !bytes.HasPrefix(data, []byte("%PDF-")) {
			return fmt.Errorf("%s made no PDF%s", program, lastLine(said))
		}
		return nil
	}
	return ErrNoChromium
}

func printWith(ctx context.Context, ws workspace.Workspace, program, page, name string, uncaged bool) (said string, err error) {
	args := []string{program, "--headless", "--disable-gpu", "--no-first-run", "--disable-extensions", "--disable-dev-shm-usage", "--no-pdf-header-footer",
		"--host-resolver-rules=MAP * ~NOTFOUND", "--print-to-pdf=" + absolute(ws, name), fileURL(absolute(ws, page))}
	if uncaged {
		args = append(args[:1:1], append([]string{"--no-sandbox"}, args[1:]...)...)
	}
	var out bytes.Buffer
	err = ws.Run(ctx, &workspace.Cmd{Args: args, Stdout: &out, Stderr: &out})
	return out.String(), err
}

func absolute(ws workspace.Workspace, name string) string {
	return filepath.Join(ws.Dir(), filepath.FromSlash(name))
}

func fileURL(p string) string {
	p = filepath.ToSlash(p)
	if !strings.HasPrefix(p, "/") { // a drive
		p = "/" + p
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}

// notFound reports whether a program is not there: the workspace says so, or
// the shell of a sandbox.
func notFound(err error) bool {
	var exit *workspace.ExitError
	return errors.Is(err, fs.ErrNotExist) || errors.As(err, &exit) && exit.Code == 127 ||
		err != nil && strings.Contains(err.Error(), "executable file not found")
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	if l := strings.TrimSpace(lines[len(lines)-1]); l != "" {
		return ": " + l
	}
	return ""
}
