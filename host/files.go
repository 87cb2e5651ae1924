package host

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// A FileChange is a file that was made, changed or removed.
type FileChange struct {
	Path   string `json:"path"` // relative to the workspace
	Change string `json:"change"`
	Bytes  int64  `json:"bytes"`

	// Was is the size before, and From the name that the file had before if it was moved.
	// They and Diff, a unified diff, are set where snapshots say what there was.
	Was  int64  `json:"was,omitempty"`
	From string `json:"from,omitempty"`
	Diff string `json:"diff,omitempty"`
}

// The bounds of a Scan.
const (
	maxScanned  = 20_000
	maxScanTime = 2 * time.Second
)

// A Scan is what the files of a workspace were at one time: their sizes, times
// and modes, not their content.
type Scan struct {
	files   map[string]fileStamp
	partial bool // some files were not looked at
}

// A fileStamp stands for the content of a file: one that differs has changed. A
// change that keeps all three is not seen.
type fileStamp struct {
	size int64
	time time.Time
	mode fs.FileMode
}

// ScanFiles looks at the files below root, at most at 20,000 and for two
// seconds. It leaves out what version control and package managers keep, and
// the directories that are the program's own: see [Env.Own].
func ScanFiles(ctx context.Context, root fs.FS, own func(name string) bool) Scan {
	ctx, cancel := context.WithTimeout(ctx, maxScanTime)
	defer cancel()
	s := Scan{files: make(map[string]fileStamp)}
	// Directories that cannot be read are skipped; partial says so of the root.
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
			if own(name) || slices.Contains(hiddenDirs, d.Name()) {
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

// Changes returns what differs from before to after, by path. Files that one of
// two partial scans did not see may be missing.
func Changes(before, after Scan) []FileChange {
	list := []FileChange{}
	for path, now := range after.files {
		was, there := before.files[path]
		switch {
		case !there && !before.partial:
			list = append(list, FileChange{Path: path, Change: "created", Bytes: now.size})
		case there && was != now:
			list = append(list, FileChange{Path: path, Change: "modified", Bytes: now.size})
		}
	}
	for path := range before.files {
		if _, there := after.files[path]; !there && !after.partial {
			list = append(list, FileChange{Path: path, Change: "deleted"})
		}
	}
	slices.SortFunc(list, func(a, b FileChange) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// Partial reports whether the scan left out files because there were too many.
func (s Scan) Partial() bool { return s.partial }
