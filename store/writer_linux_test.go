package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus"
)

// breakFile replaces an open file with /dev/null: what is written to it is lost,
// and fsync fails, as on a failing disk.
func breakFile(t *testing.T, path string) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, fd := range fds {
		target, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name()))
		if err != nil || target != path {
			continue
		}
		number, err := strconv.Atoi(fd.Name())
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Dup3(int(null.Fd()), number, unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n == 0 {
		t.Fatalf("%s is not open", path)
	}
}

func TestAfterAFailedSyncNothingIsBelievedAnyMore(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Append(t.Context(), "s", openmanus.Opened{}); err != nil {
		t.Fatal(err)
	}
	breakFile(t, filepath.Join(dir, "journal.db-wal"))
	free := occupy(t, db)
	errs := make(chan error)
	for i := range 5 {
		go func() {
			_, err := db.Append(t.Context(), "s", openmanus.Noted{ID: fmt.Sprint(i)})
			errs <- err
		}()
	}
	free()
	for range 5 {
		err := <-errs
		if err == nil || !strings.Contains(err.Error(), "the disk failed") {
			t.Errorf("an append during the failure: %v, want an error that says what is wrong", err)
		}
	}
	if _, err := db.Append(t.Context(), "s", openmanus.Noted{ID: "later"}); err == nil || !strings.Contains(err.Error(), "no longer writes") {
		t.Errorf("an append after the failure: %v, want an error", err)
	}
	_ = db.Close() // may well fail
	again, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := count(t, again, "s"); n != 1 {
		t.Errorf("%d events after the failure, want the one that was acknowledged", n)
	}
	if _, err := again.Append(t.Context(), "s", openmanus.Noted{ID: "later"}); err != nil {
		t.Errorf("an append after opening anew: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
