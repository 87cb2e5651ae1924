package hostexec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/internal/filelock"
	"github.com/openmanus-go/openmanus/internal/wholefile"
)

// A Book has what commands ran when the person said yes to them, in a file. It is safe for
// concurrent use, also by several processes.
type Book struct{ path string }

// NewBook returns the book in the file at path, which need not exist yet.
func NewBook(path string) *Book { return &Book{path} }

// An entry is what one command ran.
type entry struct {
	What  string    `json:"what"` // for people
	At    time.Time `json:"at"`
	Asked bool      `json:"asked"` // the person saw the parts; else they are those of the first start
	Parts []Part    `json:"parts"`
}

func (b *Book) load() (map[string]*entry, error) {
	all := map[string]*entry{}
	data, err := os.ReadFile(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil && json.Unmarshal(data, &all) != nil {
		err = fmt.Errorf("%s is damaged: if you delete this file, you are asked anew about every program that starts outside of the sandbox", b.path)
	}
	return all, err
}

// write replaces the entry with the key.
func (b *Book) write(key string, e *entry) error {
	return b.change(func(all map[string]*entry) { all[key] = e })
}

// Forget removes the entries whose keys begin with prefix.
func (b *Book) Forget(prefix string) error {
	return b.change(func(all map[string]*entry) {
		maps.DeleteFunc(all, func(key string, _ *entry) bool { return strings.HasPrefix(key, prefix) })
	})
}

func (b *Book) change(f func(map[string]*entry)) error {
	if err := os.MkdirAll(filepath.Dir(b.path), 0o700); err != nil {
		return err
	}
	unlock, err := filelock.Lock(b.path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	all, err := b.load()
	if err != nil {
		return err
	}
	f(all)
	return wholefile.WriteJSON(b.path, all)
}

// Bound is what a command runs, beside what it ran when the person said yes to it.
type Bound struct {
	Parts   []Part // now
	Asked   bool   // the person saw what it ran
	Changed string // how that differs from what it runs now, as a clause; "": it does not, or nothing is known

	was *entry
}

// Compare returns what a command runs beside its entry. runs is [Finder.Runs] of the command,
// with parts that are known.
func (b *Book) Compare(key string, runs func(known []Part) []Part) (Bound, error) {
	all, err := b.load()
	if err != nil {
		return Bound{}, err
	}
	was := all[key]
	if was == nil {
		return Bound{Parts: runs(nil)}, nil
	}
	now := runs(was.Parts)
	return Bound{Parts: now, Asked: was.Asked, Changed: Changed(was.Parts, now), was: was}, nil
}

// Bind writes down what a command runs, which the person saw and said yes to. what is the
// command, for people who read the file.
func (b *Book) Bind(key, what string, runs func(known []Part) []Part) error {
	now, err := b.Compare(key, runs)
	if err != nil {
		return err
	}
	return b.write(key, &entry{What: what, At: time.Now().UTC(), Asked: true, Parts: now.Parts})
}

// Holds returns how what a command runs differs from its entry, as a clause, or "". The first
// time it makes the entry: from then on the command is bound to that.
func (b *Book) Holds(key, what string, runs func(known []Part) []Part) (changed string, err error) {
	now, err := b.Compare(key, runs)
	if err != nil || now.Changed != "" {
		return now.Changed, err
	}
	if now.was == nil {
		now.was = &entry{What: what, At: time.Now().UTC()}
	} else if slices.Equal(now.was.Parts, now.Parts) {
		return "", nil
	}
	now.was.Parts = now.Parts // with stamps, and versions that were not known
	return "", b.write(key, now.was)
}
