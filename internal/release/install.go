package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"strconv"
	"strings"
)

// Program fetches the archive for a system and returns the program in it, verified.
func (m *Manifest) Program(ctx context.Context, from Source, os, arch string) ([]byte, error) {
	f, err := m.Find(Archive, os, arch)
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	if err := f.Fetch(ctx, from, &archive); err != nil {
		return nil, err
	}
	program, err := unpack(f.Name, archive.Bytes())
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", f.Name, err)
	}
	if sumOf(program) != m.Programs[os+"/"+arch] {
		return nil, untrusted("the program in %s is not the one of the release", f.Name)
	}
	return program, nil
}

// isProgram reports whether this name, in an archive, is the program's.
func isProgram(name string) bool {
	base := path.Base(name)
	return base == "openmanus" || base == "openmanus.exe"
}

// unpack returns the program in an archive.
func unpack(name string, archive []byte) ([]byte, error) {
	if strings.HasSuffix(name, ".zip") {
		z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			return nil, err
		}
		for _, f := range z.File {
			if !isProgram(f.Name) {
				continue
			}
			r, err := f.Open()
			if err != nil {
				return nil, err
			}
			return io.ReadAll(io.LimitReader(r, mostFile))
		}
		return nil, errors.New("there is no program in it")
	}
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	t := tar.NewReader(z)
	for {
		h, err := t.Next()
		if err == io.EOF {
			return nil, errors.New("there is no program in it")
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag == tar.TypeReg && isProgram(h.Name) {
			return io.ReadAll(io.LimitReader(t, mostFile))
		}
	}
}

// A Disk is where a program is installed.
type Disk interface {
	Read(name string) ([]byte, error)
	// Write makes a new file, which must not be there, that can be executed. It is on the
	// disk, and not only in memory, when Write returns.
	Write(name string, data []byte) error
	// Rename gives a file another name, in one step: what had that name before is gone.
	Rename(from, to string) error
	// Remove removes a file. One that is not there is no error.
	Remove(name string) error
}

// An Install puts a program in the place of another one.
type Install struct {
	Disk Disk
	Path string // of the program
	// Try runs a program that is not in its place yet, and returns an error if it does not work.
	Try func(path string) error
	// Aside says that a program that runs cannot be replaced, but only be renamed: Windows.
	Aside bool
}

// Old returns the name under which the program before is kept.
func (in *Install) Old() string { return in.Path + ".old" }

// Put writes a program beside the one that is there, tries it, and gives it that one's name. The
// program before is kept as [Install.Old]. At any moment, whatever happens, there is
// a whole program at Path, but with Aside, where for a moment there is none.
func (in *Install) Put(program []byte) (err error) {
	before, err := in.Disk.Read(in.Path)
	if err != nil {
		return err
	}
	unique := strconv.FormatUint(rand.Uint64(), 36)
	next, kept := in.Path+".new-"+unique, in.Path+".old-"+unique
	if strings.HasSuffix(in.Path, ".exe") {
		next += ".exe" // else Windows does not run it
	}
	defer func() {
		err = errors.Join(err, in.Disk.Remove(next), in.Disk.Remove(kept))
	}()
	if err := in.Disk.Write(next, program); err != nil {
		return err
	}
	if err := in.Try(next); err != nil {
		return fmt.Errorf("the new program does not work here, and the old one stays: %w", err)
	}
	if in.Aside {
		if err := in.Disk.Remove(in.Old()); err != nil {
			return err
		}
		if err := in.Disk.Rename(in.Path, in.Old()); err != nil {
			return err
		}
		if err := in.Disk.Rename(next, in.Path); err != nil {
			return errors.Join(err, in.Disk.Rename(in.Old(), in.Path))
		}
		return nil
	}
	if err := in.Disk.Write(kept, before); err != nil {
		return err
	}
	if err := in.Disk.Rename(kept, in.Old()); err != nil {
		return err
	}
	return in.Disk.Rename(next, in.Path)
}

// Back puts the program before in its place again, and keeps the one that was there: Back again
// goes forward.
func (in *Install) Back() error {
	program, err := in.Disk.Read(in.Old())
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no program before: %s is not there", in.Old())
	}
	if err != nil {
		return err
	}
	return in.Put(program)
}
