package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp/syntax"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/workspace"
)

type grepInput struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path"`
	Glob       string `json:"glob"`
	Output     string `json:"output"`
	IgnoreCase bool   `json:"ignore_case"`
	Literal    bool   `json:"literal"`
	Context    int    `json:"context"`
	Limit      int    `json:"limit"`
	Hidden     bool   `json:"hidden"`
	NoIgnore   bool   `json:"no_ignore"`
}

// Found is the Detail of the results of grep and glob.
type Found struct {
	Searched int  `json:"searched"`          // files whose content (grep) or name (glob) was compared
	Files    int  `json:"files"`             // files that match
	Matches  int  `json:"matches,omitempty"` // matching lines, unless only files were asked for
	Complete bool `json:"complete"`          // no limit and no error left anything out
}

// NewGrep returns the grep tool, which searches the files of ws. The Detail of
// its results is a [Found].
func NewGrep(ws workspace.Workspace) openmanus.Tool {
	return openmanus.Func(
		specOf("grep", openmanus.Hints{ReadOnly: true, Idempotent: true}, readsPath("path"),
			readsPath("glob")),
		func(ctx context.Context, _ openmanus.Call, in grepInput) (openmanus.Result, error) {
			g, err := newGrep(ctx, ws, in)
			if err != nil {
				return openmanus.Result{}, err
			}
			return g.run(ctx)
		})
}

// A grep is one search.
type grep struct {
	in      grepInput
	fsys    fs.FS
	root    string // the directory or file to search in
	pattern *linePattern
	glob    pathGlob
	walk    walk

	chunk int       // grepChunk, except in tests
	bufs  sync.Pool // of *[]byte of that size

	found   Found
	sources []openmanus.Source // the files with matches, at most maxSources, and the workspace for more
	skipped int                // binary files
	ended   bool               // the limit was reached
	text    strings.Builder
}

// maxSources is how many files a result names as its sources.
const maxSources = 20

// newGrep returns the search for a call, with the defaults filled in. Its error is for the
// model: a pattern that is invalid, or a path that does not exist.
func newGrep(ctx context.Context, ws workspace.Workspace, in grepInput) (*grep, error) {
	g := &grep{in: in, chunk: grepChunk, fsys: ws.FS()}
	g.walk = walk{fsys: g.fsys, hidden: in.Hidden, all: in.NoIgnore}
	if g.in.Limit == 0 {
		g.in.Limit = 100
	}
	var err error
	if g.root, err = workspace.NameIn(ctx, ws.Dir(), orDot(in.Path)); err != nil {
		return nil, err
	}
	if g.pattern, err = newLinePattern(in.Pattern, in.Literal, in.IgnoreCase); err != nil {
		if bad := new(syntax.Error); errors.As(err, &bad) {
			err = fmt.Errorf("%w; with literal, the pattern is plain text", err)
		}
		return nil, err
	}
	if in.Glob != "" {
		g.glob, err = newPathGlob(in.Glob, ws.Dir())
	}
	return g, err
}

// orDot returns path, or the root of the workspace if it is empty.
func orDot(path string) string {
	if path == "" {
		return "."
	}
	return path
}

// run searches the root, be it a directory or a file. A file is searched even
// if ignore files name it.
func (g *grep) run(ctx context.Context) (openmanus.Result, error) {
	info, err := stat(g.walk.fsys, g.root, orDot(g.in.Path))
	if err != nil {
		return openmanus.Result{}, err
	}
	if info.IsDir() {
		g.fsys = workspace.Unnamed(g.fsys)
		g.walk.fsys = g.fsys
		err = g.tree(ctx)
	} else {
		err = g.files(ctx, []string{g.root})
	}
	if err != nil {
		return openmanus.Result{}, err
	}
	res := openmanus.TextResult("%s", g.text.String()+g.remarks(info.IsDir()))
	g.found.Complete = !g.ended && g.walk.remarks() == ""
	res.Detail, res.Sources = g.found, g.sources
	return res, nil
}

// batch is how many files are searched before the limit is checked.
const batch = 256

// tree searches all files below the root, several at once. Results are in the order of the
// names, so the same search has the same result.
func (g *grep) tree(ctx context.Context) error {
	names := make([]string, 0, batch)
	for name := range g.walk.files(ctx, g.root) {
		if !g.glob.match(name, g.root) {
			continue
		}
		if names = append(names, name); len(names) < batch {
			continue
		}
		if err := g.files(ctx, names); err != nil || g.ended {
			return err
		}
		names = names[:0]
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return g.files(ctx, names)
}

// files searches files at once and adds what it finds to the result in their
// order.
func (g *grep) files(ctx context.Context, names []string) error {
	hits := make([]*fileSearch, len(names))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range names {
		group.Go(func() error {
			hits[i] = g.file(ctx, name)
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, h := range hits {
		if g.ended {
			break
		}
		if h.err != nil {
			g.walk.addProblem(names[i], h.err)
		}
		if h.binary {
			g.skipped++
			continue
		}
		g.found.Searched++
		g.add(h)
	}
	return nil
}

// add adds the matches of a file to the result, up to the limit. It also notes the file as
// a source of the result.
func (g *grep) add(h *fileSearch) {
	if h.matches == 0 {
		return
	}
	g.found.Files++
	switch n := len(g.sources); {
	case n < maxSources:
		g.sources = append(g.sources, openmanus.FileSource(h.name))
	case n == maxSources:
		g.sources = append(g.sources, openmanus.FileSource("."))
	}
	switch g.in.Output {
	case "files":
		fmt.Fprintf(&g.text, "%s\n", printable(h.name))
		g.ended = g.found.Files == g.in.Limit
	case "count":
		fmt.Fprintf(&g.text, "%s:%d\n", printable(h.name), h.matches)
		g.found.Matches += h.matches
		g.ended = g.found.Files == g.in.Limit
	default:
		if g.in.Context > 0 && g.text.Len() > 0 {
			g.text.WriteString("--\n")
		}
		lines, n := h.upTo(g.in.Limit - g.found.Matches)
		g.text.WriteString(lines)
		g.found.Matches += n
		g.ended = g.found.Matches == g.in.Limit
	}
}

// remarks returns what the model must know besides the matches: limits, errors,
// and why there is no match. tree says that a directory was searched.
func (g *grep) remarks(tree bool) string {
	var b strings.Builder
	switch {
	case g.ended:
		fmt.Fprintf(&b, "(it ended at the limit of %d: there may be more; narrow pattern, path or glob, "+
			"or raise limit)\n", g.in.Limit)
	case g.found.Files > 0:
	case !tree && g.skipped > 0:
		fmt.Fprintf(&b, "%s is a binary file, which is not searched\n", orDot(g.in.Path))
	default:
		fmt.Fprintf(&b, "No matches in %d files", g.found.Searched)
		if g.skipped > 0 {
			fmt.Fprintf(&b, ", besides %d binary ones", g.skipped)
		}
		if tree && g.found.Searched == 0 && (!g.in.Hidden || !g.in.NoIgnore) {
			b.WriteString("; hidden and no_ignore search more")
		}
		b.WriteString(".\n")
	}
	return b.String() + g.walk.remarks()
}
