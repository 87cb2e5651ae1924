package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Extract reads a bundle: it returns the session, and makes the files in root, which is
// empty. skip is that of [Write]. After an error, which is [*TooLarge] or says in a
// sentence what is wrong with the file, root contains a part of the files.
func Extract(
	ctx context.Context, r io.Reader, root *os.Root, skip func(name string) string, l Limits,
) (session []byte, d Done, err error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return nil, d, err
	}
	defer z.Close()
	x := extractor{
		ctx: ctx, in: z, tar: tar.NewReader(z), sum: newDigest(), root: root, skip: skip, limits: l,
		dirs: map[string]bool{".": true},
	}
	if err := x.all(); err != nil {
		return nil, d, explain(err)
	}
	return x.session, x.done, nil
}

// explain makes a sentence for people of an error of the formats.
func explain(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("the file is cut off: copy it again")
	case errors.Is(err, zstd.ErrMagicMismatch):
		return ErrNot
	case errors.Is(err, zstd.ErrCRCMismatch), errors.Is(err, tar.ErrHeader):
		return fmt.Errorf("the file is damaged: %w", err)
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return fmt.Errorf("the file needs too much memory: %w", err)
	}
	return err
}

type extractor struct {
	ctx     context.Context
	in      io.Reader
	tar     *tar.Reader
	sum     digest
	root    *os.Root
	skip    func(string) string
	limits  Limits
	names   int
	done    Done
	session []byte
	dirs    map[string]bool // that were made; false: it is left out
	made    []made          // directories, in order, and links
}

// A made is what is finished at the end: a directory gets its permissions and time, and
// a link is made, so that nothing is written through it.
type made struct {
	name, target string
	mode         fs.FileMode
	time         time.Time
}

// all reads the whole file.
func (x *extractor) all() error {
	for n := 0; ; n++ {
		if err := x.ctx.Err(); err != nil {
			return err
		}
		h, err := x.tar.Next()
		if err != nil {
			return err
		}
		switch name, isFile := strings.CutPrefix(h.Name, filesDir); {
		case h.Name == endName && n > 0:
			if err := readEnd(x.tar, x.sum.String(), x.files()); err != nil {
				return err
			}
			return x.finish()
		case (h.Name == sessionName) != (n == 0) || n > 0 && !isFile:
			return ErrNot
		case n == 0:
			err = x.readSession(h)
		default:
			err = x.member(strings.TrimSuffix(name, "/"), h)
		}
		if err != nil {
			return err
		}
	}
}

// files is how many files and links there were, also those that are left out.
func (x *extractor) files() int { return x.names - len(x.dirs) + 1 }

func (x *extractor) readSession(h *tar.Header) (err error) {
	if h.Size > maxSession {
		return fmt.Errorf("the session has %d bytes: at most %d are read", h.Size, maxSession)
	}
	x.sum.member(h.Name, h.FileInfo().Mode(), h.ModTime, h.Size, h.Linkname)
	var b bytes.Buffer
	_, err = io.Copy(io.MultiWriter(&b, x.sum), x.tar)
	x.session = b.Bytes()
	return err
}

// member reads a directory, a link or a file.
func (x *extractor) member(name string, h *tar.Header) error {
	x.names++
	if err := x.limits.check(&x.done, x.names); err != nil {
		return err
	}
	if !validName(name) {
		return fmt.Errorf("it has a file with the name %q, which no directory can have", name)
	}
	dir, known := x.dirs[path.Dir(name)]
	if !known {
		return fmt.Errorf("it has the file %q, and no directory for it", name)
	}
	x.sum.member(h.Name, h.FileInfo().Mode(), h.ModTime, h.Size, h.Linkname)
	why := ""
	if dir {
		if why = x.skip(name); why != "" {
			x.done.leave(name, why)
		}
	}
	leave := !dir || why != ""
	switch h.Typeflag {
	case tar.TypeDir:
		if _, twice := x.dirs[name]; twice {
			return fmt.Errorf("it has the directory %q twice", name)
		}
		x.dirs[name] = !leave
		if leave {
			return nil
		}
		x.made = append(x.made, made{name: name, mode: h.FileInfo().Mode().Perm() | 0o700, time: h.ModTime})
		return there(x.root.Mkdir(name, 0o700), name)
	case tar.TypeSymlink:
		if !staysInside(name, h.Linkname) {
			return fmt.Errorf("it has the link %q, which leads outside, to %q", name, h.Linkname)
		}
		if !leave {
			x.made = append(x.made, made{name: name, target: h.Linkname})
			x.done.Files++
		}
	case tar.TypeReg:
		return x.file(name, h, leave)
	default:
		return fmt.Errorf("it has %q, which is no file, directory or link", name)
	}
	return nil
}

// file makes a file, unless it is left out.
func (x *extractor) file(name string, h *tar.Header, leave bool) error {
	if h.Size < 0 || h.Size > x.limits.Bytes {
		return x.limits.check(&Done{Bytes: max(h.Size, x.limits.Bytes+1)}, 0)
	}
	x.done.Bytes += h.Size // also if it is left out: it has to be read
	if err := x.limits.check(&x.done, x.names); err != nil {
		return err
	}
	if leave {
		_, err := io.Copy(x.sum, x.tar)
		return err
	}
	x.done.Files++
	f, err := x.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return there(err, name)
	}
	_, err = io.Copy(io.MultiWriter(f, x.sum), x.tar)
	err = errors.Join(err, f.Chmod(h.FileInfo().Mode().Perm()), f.Close())
	if err != nil {
		return err
	}
	return x.root.Chtimes(name, time.Time{}, h.ModTime)
}

// there explains that a name is used twice.
func there(err error, name string) error {
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("it has %q twice, or two names that are the same here", name)
	}
	return err
}

// finish makes the links, and gives directories their permissions and times.
func (x *extractor) finish() error {
	switch n, err := io.CopyN(io.Discard, x.in, 64<<10); {
	case err == nil:
		return fmt.Errorf("the file goes on after its end, with %d bytes or more", n)
	case err != io.EOF:
		return err
	}
	for _, m := range x.made {
		if m.target != "" {
			if err := there(x.root.Symlink(m.target, m.name), m.name); err != nil {
				return err
			}
		}
	}
	for _, m := range slices.Backward(x.made) {
		if m.target != "" {
			continue
		}
		if err := errors.Join(x.root.Chtimes(m.name, time.Time{}, m.time), x.root.Chmod(m.name, m.mode)); err != nil {
			return err
		}
	}
	return nil
}
