package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/docs"
	"github.com/openmanus-go/openmanus/internal/cli"
	"github.com/openmanus-go/openmanus/internal/hostexec"
	"github.com/openmanus-go/openmanus/internal/near"
	"github.com/openmanus-go/openmanus/internal/site"
)

// repository is where the source is.
const repository = "https://github.com/openmanus-go/openmanus"

// docsCmd is openmanus docs.
type docsCmd struct {
	Page  string `arg:"" optional:"" help:"Open this page: configuration, sandbox, commands/run, …"`
	Print bool   `help:"Print the page, in Markdown, and open nothing."`
	Dir   string `help:"Write the pages into this directory, and open nothing." placeholder:"DIR"`
	List  bool   `help:"List the pages."`
}

// Help implements the help of the command line.
func (docsCmd) Help() string {
	return "The pages are written into your cache directory, where any browser reads them without a network."
}

// Run implements the command. The pages are those of this very version: they are in the
// program, and the first call writes them as files that a browser can open.
func (c *docsCmd) Run(ctx context.Context, t *terminal, _ *globals) error {
	s := documentation()
	names, err := s.Names()
	if err != nil {
		return err
	}
	var short []string
	for _, name := range names {
		short = append(short, strings.TrimSuffix(name, ".md"))
	}
	page := "README"
	if c.Page != "" {
		page = strings.TrimSuffix(strings.TrimSuffix(c.Page, ".md"), ".html")
		if at := near.Nearest(page, short); !slices.Contains(short, page) {
			hint := "openmanus docs --list shows all"
			if at != "" {
				hint = "did you mean " + at + "?"
			}
			return usage(fmt.Errorf("there is no page %q: %s", c.Page, hint))
		}
	}
	switch {
	case c.List:
		_, err := fmt.Fprintln(t.out, strings.Join(short, "\n"))
		return err
	case c.Print:
		text, ok := s.More[page+".md"]
		if !ok {
			data, err := fs.ReadFile(s.Pages, page+".md")
			if err != nil {
				return err
			}
			text = string(data)
		}
		_, err := fmt.Fprint(t.out, text)
		return err
	case c.Dir != "":
		return s.Write(t.abs(c.Dir))
	}
	cache, err := t.cacheDir()
	if err != nil {
		return err
	}
	dir := filepath.Join(cache, "docs-"+path.Base(thisBuild().Version))
	if err := s.Write(dir); err != nil {
		return fmt.Errorf("write the pages: %w; openmanus docs --dir DIR writes them elsewhere", err)
	}
	file := filepath.Join(dir, filepath.FromSlash(strings.Replace(page, "README", "index", 1))+".html")
	fmt.Fprintln(t.out, file)
	return t.openFile(ctx, file)
}

// documentation returns the pages of this version, with one for each command. Links to
// source code lead to the commit that the program was built from, if that is known.
func documentation() *site.Site {
	s := &site.Site{Pages: docs.Files(), More: make(map[string]string), Version: thisBuild().Version, Source: repository + "/blob/" + cmp.Or(thisBuild().Commit, "main") + "/"}
	for _, p := range cli.New("openmanus", about, new(commands)).Pages() {
		var b strings.Builder
		_ = p.WriteMarkdown(&b) // a builder takes everything
		name := p.Path()
		if name == "" {
			name = "README"
			for _, below := range p.Pages()[1:] {
				fmt.Fprintf(&b, "- [%s](%s.md): %s\n", below.Page(), below.Name, below.Help)
			}
		}
		s.More["commands/"+name+".md"] = b.String()
	}
	return s
}

// cacheDir returns the directory for files that can be made again. The variable
// XDG_CACHE_HOME comes before the system's own convention.
func (t *terminal) cacheDir() (string, error) {
	if dir, _ := t.env("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "openmanus"), nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no cache directory: %w", err)
	}
	return filepath.Join(dir, "openmanus"), nil
}

// openFile opens a file with the program that the person reads such files with, if
// there is a screen.
func (t *terminal) openFile(ctx context.Context, file string) error {
	set := func(name string) bool { v, _ := t.env(name); return v != "" }
	var args []string
	switch {
	case !isTerminal(t.err):
		return nil
	case runtime.GOOS == "darwin":
		args = []string{"open", file}
	case runtime.GOOS == "windows":
		args = []string{"rundll32", "url.dll,FileProtocolHandler", file}
	case set("DISPLAY") || set("WAYLAND_DISPLAY"):
		args = []string{"xdg-open", file}
	default:
		fmt.Fprintln(t.err, "There is no screen here: open this file in a browser, or read a page with openmanus docs PAGE --print.")
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	if out, err := hostexec.Outside(t.dir).PersonsCommand(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s did not open the file: %w %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}

// manCmd is openmanus man.
type manCmd struct {
	Command string `arg:"" optional:"" help:"The command; without it, the page of the program."`
	Dir     string `help:"Write all pages into this directory." placeholder:"DIR"`
}

// Help implements the help of the command line.
func (manCmd) Help() string {
	return "To read one: openmanus man run | man -l -\nPackages and archives bring the pages, so that there man openmanus-run shows them."
}

// Run implements the command. With a directory it writes one page for each command;
// otherwise it prints one.
func (c *manCmd) Run(_ context.Context, t *terminal, _ *globals) error {
	root, b := cli.New("openmanus", about, new(commands)), thisBuild()
	date, _ := time.Parse(time.RFC3339, b.Time) // the zero time if it is not known
	if c.Dir != "" {
		dir := t.abs(c.Dir)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		for _, p := range root.Pages() {
			var text strings.Builder
			_ = p.WriteMan(&text, b.Version, date) // a builder takes everything
			if err := os.WriteFile(filepath.Join(dir, p.Page()+".1"), []byte(text.String()), 0o644); err != nil {
				return err
			}
		}
		return nil
	}
	page := root
	if c.Command != "" {
		if page = root.Command(strings.TrimPrefix(c.Command, "openmanus-")); page == nil {
			return usage(fmt.Errorf("there is no command %q: openmanus --help lists them", c.Command))
		}
	}
	return page.WriteMan(t.out, b.Version, date)
}
