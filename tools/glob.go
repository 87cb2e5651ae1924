package tools

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/workspace"
)

type globInput struct {
	Pattern  string `json:"pattern"`
	Path     string `json:"path"`
	Sort     string `json:"sort"`
	Limit    int    `json:"limit"`
	Hidden   bool   `json:"hidden"`
	NoIgnore bool   `json:"no_ignore"`
}

// NewGlob returns the glob tool, which finds files of ws by name. The Detail of
// its results is a [Found].
func NewGlob(ws workspace.Workspace) openmanus.Tool {
	return openmanus.Func(
		specOf("glob", openmanus.Hints{ReadOnly: true, Idempotent: true}, readsPath("path"),
			readsPath("pattern")),
		func(ctx context.Context, _ openmanus.Call, in globInput) (openmanus.Result, error) {
			return glob(ctx, ws, in)
		})
}

// A foundFile is a file that matches. modified is set if files are sorted by
// it.
type foundFile struct {
	name     string
	modified time.Time
}

// glob carries out a call. The limit bounds what is shown, not what is
// searched, so that the result can say how many more there are.
func glob(ctx context.Context, ws workspace.Workspace, in globInput) (openmanus.Result, error) {
	var none openmanus.Result
	if in.Limit == 0 {
		in.Limit = 200
	}
	root, err := workspace.NameIn(ctx, ws.Dir(), orDot(in.Path))
	if err != nil {
		return none, err
	}
	pattern, err := newPathGlob(in.Pattern, ws.Dir())
	if err != nil {
		return none, err
	}
	info, err := stat(ws.FS(), root, orDot(in.Path))
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is a file: name a directory in path", in.Path)
	}
	if err != nil {
		return none, err
	}
	w := walk{fsys: ws.FS(), hidden: in.Hidden, all: in.NoIgnore}
	found, searched := w.matching(ctx, root, pattern, in.Sort == "modified")
	if err := ctx.Err(); err != nil {
		return none, err
	}
	slices.SortStableFunc(found, func(a, b foundFile) int {
		return cmp.Or(b.modified.Compare(a.modified), cmp.Compare(a.name, b.name))
	})
	res := openmanus.TextResult("%s", listing(found, searched, in)+w.remarks())
	res.Detail = Found{Searched: searched, Files: len(found),
		Complete: len(found) <= in.Limit && w.remarks() == ""}
	return res, nil
}

// matching returns the files below root that match pattern, and how many files
// there are. It reads modification times if times is true.
func (w *walk) matching(ctx context.Context, root string, pattern pathGlob,
	times bool) (found []foundFile, searched int) {
	for name, d := range w.files(ctx, root) {
		searched++
		if !pattern.match(name, root) {
			continue
		}
		f := foundFile{name: name}
		if times {
			info, err := d.Info()
			if err != nil {
				w.addProblem(name, err)
				continue
			}
			f.modified = info.ModTime()
		}
		found = append(found, f)
	}
	return found, searched
}

// listing returns the result for the model.
func listing(found []foundFile, searched int, in globInput) string {
	var b strings.Builder
	for _, f := range found[:min(len(found), in.Limit)] {
		b.WriteString(printable(f.name) + "\n")
	}
	switch more := len(found) - in.Limit; {
	case more > 0:
		fmt.Fprintf(&b, "(and %d more: narrow the pattern or the path, or raise limit)\n", more)
	case len(found) == 0:
		fmt.Fprintf(&b, "No file matches, of %d in %s", searched, orDot(in.Path))
		if !in.Hidden || !in.NoIgnore {
			b.WriteString("; hidden and no_ignore find more")
		}
		b.WriteString(".\n")
	}
	return b.String()
}
