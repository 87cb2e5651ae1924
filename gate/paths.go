package gate

import (
	"path/filepath"
	"strings"
)

// relative returns the file name as rules see it: slash-separated, and relative
// to the workspace dir if it is in there.
func relative(dir, name string) string {
	p := filepath.FromSlash(name)
	if !filepath.IsAbs(p) {
		p = filepath.Join(dir, p)
	}
	rel, err := filepath.Rel(dir, filepath.Clean(p))
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return filepath.ToSlash(filepath.Clean(p))
	}
	return filepath.ToSlash(rel)
}

// resolved returns name with symbolic links on its way followed, as far as the
// path exists.
func resolved(dir, name string) string {
	p := filepath.FromSlash(name)
	if !filepath.IsAbs(p) {
		p = filepath.Join(dir, p)
	}
	rest := ""
	for at := p; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			if home, err := filepath.EvalSymlinks(dir); err == nil {
				dir = home
			}
			return relative(dir, filepath.Join(real, rest))
		}
		if at == filepath.Dir(at) {
			return name
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}
