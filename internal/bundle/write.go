package bundle

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/openmanus-go/openmanus/internal/regular"
)

// Write writes a bundle with a session, as journal.Export wrote it, and the files of
// root. skip returns why a name, and everything below it, is left out, or "". Left out
// as well, and reported, are pipes, sockets and devices, what cannot be read, and links
// that lead outside. The files may change meanwhile: a large one that becomes shorter
// is an error.
func Write(
	ctx context.Context, w io.Writer, session []byte, root *os.Root, skip func(name string) string, l Limits,
) (Done, error) {
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return Done{}, err
	}
	b := writer{ctx: ctx, tar: tar.NewWriter(z), sum: newDigest(), root: root, skip: skip, limits: l}
	err = b.add(&tar.Header{Typeflag: tar.TypeReg, Name: sessionName, Mode: 0o600, Size: int64(len(session))}, session)
	if err == nil {
		err = b.dir(".")
	}
	if err == nil {
		err = b.end()
	}
	return b.done, errors.Join(err, z.Close())
}

type writer struct {
	ctx    context.Context
	tar    *tar.Writer
	sum    digest
	root   *os.Root
	skip   func(string) string
	limits Limits
	names  int
	done   Done
}

// add writes a small member.
func (b *writer) add(h *tar.Header, data []byte) error {
	if err := b.begin(h); err != nil {
		return err
	}
	b.sum.Write(data)
	_, err := b.tar.Write(data)
	return err
}

// begin writes the head of a member.
func (b *writer) begin(h *tar.Header) error {
	h.Format = tar.FormatPAX
	if h.ModTime.IsZero() {
		h.ModTime = time.Unix(0, 0)
	}
	b.sum.member(h.Name, h.FileInfo().Mode(), h.ModTime, h.Size, h.Linkname)
	return b.tar.WriteHeader(h)
}

func (b *writer) end() error {
	data, err := json.Marshal(end{b.sum.String(), b.done.Files})
	if err == nil {
		err = b.add(&tar.Header{Typeflag: tar.TypeReg, Name: endName, Mode: 0o600, Size: int64(len(data))}, data)
	}
	return errors.Join(err, b.tar.Close())
}

// dir writes what is in a directory, in the order of the names.
func (b *writer) dir(dir string) error {
	f, err := b.root.Open(dir)
	if err != nil {
		return err
	}
	names, err := f.Readdirnames(-1)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	slices.Sort(names)
	for _, base := range names {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		name := join(dir, base)
		if why := b.skip(name); why != "" {
			b.done.leave(name, why)
			continue
		}
		if err := b.entry(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", name, err)
		}
		b.names++
		if err := b.limits.check(&b.done, b.names); err != nil {
			return err
		}
	}
	return nil
}

// entry writes one name, and what is below it. The error is [fs.ErrNotExist] if the
// name is gone.
func (b *writer) entry(name string) error {
	info, err := b.root.Lstat(name)
	if err != nil {
		return err
	}
	h := &tar.Header{Name: filesDir + name, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime()}
	switch {
	case info.IsDir():
		f, err := b.root.Open(name)
		if err != nil {
			b.done.leave(name, "it cannot be read")
			return nil
		}
		f.Close()
		h.Typeflag, h.Name = tar.TypeDir, h.Name+"/"
		if err := b.begin(h); err != nil {
			return err
		}
		return b.dir(name)
	case info.Mode()&fs.ModeSymlink != 0:
		h.Typeflag, h.Mode = tar.TypeSymlink, 0o777
		if h.Linkname, err = b.root.Readlink(name); err != nil {
			return err
		}
		if !staysInside(name, h.Linkname) {
			b.done.leave(name, "a link that leads to "+h.Linkname)
			return nil
		}
		b.done.Files++
		return b.begin(h)
	case info.Mode().IsRegular():
		return b.file(name, h)
	}
	b.done.leave(name, "a pipe, a socket or a device")
	return nil
}

// smallFile is what is read before its length is written.
const smallFile = 1 << 20

func (b *writer) file(name string, h *tar.Header) error {
	f, info, err := regular.Open(b.root, name)
	if errors.Is(err, fs.ErrPermission) {
		b.done.leave(name, "it cannot be read")
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	b.done.Files++
	h.Typeflag, h.Size = tar.TypeReg, info.Size()
	if h.Size <= smallFile {
		data, err := io.ReadAll(io.LimitReader(f, smallFile))
		if err != nil {
			return err
		}
		h.Size = int64(len(data))
		b.done.Bytes += h.Size
		return b.add(h, data)
	}
	if b.done.Bytes += h.Size; b.done.Bytes > b.limits.Bytes {
		return b.limits.check(&b.done, 0)
	}
	if err := b.begin(h); err != nil {
		return err
	}
	n, err := io.CopyN(io.MultiWriter(b.tar, b.sum), f, h.Size)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("it became shorter than the %d bytes that it had, of which %d were read: try again", h.Size, n)
	}
	return err
}
