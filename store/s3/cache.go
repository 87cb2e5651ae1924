package s3

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus/internal/wholefile"
)

// A cache keeps objects in files, as they are in the bucket, so that what is encrypted
// there is encrypted here. Objects never change, so nothing in it is ever out of date.
// It has no errors: content that it cannot keep is missing. A nil cache keeps nothing.
type cache struct {
	dir  string
	most int64

	mu   sync.Mutex
	size int64 // of all files; others may have changed it since
}

// openCache returns the cache in a directory, which it makes.
func openCache(dir string, most int64) (*cache, error) {
	if most <= 0 {
		most = 2 << 30
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	c := &cache{dir: dir, most: most}
	c.tidy(most)
	return c, nil
}

func (c *cache) file(name string) string { return filepath.Join(c.dir, name) }

// get returns an object, or nil.
func (c *cache) get(name string) []byte {
	if c == nil {
		return nil
	}
	data, err := os.ReadFile(c.file(name))
	if err != nil {
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(c.file(name), now, now) // what was used last stays longest
	return data
}

// put keeps an object.
func (c *cache) put(name string, data []byte) {
	if c == nil || int64(len(data)) > c.most/8 {
		return
	}
	if wholefile.Write(c.file(name), 0o600, data) != nil {
		return
	}
	c.mu.Lock()
	c.size += int64(len(data))
	full := c.size > c.most
	c.mu.Unlock()
	if full {
		c.tidy(c.most - c.most/4)
	}
}

// remove forgets an object.
func (c *cache) remove(name string) {
	if c != nil {
		_ = os.Remove(c.file(name))
	}
}

// tidy removes the files that were used longest ago until at most so many bytes are left,
// and what was left half written.
func (c *cache) tidy(most int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	type file struct {
		name string
		size int64
		used time.Time
	}
	var all []file
	c.size = 0
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil:
		case e.Name()[0] == '.':
			if time.Since(info.ModTime()) > time.Hour {
				_ = os.Remove(c.file(e.Name()))
			}
		default:
			all = append(all, file{e.Name(), info.Size(), info.ModTime()})
			c.size += info.Size()
		}
	}
	slices.SortFunc(all, func(a, b file) int { return a.used.Compare(b.used) })
	for _, f := range all {
		if c.size <= most {
			return
		}
		if os.Remove(c.file(f.name)) == nil {
			c.size -= f.size
		}
	}
}
