package browser

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// ErrNoBrowser is the error of [Start] where there is no Chromium.
var ErrNoBrowser = errors.New("no Chromium was found: install one (apt install chromium, brew install --cask chromium, winget install Google.Chrome), name it ([browser] chrome_instance_path), or connect to one that runs ([browser] cdp_url)")

// Find returns the path of the Chromium that [Start] would start.
func Find() (string, error) { return search(exec.LookPath, os.Stat) }

func search(lookPath func(string) (string, error), stat func(string) (os.FileInfo, error)) (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge", "msedge"} {
		if path, err := lookPath(name); err == nil {
			return path, nil
		}
	}
	for _, path := range places() {
		if info, err := stat(path); err == nil && !info.IsDir() {
			return path, nil
		}
	}
	return "", ErrNoBrowser
}

// places are where systems keep programs that are not on the path.
func places() []string {
	switch runtime.GOOS {
	case "darwin":
		var all []string
		for _, dir := range []string{"/Applications", filepath.Join(os.Getenv("HOME"), "Applications")} {
			all = append(all, filepath.Join(dir, "Google Chrome.app/Contents/MacOS/Google Chrome"),
				filepath.Join(dir, "Chromium.app/Contents/MacOS/Chromium"), filepath.Join(dir, "Microsoft Edge.app/Contents/MacOS/Microsoft Edge"))
		}
		return all
	case "windows":
		var all []string
		for _, dir := range []string{os.Getenv("ProgramFiles"), os.Getenv("ProgramFiles(x86)"), os.Getenv("LocalAppData")} {
			all = append(all, filepath.Join(dir, `Google\Chrome\Application\chrome.exe`),
				filepath.Join(dir, `Chromium\Application\chrome.exe`), filepath.Join(dir, `Microsoft\Edge\Application\msedge.exe`))
		}
		return all
	}
	return []string{"/snap/bin/chromium", "/usr/lib/chromium/chromium", "/opt/google/chrome/chrome"}
}

// named returns the program that o names, or finds one.
func (o *Options) named() (string, error) {
	if o.Path == "" {
		return Find()
	}
	path, err := exec.LookPath(o.Path)
	if err != nil {
		return "", fmt.Errorf("the browser %s cannot be run: %w", o.Path, err)
	}
	return path, nil
}
