package main

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// A fileChange is a file that a run made, changed or removed.
type fileChange struct {
	Path   string `json:"path"` // relative to the workspace
	Change string `json:"change"`
	Bytes  int64  `json:"bytes"`
}

// The bounds of a scan.
const (
	maxScanned  = 20_000
	maxScanTime = 2 * time.Second
)

// A scan is how the files of a workspace were at one time.
type scan struct {
	files   map[string]fileStamp
	partial bool // it did not look everywhere
}

type fileStamp struct {
	size int64
	time time.Time
	mode fs.FileMode
}

// scanFiles looks at the files below root, at most at maxScanned and for
// maxScanTime. It leaves out what version control and package managers keep,
// and the directory own, which is the program's.
func scanFiles(ctx context.Context, root fs.FS, own string) scan {
	ctx, cancel := context.WithTimeout(ctx, maxScanTime)
	defer cancel()
	s := scan{files: make(map[string]fileStamp)}
	// What cannot be read is not looked at, which partial says.
	_ = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			s.partial = s.partial || name == "."
			return nil
		}
		if len(s.files) >= maxScanned || ctx.Err() != nil {
			s.partial = true
			return fs.SkipAll
		}
		if d.IsDir() {
			if name == own {
				return fs.SkipDir
			}
			if slices.Contains([]string{".git", "node_modules", "__pycache__", ".venv"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if info, err := d.Info(); err == nil {
			s.files[name] = fileStamp{info.Size(), info.ModTime(), info.Mode()}
		}
		return nil
	})
	return s
}

// changes returns what differs from before to after, by path. What one of two
// partial scans did not see may be missing.
func changes(before, after scan) []fileChange {
	list := []fileChange{}
	for path, now := range after.files {
		was, there := before.files[path]
		switch {
		case !there && !before.partial:
			list = append(list, fileChange{path, "created", now.size})
		case there && was != now:
			list = append(list, fileChange{path, "modified", now.size})
		}
	}
	for path := range before.files {
		if _, there := after.files[path]; !there && !after.partial {
			list = append(list, fileChange{path, "deleted", 0})
		}
	}
	slices.SortFunc(list, func(a, b fileChange) int { return strings.Compare(a.Path, b.Path) })
	return list
}
