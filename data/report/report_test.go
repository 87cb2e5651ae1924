package report

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/openmanus-go/openmanus/data/chart"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/workspace"
)

func TestMain(m *testing.M) { testbed.Main(m) }

const spec = `{"kind":"bar","title":"Sold <b>","x":{"kind":0,"labels":["a"]},"y":{"kind":1},"series":[{"name":"v","x":[0],"y":[5]}]}`

// files is what reports show.
func files(t testing.TB) fstest.MapFS {
	t.Helper()
	dot := []byte("GIF89a") // what http.DetectContentType looks for
	long := "n,v\n"
	for i := range 50 {
		long += fmt.Sprintf("row %d,%d\n", i, i)
	}
	return fstest.MapFS{
		"sold.json": {Data: []byte(spec)}, "sold.png": {Data: dot}, "dot.png": {Data: dot},
		"table.csv": {Data: []byte("name,v\n<i>,1200\n")}, "long.csv": {Data: []byte(long)},
		"bare.html": {Data: []byte("<p>")}, "broken.html": {}, "broken.json": {Data: []byte(`{"kind":"x"}`)},
		"words.png": {Data: []byte("not a picture")}, "drawing.svg": {Data: []byte(`<svg onload="alert(1)"/>`)},
	}
}

func makePage(t testing.TB, markdown string, o Options) *Page {
	t.Helper()
	p, err := Make(context.Background(), files(t), []byte(markdown), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// body is what stands in the main element of a page.
func body(t testing.TB, page []byte) string {
	t.Helper()
	_, rest, ok := strings.Cut(string(page), `<main>`)
	main, _, ok2 := strings.Cut(rest, "</main>")
	if !ok || !ok2 {
		t.Fatalf("no main element in\n%s", page)
	}
	return strings.TrimSpace(main)
}

var drawing = regexp.MustCompile(`(?s)<svg .*?</svg>\n`) // of a chart, which package chart tests

// TestLayout renders the reports of testdata, each a Markdown file followed by
// the HTML that its page has in main; -run TestLayout with UPDATE=1 writes it.
func TestLayout(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			p := makePage(t, string(a.Files[0].Data), Options{})
			got := drawing.ReplaceAllString(body(t, p.HTML), "<svg>…</svg>") + "\n"
			if p.Notes != nil {
				got += "\nnot shown: " + strings.Join(p.Notes, "\nnot shown: ") + "\n"
			}
			got += fmt.Sprintf("\nshown: %d\n", p.Shown)
			if os.Getenv("UPDATE") != "" {
				a.Files[1].Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if want := string(a.Files[1].Data); got != want {
				t.Errorf("%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestScreenAndPaper: a chart is interactive on the screen and a drawing on
// paper, where no script may run.
func TestScreenAndPaper(t *testing.T) {
	p := makePage(t, "# Report\n\n![Sold](sold.png)\n\n![Again](sold.json)\n", Options{})
	if p.Shown != 2 || p.Notes != nil {
		t.Errorf("%d shown, %q", p.Shown, p.Notes)
	}
	script, err := chart.Script()
	if err != nil {
		t.Fatal(err)
	}
	screen := string(p.HTML)
	if n := strings.Count(screen, script); n != 1 {
		t.Errorf("the script is there %d times", n)
	}
	for _, want := range []string{`drawChart("chart-1", {`, `drawChart("chart-2", {`, "script-src 'unsafe-inline'", "Sold \\u003cb\\u003e"} {
		if !strings.Contains(screen, want) {
			t.Errorf("%s is missing on the screen", want)
		}
	}
	if n := strings.Count(screen, "<svg "); n != 2 {
		t.Errorf("where scripts do not run, the screen has %d drawings", n)
	}
	paper := string(p.Print)
	if strings.Contains(paper, "<script") || strings.Contains(paper, "script-src") {
		t.Error("paper has scripts")
	}
	if n := strings.Count(paper, "<svg "); n != 2 {
		t.Errorf("paper has %d drawings", n)
	}
	if plain := makePage(t, "text\n", Options{}); strings.Contains(string(plain.HTML), "<script") {
		t.Error("a report without charts has scripts")
	}
	if asian := makePage(t, "# 报告\n", Options{}); !strings.Contains(string(asian.Print), "@font-face") || strings.Contains(string(asian.HTML), "@font-face") {
		t.Error("paper embeds its fonts, the screen does not")
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		markdown string
		o        Options
		want     string
	}{
		{"# A *title*\n", Options{}, "<title>A title</title>"},
		{"# A\n", Options{Title: "<B>"}, "<title>&lt;B&gt;</title>"},
		{"text\n", Options{}, "<title></title>"},
		{"# A\n", Options{Lang: "zh"}, `<html lang="zh">`},
		{"# A\n", Options{}, `<html lang="en">`},
		{"## 1\n## 2\n## 3\n## 4\n## 5\n", Options{Lang: "zh"}, "<b>目录</b>"},
		{"![x](elsewhere.csv)\n", Options{Name: func(string) (string, error) { return "table.csv", nil }}, "<td>&lt;i&gt;</td>"},
		{"![x](elsewhere.csv)\n", Options{Name: func(string) (string, error) { return "", errors.New("nowhere") }}, "elsewhere.csv: nowhere"},
	} {
		if page := string(makePage(t, c.markdown, c.o).HTML); !strings.Contains(page, c.want) {
			t.Errorf("%q: %s is missing in\n%s", c.markdown, c.want, page)
		}
	}
	for _, markdown := range []string{"", " \n", strings.Repeat("x", maxMarkdown+1)} {
		if _, err := Make(context.Background(), files(t), []byte(markdown), Options{}); err == nil {
			t.Errorf("a report of %d bytes was made", len(markdown))
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Make(ctx, files(t), []byte("x"), Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestFileURL(t *testing.T) {
	for name, want := range map[string]string{"/a b/c#d.html": "file:///a%20b/c%23d.html", "C:/x.html": "file:///C:/x.html"} {
		if got := fileURL(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestNotFound(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{fs.ErrNotExist, true},
		{&workspace.ExitError{Code: 127}, true}, // a shell's
		{&workspace.ExitError{Code: 1}, false},
		{errors.New(`exec: "chromium": executable file not found in $PATH`), true},
		{errors.New("crashed"), false},
	} {
		if got := notFound(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
	if got := lastLine("a\n\nb \n"); got != ": b" {
		t.Errorf("%q", got)
	}
	if got := lastLine("\n"); got != "" {
		t.Errorf("%q", got)
	}
}

// printer is a workspace whose Chromium is a function.
type printer struct {
	workspace.Workspace
	run   func(args []string) error
	calls [][]string
}

func (p *printer) Run(_ context.Context, cmd *workspace.Cmd) error {
	p.calls = append(p.calls, cmd.Args)
	err := p.run(cmd.Args)
	if err != nil {
		fmt.Fprintln(cmd.Stderr, "first\n"+err.Error())
	}
	return err
}

func has(args []string, want string) bool {
	for _, a := range args {
		if a == want {
			return true
		}
	}
	return false
}

// TestPDF: which programs are tried, and how, until one has printed.
func TestPDF(t *testing.T) {
	dir := t.TempDir()
	ws, err := workspace.NewDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	pdf := filepath.Join(dir, "r.pdf")
	prints := func(args []string, content string) error {
		for _, a := range args {
			if file, ok := strings.CutPrefix(a, "--print-to-pdf="); ok {
				return os.WriteFile(file, []byte(content), 0o644)
			}
		}
		return errors.New("nothing is to be printed")
	}
	absent := fmt.Errorf("exec: %w", fs.ErrNotExist)
	for _, c := range []struct {
		what  string
		run   func(args []string) error
		calls int
		want  string // of the error
	}{
		{"the first prints", func(args []string) error { return prints(args, "%PDF-1.7") }, 1, ""},
		{"without its sandbox, where that fails", func(args []string) error {
			if !has(args, "--no-sandbox") {
				return errors.New("no usable sandbox")
			}
			return prints(args, "%PDF-1.7")
		}, 2, ""},
		{"none is installed", func([]string) error { return absent }, len(browsers()), "there is no Chromium"},
		{"it crashes", func([]string) error { return errors.New("boom") }, 1, "could not print the report: boom: boom"},
		{"it prints something else", func(args []string) error { return prints(args, "<html>") }, 1, "made no PDF"},
		{"it prints nothing, and an old PDF does not hide it", func([]string) error { return nil }, 1, "made no PDF"},
	} {
		if err := os.WriteFile(pdf, []byte("%PDF-old"), 0o644); err != nil {
			t.Fatal(err)
		}
		p := &printer{Workspace: ws, run: c.run}
		err := PDF(context.Background(), p, []byte("<p>page"), "r.pdf")
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
		if len(p.calls) != c.calls {
			t.Errorf("%s: %d programs, want %d", c.what, len(p.calls), c.calls)
		}
		if args := p.calls[0]; !has(args, "--host-resolver-rules=MAP * ~NOTFOUND") {
			t.Errorf("%s: %q", c.what, args)
		}
		want := "%PDF-old" // what could not be replaced stays
		if c.want == "" {
			want = "%PDF-1.7"
		}
		if now, err := os.ReadFile(pdf); err != nil || string(now) != want {
			t.Errorf("%s: %q, %v", c.what, now, err)
		}
		if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind %v %v", c.what, left, err)
		}
	}
}
