package gate

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/openmanus-go/openmanus/internal/meant"
)

// relative returns the file name as rules see it: slash-separated, and relative
// to the workspace dir if it is in there. Package meant decides which file it is, as where
// the call runs.
func relative(dir, name string) string {
	if m, err := meant.In(dir, name); err == nil {
		return m.Name
	}
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

// maxLinks is how many symbolic links a name may lead through, as on Linux.
const maxLinks = 40

// resolved returns name with symbolic links on its way followed, as far as the path
// exists. A link to what does not exist is followed too: whoever writes there makes it. A
// name that leads nowhere is returned as it is.
func resolved(dir, name string) string {
	p := filepath.FromSlash(name)
	if !filepath.IsAbs(p) {
		p = filepath.Join(dir, p)
	}
	const sep = string(filepath.Separator)
	volume := filepath.VolumeName(p)
	at, rest, links := volume+sep, strings.Split(strings.TrimPrefix(p[len(volume):], sep), sep), 0
	for len(rest) > 0 {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		target, err := os.Readlink(next) // what is not there, and what is no link, is an error
		if err != nil {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return name
		}
		if v := filepath.VolumeName(target); filepath.IsAbs(target) {
			at, target = v+sep, target[len(v):]
		}
		rest = append(strings.Split(strings.TrimPrefix(filepath.FromSlash(target), sep), sep), rest...)
	}
	if home, err := filepath.EvalSymlinks(dir); err == nil {
		dir = home
	}
	return relative(dir, at)
}
