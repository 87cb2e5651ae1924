package browser

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/openmanus-go/openmanus/internal/hostexec"
)

// ErrNoBrowser is the error of [Start] and [Find] where no Chromium is installed.
var ErrNoBrowser = errors.New("no Chromium was found: install one (apt install chromium," +
	" brew install --cask chromium, winget install Google.Chrome), name it ([browser] chrome_instance_path)," +
	" or connect to a running one ([browser] cdp_url)")

// Find returns the path of the Chromium that [Start] runs by default: the first
// known program on the PATH, else the first in the places where systems install
// one.
func Find() (string, error) { return findProgram(hostexec.Finder{}.Look, os.Stat) }

// names are the programs that are looked for on the PATH.
const names = "chromium chromium-browser google-chrome google-chrome-stable chrome microsoft-edge msedge"

// findProgram is Find with the two functions that look at the file system.
func findProgram(
	lookPath func(string) (string, error), stat func(string) (os.FileInfo, error),
) (string, error) {
	for _, name := range strings.Fields(names) {
		if path, err := lookPath(name); err == nil {
			return path, nil
		}
	}
	for _, path := range installed(runtime.GOOS, os.Getenv) {
		if info, err := stat(path); err == nil && !info.IsDir() {
			return path, nil
		}
	}
	return "", ErrNoBrowser
}

// installed returns where a system keeps browsers that are not on the PATH.
func installed(goos string, getenv func(string) string) []string {
	var dirs, programs []string
	switch goos {
	case "darwin":
		dirs = []string{"/Applications", filepath.Join(getenv("HOME"), "Applications")}
		for _, app := range []string{"Google Chrome", "Chromium", "Microsoft Edge"} {
			programs = append(programs, app+".app/Contents/MacOS/"+app)
		}
	case "windows":
		dirs = []string{getenv("ProgramFiles"), getenv("ProgramFiles(x86)"), getenv("LocalAppData")}
		programs = []string{`Google\Chrome\Application\chrome.exe`, `Chromium\Application\chrome.exe`,
			`Microsoft\Edge\Application\msedge.exe`}
	default:
		return []string{"/snap/bin/chromium", "/usr/lib/chromium/chromium", "/opt/google/chrome/chrome"}
	}
	var all []string
	for _, dir := range dirs {
		for _, program := range programs {
			all = append(all, filepath.Join(dir, program))
		}
	}
	return all
}

// outside finds programs and directories that the agent's commands cannot write.
func (o *Options) outside() hostexec.Finder { return hostexec.Outside(o.NotIn...) }

// program returns the path of the program to run.
func (o *Options) program() (string, error) {
	if o.Path == "" {
		return findProgram(o.outside().Look, os.Stat)
	}
	path, err := o.outside().Look(o.Path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return "", fmt.Errorf("the browser %s cannot be run: %w", o.Path, err)
	}
	return path, nil
}
