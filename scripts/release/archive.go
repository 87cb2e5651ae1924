package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"

	published "github.com/openmanus-go/openmanus/internal/release"
)

// named returns the name of a file of the release: openmanus_1.2.3_linux_amd64.
func (r *releaser) named(t target) string {
	return fmt.Sprintf("openmanus_%s_%s_%s", strings.TrimPrefix(r.version, "v"), t.os, t.arch)
}

// programName is the program's in an archive.
func programName(t target) string {
	if t.os == "windows" {
		return "openmanus.exe"
	}
	return "openmanus"
}

// An entry is a file in an archive.
type entry struct {
	name string
	mode int64
	data []byte
}

func (r *releaser) archive(t target, program []byte) error {
	dir := r.named(t) + "/"
	files := []entry{{dir + programName(t), 0o755, program}}
	for _, e := range r.extras {
		files = append(files, entry{dir + e.name, 0o644, e.data})
	}
	if t.os == "windows" {
		data, err := r.zip(files)
		if err != nil {
			return err
		}
		return r.write(r.named(t)+".zip", published.Archive, t, data)
	}
	data, err := r.tar(files)
	if err != nil {
		return err
	}
	return r.write(r.named(t)+".tar.gz", published.Archive, t, data)
}

func (r *releaser) zip(files []entry) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: r.time}
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}

func (r *releaser) tar(files []entry) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := r.tarInto(z, files); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

// tarInto writes files that belong to root and are of the commit's time, with the directories that
// they are in.
func (r *releaser) tarInto(w io.Writer, files []entry) error {
	t := tar.NewWriter(w)
	made := make(map[string]bool)
	for _, f := range files {
		for i := range f.name {
			if dir := f.name[:i+1]; f.name[i] == '/' && !made[dir] {
				made[dir] = true
				if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755, ModTime: r.time, Format: tar.FormatPAX}); err != nil {
					return err
				}
			}
		}
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: r.time, Format: tar.FormatPAX}); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	return t.Close()
}
