package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// made returns a directory with a closed store that has one session, and the path
// of the database.
func made(t *testing.T) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	db, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Append(t.Context(), "s", openmanus.Opened{}); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if _, err := db.Append(t.Context(), "s", openmanus.Noted{ID: fmt.Sprint(i), Text: strings.Repeat("words ", 100)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, filepath.Join(dir, "journal.db")
}

func edit(t *testing.T, file string, f func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, f(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func execSQL(t *testing.T, file, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+escape(file))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
}

func TestRefusesFileThatIsNotADatabase(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "journal.db")
	if err := os.WriteFile(file, []byte(strings.Repeat("Dear diary, ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	mustFail(t, dir, file, "not an SQLite database", "move the file away")
}

func TestRefusesDatabaseOfAnotherProgram(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "journal.db")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	execSQL(t, file, "CREATE TABLE bookmarks (url TEXT); PRAGMA user_version = 7")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	mustFail(t, dir, file, "another program", "another data directory")
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the other program's database was changed (%v)", err)
	}
}

func TestRefusesNewerSchema(t *testing.T) {
	dir, file := made(t)
	execSQL(t, file, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)")
	mustFail(t, dir, file, "its schema version is 99", "written by a newer openmanus", "use that version")
}

// withoutUsage makes a database one of version 3, before usage was added up.
const withoutUsage = "DROP TABLE usage; ALTER TABLE sessions DROP COLUMN estimated; ALTER TABLE sessions DROP COLUMN unpriced;" +
	"DROP TABLE devices; DROP TABLE receivers; DELETE FROM goose_db_version WHERE version_id >= 4;"

// A database of an older version does not know which sessions are idle.
func TestMigratesSchemaWithoutUnderWay(t *testing.T) {
	dir, file := made(t)
	execSQL(t, file, withoutUsage+"DROP INDEX sessions_under_way; ALTER TABLE sessions DROP COLUMN under_way; DELETE FROM goose_db_version WHERE version_id = 3")
	db, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	under := func() (n int) {
		t.Helper()
		for _, err := range db.Sessions(t.Context(), journal.ListOptions{UnderWay: true}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	if n := under(); n != 1 {
		t.Errorf("%d sessions may be under way, want 1", n)
	}
	for _, seq := range []int64{200, 201} { // of which the first is not all that there is
		if err := db.MarkIdle(t.Context(), "s", seq); err != nil {
			t.Fatal(err)
		}
		if n, want := under(), 201-int(seq); n != want {
			t.Errorf("after it was read up to %d, %d are under way, want %d", seq, n, want)
		}
	}
	if _, err := db.Append(t.Context(), "s", openmanus.Titled{ID: "t", Title: "a name changes nothing"}); err != nil || under() != 0 {
		t.Errorf("with a title, %d are under way (%v)", under(), err)
	}
	if _, err := db.Append(t.Context(), "s", openmanus.Resumed{ID: "r"}); err != nil || under() != 1 {
		t.Errorf("after somebody spoke, %d are under way (%v)", under(), err)
	}
}

func TestRefusesDirectoryInPlaceOfDatabase(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "journal.db"), 0o700); err != nil {
		t.Fatal(err)
	}
	mustFail(t, dir, "journal.db", "not a regular file", "move it away")
}

func TestDamagedDatabase(t *testing.T) {
	for what, damage := range map[string]func([]byte) []byte{
		"cut in the middle":    func(b []byte) []byte { return b[:len(b)/2] },
		"cut within a page":    func(b []byte) []byte { return b[:4096*3+100] },
		"zeros in the middle":  func(b []byte) []byte { clear(b[4096*2 : len(b)-4096]); return b },
		"no header":            func(b []byte) []byte { clear(b[:100]); return b },
		"text over the header": func(b []byte) []byte { copy(b, "SQLite format 9\x00"); return b },
	} {
		t.Run(what, func(t *testing.T) {
			dir, file := made(t)
			edit(t, file, damage)
			err := useAll(t, dir)
			if err == nil {
				t.Fatal("nothing noticed it")
			}
			for _, s := range []string{file, "damaged", "move the file away"} {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("the error is %q, and does not say %q", err, s)
				}
			}
		})
	}
}

// useAll opens a store, reads and appends, and returns the first error.
func useAll(t *testing.T, dir string) error {
	db, err := Open(dir, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	n := 0
	for _, err := range db.Events(t.Context(), "s", 0) {
		if err != nil {
			return err
		}
		n++
	}
	if n != 201 {
		t.Errorf("%d events were read without an error, want 201", n)
	}
	_, err = db.Append(t.Context(), "s", openmanus.Noted{ID: "new"})
	return err
}

func TestEmptyFileIsANewStore(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "journal.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Append(t.Context(), "s", openmanus.Opened{}); err != nil {
		t.Error(err)
	}
}

func TestConcurrentOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd %20 name?#ü")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			db, err := Open(dir, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			if _, err := db.Append(t.Context(), fmt.Sprint("s", i), openmanus.Opened{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, err := os.Stat(filepath.Join(dir, "journal.db")); err != nil {
		t.Error(err)
	}
}

func TestClosed(t *testing.T) {
	db, err := Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Append(t.Context(), "s", openmanus.Opened{}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	began := make(chan struct{})
	go func() {
		for _, err := range db.Follow(context.Background(), "s", 0) {
			if err != nil {
				ended <- err
				return
			}
			close(began)
		}
		ended <- nil
	}()
	<-began
	for range 2 {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Errorf("the follower ended with %v, want ErrClosed", err)
	}
	if _, err := db.Append(t.Context(), "s", openmanus.Noted{}); !errors.Is(err, ErrClosed) {
		t.Errorf("append: %v, want ErrClosed", err)
	}
	for _, err := range db.Events(t.Context(), "s", 0) {
		if err == nil {
			t.Error("a closed store has events")
		}
	}
	if err := db.Delete(t.Context(), "s"); !errors.Is(err, ErrClosed) {
		t.Errorf("delete: %v, want ErrClosed", err)
	}
}

func TestRefusesInvalidSessionIDs(t *testing.T) {
	db, err := Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, name := range []string{"", "a/b", "a\x00b", "\xff", strings.Repeat("x", 256)} {
		if _, err := db.Append(t.Context(), name, openmanus.Opened{}); err == nil {
			t.Errorf("%.20q was taken for a name", name)
		}
		if err := db.Restore(t.Context(), name, []openmanus.Event{{Seq: 1, Body: openmanus.Opened{}}}); err == nil {
			t.Errorf("restore: %.20q was taken for a name", name)
		}
		if _, err := db.Lock(t.Context(), name); err == nil {
			t.Errorf("lock: %.20q was taken for a name", name)
		}
	}
}
