package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A spool keeps the end of what a call has printed, until it is removed.
func TestSpool(t *testing.T) {
	s := spool{filepath.Join(t.TempDir(), "spool")}
	if got := s.Printed("a/b.c", "c0-1"); got != "" {
		t.Errorf("%q", got)
	}
	w := s.Writer("a/b.c", "c0-1")
	line := strings.Repeat("x", 999) + "\n"
	for range 300 {
		if _, err := w.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	w.Write([]byte("the end\n"))
	// no Close: the process was killed
	got := s.Printed("a/b.c", "c0-1")
	if !strings.HasSuffix(got, line+"the end\n") || len(got) < spoolBytes || len(got) > 2*spoolBytes {
		t.Errorf("%d bytes are kept, which end with %q", len(got), got[max(0, len(got)-20):])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s.Writer("a/b.c", "c0-1").Write([]byte("again"))
	if got := s.Printed("a/b.c", "c0-1"); got != "again" {
		t.Errorf("another attempt kept %q", got)
	}
	s.Remove("a/b.c", "c0-1")
	if left, err := os.ReadDir(s.dir); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
	// where nothing can be written, nothing is kept
	if _, err := (spool{filepath.Join(t.TempDir(), "f\x00")}).Writer("a", "b").Write([]byte("x")); err != nil {
		t.Error(err)
	}
}
