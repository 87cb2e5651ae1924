package tools

import (
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/sight"
	"github.com/openmanus-go/openmanus/workspace"
)

// maxPrinted is how many files are looked at that a command may have printed.
const maxPrinted = 64

// printedNumbers are those of cat -n and grep -n.
var printedNumbers = regexp.MustCompile(`(?m)^ *\d+[\t:]`)

// sawPrinted notes the files that a command names and whose lines are all in what it printed,
// one after the other: the model has seen them whole. It is not shown all of an output that is
// longer than limit.
func (b *Bash) sawPrinted(ctx context.Context, command string, res openmanus.Result, limit int) {
	out := res.Parts.Text()
	d, ok := res.Detail.(BashDetail)
	if sight.Of(ctx) == nil || !ok || out == "" || len(out) > limit {
		return
	}
	texts := []string{"\n" + unix(out) + "\n", "\n" + printedNumbers.ReplaceAllString(unix(out), "") + "\n"}
	for _, name := range named(b.ws, command, d.Cwd) {
		info, err := fs.Stat(b.ws.FS(), name)
		if err != nil || !info.Mode().IsRegular() || info.Size() > int64(len(out))+1 {
			continue
		}
		data, err := fs.ReadFile(b.ws.FS(), name)
		lines := "\n" + strings.TrimRight(unix(string(data)), "\n") + "\n"
		if err == nil && len(lines) > 2 && (strings.Contains(texts[0], lines) || strings.Contains(texts[1], lines)) {
			sight.Saw(ctx, name, sight.Sum(data))
		}
	}
}

// named returns the files that the words of a command may name: in the workspace, in the
// directory where the shell is, and in directories that the command names.
func named(ws workspace.Workspace, command, cwd string) (names []string) {
	dirs, had := []string{"."}, make(map[string]bool)
	if rel, err := filepath.Rel(ws.Dir(), cwd); err == nil && filepath.IsLocal(rel) {
		dirs = append(dirs, filepath.ToSlash(rel))
	}
	words := strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;|&<>()'\"`$=,", r) })
	for _, w := range words {
		if name, err := workspace.Name(ws.Dir(), w); err == nil && len(dirs) < 8 {
			if info, err := fs.Stat(ws.FS(), name); err == nil && info.IsDir() {
				dirs = append(dirs, name)
			}
		}
	}
	for _, w := range words {
		for _, dir := range dirs {
			at, found := w, []string{}
			if !filepath.IsAbs(w) {
				at = path.Join(dir, w)
			}
			if name, err := workspace.Name(ws.Dir(), at); err == nil {
				found = append(found, name)
				if more, err := fs.Glob(ws.FS(), name); err == nil && strings.ContainsAny(name, "*?[") {
					found = more
				}
			}
			for _, name := range found {
				if !had[name] && len(names) < maxPrinted {
					had[name] = true
					names = append(names, name)
				}
			}
		}
	}
	return names
}
