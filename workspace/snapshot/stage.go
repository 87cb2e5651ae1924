package snapshot

import (
	"errors"
	"os"
	"path"
	"sync"
)

// A restore writes files under temporary names, makes some of them durable together,
// and then renames them: to wait for the disk once for each file takes seconds for a
// hundred of them.

// A staged file is written, and not in place.
type staged struct {
	out  *Outcome
	file file
	// was tells whether what is to be replaced has changed since it was looked at. Its
	// zero value stands for nothing.
	was stamp
}

// How many files, and bytes of them, are staged at most. The disk needs room for them
// beside what they replace, and each is open.
const (
	maxStaged      = 128
	maxStagedBytes = 64 << 20
)

// syncAtOnce is how many files or directories are made durable at the same time. If more
// than maxSyncDirs directories have changed, the whole file system is, which waits for
// what other programs have written, too.
const (
	syncAtOnce  = 64
	maxSyncDirs = 128
)

// stage writes the file of an operation, and puts those that are staged into place if
// they are many.
func (x *restore) stage(o *Outcome) error {
	was := x.was
	f, err := x.root.create(tempName(o.Name))
	if err != nil {
		return err
	}
	x.staged = append(x.staged, staged{o, f, was})
	if o.From != nil {
		file := was.inode()
		x.twins[file] = append(x.twins[file], o)
	}
	if err := x.write(f, o.To); err != nil {
		x.staged = x.staged[:len(x.staged)-1]
		return x.removeTemp(f.Name(), errors.Join(err, f.Close()))
	}
	if x.bytes += o.To.Size; len(x.staged) == maxStaged || x.bytes >= maxStagedBytes {
		x.place()
	}
	return nil
}

// stampAt returns the stamp of what is at a name, or the zero stamp.
func (x *restore) stampAt(name string) stamp {
	info, err := x.root.Lstat(name)
	if err != nil {
		return stamp{}
	}
	return stampOf(info)
}

// place puts the files that are staged into place, after their content is durable. The
// outcome of each has its errors.
func (x *restore) place() {
	files := make([]*os.File, len(x.staged))
	for i, s := range x.staged {
		files[i] = s.file.File
	}
	failed := x.syncFiles(files)
	for i, s := range x.staged {
		err := errors.Join(failed[i], s.file.Close())
		if err == nil && x.stampAt(s.out.Name) != s.was && !x.asBefore(s.out) {
			s.out.Why = "something else has changed it"
			_ = x.root.Remove(s.file.Name()) // the next restore does, if this cannot
			continue
		}
		if err == nil {
			err = x.root.Rename(s.file.Name(), s.out.Name)
		}
		if err != nil {
			s.out.Why = why(x.removeTemp(s.file.Name(), err))
			continue
		}
		s.out.Done = true
	}
	x.staged, x.bytes = x.staged[:0], 0
}

// asBefore reports whether a name has the content that it had, although its stamp is
// another one: a file with several names gets a new one when one of them is replaced.
func (x *restore) asBefore(o *Outcome) bool {
	now, err := x.state(o)
	was := x.was
	return err == nil && now.Same(o.From) && x.stampAt(o.Name) == was
}

// An inode is a file, whatever its names are.
type inode struct{ dev, ino uint64 }

// relink makes names one file again that were one before they got their content, if that is
// the same. Where there are no hard links, each keeps a file of its own.
func (x *restore) relink() {
	for file, names := range x.twins {
		first := names[0]
		if file.ino == 0 || !first.Done {
			continue
		}
		for _, o := range names[1:] {
			if !o.Done || !o.To.Same(first.To) {
				continue
			}
			temp := tempName(o.Name)
			if err := x.root.Link(first.Name, temp); err != nil {
				continue
			}
			if err := x.root.Rename(temp, o.Name); err != nil {
				_ = x.root.Remove(temp) // the next restore does, if this cannot
			}
		}
	}
}

// discard removes the files of a restore that ends before they are in place.
func (x *restore) discard() {
	for _, s := range x.staged {
		_ = s.file.Close()
		_ = x.root.Remove(s.file.Name()) // the next restore does, if this cannot
	}
	x.staged = nil
}

// syncFiles makes open files durable, and returns the error of each.
func (x *restore) syncFiles(files []*os.File) []error {
	failed := make([]error, len(files))
	if x.r.volatile {
		return failed
	}
	// Those that wait at the same time wait for the same write to the disk's journal.
	var wg sync.WaitGroup
	for n := range min(syncAtOnce, len(files)) {
		wg.Go(func() {
			for i := n; i < len(files); i += syncAtOnce {
				failed[i] = files[i].Sync()
			}
		})
	}
	wg.Wait()
	return failed
}

// syncDirs makes the names durable that were changed, where it can.
func (x *restore) syncDirs() error {
	seen := make(map[string]bool)
	var dirs []*os.File
	defer func() {
		for _, f := range dirs {
			f.Close()
		}
	}()
	for _, o := range x.out {
		dir := path.Dir(o.Name)
		if seen[dir] || !o.Done {
			continue
		}
		seen[dir] = true
		if f, err := x.root.Open(dir); err == nil {
			dirs = append(dirs, f)
		}
		if len(dirs) > maxSyncDirs && canSyncAll && !x.r.volatile {
			return syncAll(x.root.top)
		}
	}
	x.syncFiles(dirs) // some systems cannot sync a directory
	return nil
}
