package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus/config"
)

// system reports the operating system.
func (c *checker) system(context.Context) []Finding {
	detail := c.GOOS + "/" + c.GOARCH
	if data, err := c.ReadFile("/etc/os-release"); err == nil && c.GOOS == "linux" {
		for line := range strings.Lines(string(data)) {
			if name, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
				detail += ", " + strings.Trim(strings.TrimSpace(name), `"'`)
			}
		}
	}
	if _, err := c.Stat("/.dockerenv"); err == nil {
		detail += ", in a container"
	}
	return one("system", OK, detail, "")
}

// configuration reports the files that were read, mistakes in them, and warnings.
func (c *checker) configuration(context.Context) []Finding {
	const name = "configuration"
	if c.Err != nil {
		return one(name, Missing, c.Err.Error(), "correct it; openmanus config path says which files are read")
	}
	var read, absent []string
	for _, f := range c.Config.Files() {
		if f.Found {
			read = append(read, f.Path)
		} else {
			absent = append(absent, f.Path)
		}
	}
	detail := strings.Join(read, ", ")
	if len(read) == 0 {
		detail = "no file, and none is needed (looked for " + strings.Join(absent, ", ") + ")"
	}
	list := one(name, OK, detail, "")
	if theirs := filepath.Join(c.Dir, "config", "config.toml"); !slices.Contains(read, theirs) {
		if _, err := c.Stat(theirs); err == nil {
			list = append(list, Finding{name, Warn, theirs + " exists and is not read, because a file in a working directory is not trusted",
				"if it is yours, pass it: --config " + filepath.Join("config", "config.toml")})
		}
	}
	for _, w := range c.Warnings {
		list = append(list, Finding{name, Warn, w.String(), ""})
	}
	return list
}

// keys reports the names of the secrets that are set.
func (c *checker) keys(context.Context) []Finding {
	if c.Config == nil {
		return nil
	}
	names := slices.Sorted(maps.Keys(c.Config.Secrets()))
	if len(names) == 0 {
		names = []string{"none is set"}
	}
	list := one("keys", OK, strings.Join(names, ", "), "")
	if found := c.Config.FoundText(); found != "" && c.named() {
		list = append(list, Finding{"keys", OK, found, ""})
	}
	return list
}

// named reports whether the configuration names a model that can be used. Otherwise the
// finding about the model says which keys there are.
func (c *checker) named() bool {
	m, err := c.Config.Model("")
	return err == nil && !m.Unnamed
}

// dataDir reports whether the data directory can hold sessions.
func (c *checker) dataDir(ctx context.Context) []Finding {
	const name = "data directory"
	if c.Config == nil {
		return nil
	}
	dir := c.Config.DataDir
	remedy := "choose another one: --data-dir or OPENMANUS_DATA_DIR"
	info, err := c.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c.freeSpace(name, dir, dir+" will be created when it is needed")
	case err != nil:
		return one(name, Missing, err.Error(), remedy)
	case !info.IsDir():
		return one(name, Missing, dir+" is not a directory", remedy)
	}
	if c.Store != nil {
		if err := c.Store(dir); err != nil {
			return one(name, Missing, err.Error(), remedy)
		}
	}
	detail := dir
	if c.Uses != nil {
		if uses := c.Uses(ctx, dir); uses != "" {
			detail += " (" + uses + ")"
		}
	}
	list := c.freeSpace(name, dir, detail)
	if perm := info.Mode().Perm(); c.GOOS != "windows" && perm&0o077 != 0 {
		list = append(list, Finding{name, Warn, fmt.Sprintf("%s has mode %04o: other users of this machine can read sessions", dir, perm), "chmod 700 " + dir})
	}
	return list
}

// roomy is the free space, in bytes, below which there is a warning.
const roomy = 512 << 20

// freeSpace reports the free space below dir, or below the nearest directory
// above it that exists.
func (c *checker) freeSpace(name, dir, detail string) []Finding {
	at := dir
	for {
		if _, err := c.Stat(at); err == nil || filepath.Dir(at) == at {
			break
		}
		at = filepath.Dir(at)
	}
	n, err := c.Free(at)
	switch {
	case err != nil:
		return one(name, Warn, fmt.Sprintf("%s; the free space is unknown: %v", detail, err), "")
	case n < roomy:
		return one(name, Warn, fmt.Sprintf("%s; only %d MiB are free there", detail, n>>20), "delete something, or choose another one: --data-dir or OPENMANUS_DATA_DIR")
	}
	return one(name, OK, fmt.Sprintf("%s, %.1f GiB free", detail, float64(n)/(1<<30)), "")
}

// model reports the model of the run and the profiles, and whether their
// endpoints answer.
func (c *checker) model(ctx context.Context) []Finding {
	const name = "model"
	if c.Config == nil {
		return nil
	}
	m, err := c.Config.Choose(func(base string, key config.Secret) ([]string, error) {
		if c.Models == nil {
			return nil, errors.New("it was not asked")
		}
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return c.Models(ctx, base, string(key))
	})
	if err != nil {
		return one(name, Missing, err.Error(), "")
	}
	models := []config.Model{m}
	list := c.described(name, Missing, m)
	for _, p := range c.Config.ProfileNames() {
		switch m, err := c.Config.Model(p); {
		case err != nil:
			list = append(list, Finding{"profile " + p, Warn, err.Error(), ""})
		default:
			list = append(list, c.described("profile "+p, Warn, m)...)
			models = append(models, m)
		}
	}
	return append(list, c.endpoints(ctx, models)...)
}

// described reports the address and the key of m, with its notes. The state of a
// model that cannot be used is bad.
func (c *checker) described(name string, bad State, m config.Model) []Finding {
	if m.Provider.Script {
		if _, err := c.Stat(m.Name); err != nil {
			return one(name, bad, "the script: "+err.Error(), "")
		}
		return one(name, OK, m.String(), "")
	}
	key := "no key"
	if m.Key != "" {
		key = "key from " + m.KeyAt.String()
	}
	list := one(name, OK, fmt.Sprintf("%s at %s (%s), %s", m, m.Address(), m.BaseAt, key), "")
	if told := c.Config.Told(m); told != "" {
		list = append(list, Finding{name, OK, "its endpoint says: " + told, ""})
	}
	state := Warn
	if m.Unnamed {
		state = OK
	}
	for _, n := range m.Notes {
		list = append(list, Finding{name, state, n, ""})
	}
	return list
}

// endpoints asks the endpoints of providers that list their models: each endpoint
// once for each key, all at the same time.
func (c *checker) endpoints(ctx context.Context, models []config.Model) []Finding {
	type door struct {
		base string
		key  config.Secret
	}
	var doors []door
	asked := map[door][]config.Model{}
	for _, m := range models {
		d := door{m.BaseURL, m.Key}
		if c.Models == nil || !m.Provider.Lists {
			continue
		}
		if asked[d] == nil {
			doors = append(doors, d)
		}
		asked[d] = append(asked[d], m)
	}
	found := make([][]Finding, len(doors))
	var wg sync.WaitGroup
	for i, d := range doors {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			bad := Warn
			if d == (door{models[0].BaseURL, models[0].Key}) { // that of the run
				bad = Missing
			}
			names, err := c.Models(ctx, d.base, string(d.key))
			found[i] = answer(asked[d], names, err, bad)
		})
	}
	wg.Wait()
	return slices.Concat(found...)
}
