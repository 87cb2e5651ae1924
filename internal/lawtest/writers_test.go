package lawtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/browser"
	"github.com/openmanus-go/openmanus/data/analysis"
	"github.com/openmanus-go/openmanus/gate"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/sight"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/tools"
	"github.com/openmanus-go/openmanus/web"
	"github.com/openmanus-go/openmanus/workspace"
)

// writers are the functions by which tools write files of a workspace, and the tools whose
// calls come there. A tool without a row in TestWhatNobodySawIsNotReplaced says here why.
var writers = map[string]string{
	"tools/saver.go save":                   "file_saver",
	"tools/editor.go commit":                "str_replace_editor",
	"tools/history.go undo":                 "str_replace_editor",
	"tools/patch_tool.go commit":            "apply_patch",
	"web/report.go report":                  "research",
	"web/download.go finish":                "web_fetch",
	"data/analysis/reporting.go makeReport": "data_report",
	"data/report/pdf.go PDF":                "data_report",
	"data/analysis/draw.go draw":            "data_visualization", // whose charts have names that are free
	"data/analysis/draw.go write":           "data_visualization",
	"browser/tool_files.go write":           "browser_use",
	"internal/a2aclient/files.go save":      "a2a_NAME_save", // whose files have names that are free
	"tools/rehearse.go Change":              "",              // writes nothing
}

// TestWritersAreKnown looks for calls by which tools write into a workspace. Whoever adds one
// gives its tool a row in the table of TestWhatNobodySawIsNotReplaced.
func TestWritersAreKnown(t *testing.T) {
	found := make(map[string]bool)
	for _, dir := range []string{"tools", "web", "data", "browser", "agents", "mcp", "internal/a2aclient", "internal/install"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(filepath.Join("..", ".."), file)
			for _, decl := range f.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if !ok || fn.Body == nil {
					continue
				}
				ast.Inspect(fn, func(n ast.Node) bool {
					if call, ok := n.(*ast.CallExpr); ok && writes(call) {
						found[filepath.ToSlash(name)+" "+fn.Name.Name] = true
					}
					return true
				})
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for f := range found {
		if _, known := writers[f]; !known {
			t.Errorf("%s writes into a workspace: name its tool in writers, with a row in the table below", f)
		}
	}
	for f := range writers {
		if !found[f] {
			t.Errorf("%s writes nothing any more: take it out of writers", f)
		}
	}
}

// writes reports whether a call is one of a method of workspace.Files that writes: its first
// argument is a context.
func writes(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) < 2 || !slices.Contains([]string{"WriteFile", "WriteFrom", "Remove", "ChangeFiles", "Change"}, sel.Sel.Name) {
		return false
	}
	if x, ok := sel.X.(*ast.Ident); ok && x.Name == "os" {
		return false
	}
	switch first := call.Args[0].(type) {
	case *ast.Ident:
		return first.Name == "ctx" || first.Name == "own"
	case *ast.CallExpr:
		return true
	}
	return false
}

// A writing is a call that replaces, or removes, the file of the person's at path.
type writing struct {
	tool  string
	make  func(ws workspace.Workspace, dir string) openmanus.Tool
	path  string
	input string
	last  string // the Detail of the tool's last result
	needs string // a program without which the call is not run
}

func TestWhatNobodySawIsNotReplaced(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "from the web") }))
	defer page.Close()
	editors := func(patch bool) func(workspace.Workspace, string) openmanus.Tool {
		return func(ws workspace.Workspace, _ string) openmanus.Tool {
			edit, p := tools.NewEditors(ws)
			if patch {
				return p
			}
			return edit
		}
	}
	charts := func(ws workspace.Workspace, dir string) openmanus.Tool {
		if err := os.WriteFile(filepath.Join(dir, "data.csv"), []byte("a,b\nx,1\ny,2\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		tool := analysis.NewVisualization(ws)
		drawn := openmanus.Call{Call: llm.Call{Input: `{"tool_type":"visualization","data":"data.csv","title":"mine","chart":"bar","x":"a","y":["b"]}`}}
		if _, err := tool.Run(context.Background(), drawn); err != nil {
			t.Fatal(err)
		}
		return tool
	}
	reports := func(ws workspace.Workspace, _ string) openmanus.Tool { return analysis.NewReport(ws, nil) }
	research := func(ws workspace.Workspace, dir string) openmanus.Tool {
		return web.NewResearch(&web.Reader{Client: page.Client()}, ws, dir)
	}
	const planned = `{"questions":[{"text":"q","depth":1}]}`
	rows := []writing{
		{tool: "file_saver", path: "mine.txt", input: `{"file_path":"mine.txt","content":"new"}`,
			make: func(ws workspace.Workspace, _ string) openmanus.Tool { return tools.NewFileSaver(ws) }},
		{tool: "apply_patch", path: "mine.txt", make: editors(true),
			input: `{"input":"*** Begin Patch\n*** Delete File: mine.txt\n*** End Patch"}`},
		{tool: "web_fetch", path: "mine.txt", input: `{"url":"` + page.URL + `","save_to":"mine.txt"}`,
			make: func(ws workspace.Workspace, dir string) openmanus.Tool {
				return web.NewFetch(&web.Reader{Client: page.Client()}, &web.Downloads{Files: ws, Dir: dir})
			}},
		{tool: "research", path: "mine.md", last: planned, make: research,
			input: `{"command":"report","file":"mine","title":"T","sections":[{"heading":"H","claims":[]}]}`},
		{tool: "research", path: "report.html", last: planned, make: research,
			input: `{"command":"report","title":"T","sections":[{"heading":"H","claims":[]}]}`},
		{tool: "data_report", path: "mine.html", make: reports, input: `{"markdown":"# T","output":"mine.html","formats":["html"]}`},
		{tool: "data_report", path: "report.pdf", make: reports, input: `{"markdown":"# T"}`, needs: "chromium"},
		{tool: "data_visualization", path: "visualization/mine.html", make: charts,
			input: `{"tool_type":"insight","chart_path":"visualization/mine.html","insights_id":[]}`},
		{tool: "browser_use", path: "mine.png", input: `{"action":"screenshot","file_path":"mine.png"}`, needs: "a page",
			make: func(ws workspace.Workspace, dir string) openmanus.Tool {
				return browser.NewTool(browser.Config{Files: ws, Dir: dir})
			}},
		{tool: "browser_use", path: "mine.pdf", input: `{"action":"save_pdf","file_path":"mine.pdf"}`, needs: "a page",
			make: func(ws workspace.Workspace, dir string) openmanus.Tool {
				return browser.NewTool(browser.Config{Files: ws, Dir: dir})
			}},
	}
	for _, tool := range writers {
		if tool != "" && tool != "str_replace_editor" && tool != "a2a_NAME_save" &&
			!slices.ContainsFunc(rows, func(w writing) bool { return w.tool == tool }) {
			t.Errorf("%s has no row", tool)
		}
	}
	for _, w := range rows {
		t.Run(w.tool+" "+w.path, w.test)
	}
}

// test checks what the tool declares of the call, and what becomes of the person's file.
func (w writing) test(t *testing.T) {
	const mine = "what the person wrote\n"
	dir := t.TempDir()
	ws, err := workspace.NewDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	tool := w.make(ws, ws.Dir())
	if tool.Spec().Name != w.tool {
		t.Fatal(tool.Spec().Name)
	}
	call := openmanus.Call{Call: llm.Call{ID: "c", Name: w.tool, Input: w.input}, Last: json.RawMessage(w.last), Blobs: new(journal.Memory), Live: &strings.Builder{}}
	spec := tool.Spec()
	if h, ok := tool.(openmanus.CallHinter); ok {
		spec.Hints = h.Hints(call)
	}
	if h, ok := tool.(openmanus.ArgumentHinter); ok {
		spec.Arguments = h.ArgumentsOf(call)
	}

	// It is an edit of a file that it names, which modes and rules hold for.
	if h := spec.Hints; h.ReadOnly || h.Internal || h.Final || !h.Edits {
		t.Errorf("the call writes, and its hints are %+v", h)
	}
	for mode, want := range map[openmanus.Mode]openmanus.Verdict{
		openmanus.ApproveReadOnly: {}, openmanus.ApprovePlan: {}, openmanus.ApproveAsk: {Ask: true}, openmanus.ApproveEdits: {Allow: true},
	} {
		g, err := gate.New(gate.Options{Mode: mode, Workspace: ws.Dir(), Record: true})
		if err != nil {
			t.Fatal(err)
		}
		v, err := g.Rule(t.Context(), call, spec)
		if err != nil || v.Allow != want.Allow || v.Ask != want.Ask {
			t.Errorf("mode %s: %+v, %v", mode, v, err)
		}
	}
	if names := host.WrittenPaths(ws.Dir(), w.input, spec.Arguments); !host.Named(names, w.path) {
		t.Errorf("it declares that it writes %q", names)
	}
	if w.needs != "" {
		return
	}

	file := filepath.Join(dir, w.path)
	if err := os.WriteFile(file, []byte(mine), 0o644); err != nil {
		t.Fatal(err)
	}
	attempt := func(s *sight.Sight) (string, error) {
		_, err := tool.Run(sight.With(context.Background(), s), call)
		now, _ := os.ReadFile(file)
		return string(now), err
	}
	nothing := func(string) bool { return false }
	if now, err := attempt(&sight.Sight{Known: nothing}); err == nil || !strings.Contains(err.Error(), "view it first") || now != mine {
		t.Errorf("over what the session never saw: %v, %.100q", err, now)
	}
	once := func(path string) bool { return path == w.path }
	if now, err := attempt(&sight.Sight{Known: nothing, KnownPath: once}); err == nil || !strings.Contains(err.Error(), "was changed since") || now != mine {
		t.Errorf("over what was changed since: %v, %.100q", err, now)
	}
	if now, err := attempt(&sight.Sight{Looks: true}); err == nil || now != mine {
		t.Errorf("as a call that claims to change nothing: %v, %.100q", err, now)
	}
	seen := &sight.Sight{Known: func(sum string) bool { return sum == sight.Sum([]byte(mine)) }}
	if now, err := attempt(seen); err != nil || now == mine {
		t.Errorf("over what the session saw: %v, %.100q", err, now)
	}
	if len(seen.Writes()) == 0 {
		t.Error("it wrote nothing that is noted")
	}
}
