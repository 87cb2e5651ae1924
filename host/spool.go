package host

import (
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// A spool is the [run.Spool] of a data directory: two files for each running call,
// of which the second one takes the place of the first when it is full.
type spool struct{ dir string }

// spoolBytes is how large a file of a spool gets.
const spoolBytes = 64 << 10

// file returns the file with the latest output of a call.
func (s spool) file(session, call string) string {
	return filepath.Join(s.dir, url.PathEscape(session)+"~"+url.PathEscape(call))
}

// Writer implements [run.Spool].
func (s spool) Writer(session, call string) io.WriteCloser {
	s.Remove(session, call)
	return &spoolWriter{name: s.file(session, call)}
}

// Printed implements [run.Spool].
func (s spool) Printed(session, call string) string {
	name := s.file(session, call)
	var b strings.Builder
	for _, name := range []string{name + ".0", name} {
		if data, err := os.ReadFile(name); err == nil {
			b.Write(data)
		}
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// Remove implements [run.Spool].
func (s spool) Remove(session, call string) {
	name := s.file(session, call)
	os.Remove(name)
	os.Remove(name + ".0")
}

// A spoolWriter makes its file with the first byte. After an error it writes no
// more.
type spoolWriter struct {
	name   string
	f      *os.File
	n      int
	failed bool
}

// Write implements [io.Writer]. It reports no error: the output is shown all the same.
func (w *spoolWriter) Write(p []byte) (int, error) {
	if w.failed {
		return len(p), nil
	}
	if w.f != nil && w.n+len(p) > spoolBytes {
		w.f.Close()
		w.f, w.n = nil, 0
		w.failed = os.Rename(w.name, w.name+".0") != nil
	}
	if w.f == nil && !w.failed {
		err := os.MkdirAll(filepath.Dir(w.name), 0o700)
		if err == nil {
			w.f, err = os.OpenFile(w.name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		}
		w.failed = err != nil
	}
	if !w.failed {
		tail := p[max(0, len(p)-spoolBytes):]
		_, err := w.f.Write(tail)
		w.n, w.failed = w.n+len(tail), err != nil
	}
	return len(p), nil
}

// Close implements [io.Closer].
func (w *spoolWriter) Close() error {
	if w.f == nil {
		return nil
	}
	return w.f.Close()
}
