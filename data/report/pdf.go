package report

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/internal/sight"
	"github.com/openmanus-go/openmanus/workspace"
)

// ErrNoChromium is the error of [PDF] if no Chromium is installed.
var ErrNoChromium = errors.New("there is no Chromium to make the PDF with: " +
	"install one (Debian: apt-get install chromium), or print the HTML from a browser")

// browsers returns the programs that can print, in the order in which they are
// tried.
func browsers() []string {
	list := []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
		"microsoft-edge", "msedge"}
	switch runtime.GOOS {
	case "linux": // Debian's wrapper reads files that a sandbox may hide; the program beside it does not
		list = append([]string{"/usr/lib/chromium/chromium"}, list...)
	case "darwin":
		list = append(list, "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
			"/Applications/Chromium.app/Contents/MacOS/Chromium")
	case "windows":
		list = append(list, `C:\Program Files\Google\Chrome\Application\chrome.exe`,
			`C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe`)
	}
	return list
}

// printTime is how long printing may take.
const printTime = 2 * time.Minute

// PDF prints a page without scripts, [Page.Print], into the named file of the
// workspace, which it replaces as [workspace.Files].WriteFile does. It runs the machine's
// Chromium in the workspace, cut off from the network. While it runs, the page and what is
// printed are hidden files beside the PDF.
func PDF(ctx context.Context, ws workspace.Workspace, print []byte, name string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, printTime)
	defer cancel()
	hidden := path.Join(path.Dir(name), ".tmp-"+rand.Text())
	page, printed := hidden+".html", hidden+".pdf"
	own := sight.With(ctx, nil) // these two are nobody else's
	if err := ws.WriteFile(own, page, print); err != nil {
		return err
	}
	defer func() {
		for _, file := range []string{page, printed} {
			if gone := ws.Remove(context.WithoutCancel(own), file); !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
	}()
	for _, program := range browsers() {
		output, err := runBrowser(ctx, ws, program, page, printed, false)
		if notFound(err) {
			continue
		}
		if err != nil && strings.Contains(output, "sandbox") && ctx.Err() == nil {
			// Chromium's own sandbox does not start as root and in containers
			// without user namespaces. The page runs no script and loads
			// nothing, so that it can do without.
			output, err = runBrowser(ctx, ws, program, page, printed, true)
		}
		if err != nil {
			return fmt.Errorf("%s could not print the report: %w%s", program, err, lastLine(output))
		}
		pdf, err := fs.ReadFile(ws.FS(), printed)
		if err != nil || !bytes.HasPrefix(pdf, []byte("%PDF-")) {
			return fmt.Errorf("%s made no PDF%s", program, lastLine(output))
		}
		return ws.WriteFile(ctx, name, pdf)
	}
	return ErrNoChromium
}

// runBrowser prints page to the file name, and returns what the program wrote.
func runBrowser(
	ctx context.Context, ws workspace.Workspace, program, page, name string, noSandbox bool,
) (string, error) {
	absolute := func(name string) string { return filepath.Join(ws.Dir(), filepath.FromSlash(name)) }
	args := []string{program}
	if noSandbox {
		args = append(args, "--no-sandbox")
	}
	args = append(args, "--headless", "--disable-gpu", "--no-first-run", "--disable-extensions",
		"--disable-dev-shm-usage", "--no-pdf-header-footer", "--host-resolver-rules=MAP * ~NOTFOUND",
		"--print-to-pdf="+absolute(name), fileURL(absolute(page)))
	var out bytes.Buffer
	err := ws.Run(ctx, &workspace.Cmd{Args: args, Stdout: &out, Stderr: &out})
	return out.String(), err
}

// fileURL returns the address of an absolute path, which may have spaces and
// other characters that addresses must escape.
func fileURL(p string) string {
	p = filepath.ToSlash(p)
	if !strings.HasPrefix(p, "/") { // a drive letter
		p = "/" + p
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}

// notFound reports whether a program does not exist, as the workspace says it
// or the shell of a sandbox.
func notFound(err error) bool {
	var exit *workspace.ExitError
	return errors.Is(err, fs.ErrNotExist) || errors.As(err, &exit) && exit.Code == 127 ||
		err != nil && strings.Contains(err.Error(), "executable file not found")
}

// lastLine returns the last line of a program's output for the end of an
// error.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	if l := strings.TrimSpace(lines[len(lines)-1]); l != "" {
		return ": " + l
	}
	return ""
}
