package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/store"
)

func big(words string) string { return strings.Repeat(words+" ", 2000) }

func done(call, text string) openmanus.CallDone {
	return openmanus.CallDone{Call: call, Parts: llm.Parts{llm.Text{Text: text}}}
}

func add(t testing.TB, db *store.DB, session string, bodies ...openmanus.Body) {
	t.Helper()
	if _, err := db.Append(t.Context(), session, bodies...); err != nil {
		t.Fatal(err)
	}
}

func put(t testing.TB, db *store.DB, data string) openmanus.Ref {
	t.Helper()
	ref, err := db.Put(t.Context(), []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// has reports whether a store has a blob.
func has(t testing.TB, db *store.DB, ref openmanus.Ref) bool {
	t.Helper()
	_, err := openmanus.ReadBlob(t.Context(), db, ref)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// file returns the file of a blob.
func file(dir string, ref openmanus.Ref) string {
	digits := strings.TrimPrefix(string(ref), "sha256:")
	return filepath.Join(dir, "blobs", digits[:2], digits[2:])
}

func TestBlobIsDeletedWithTheLastReference(t *testing.T) {
	db := open(t, t.TempDir(), nil)
	text, whole := big("shared"), put(t, db, "the whole output")
	for _, s := range []string{"a", "b"} {
		add(t, db, s, openmanus.Opened{}, done("1", text), done("2", text), openmanus.CallDone{Call: "3", Whole: whole})
	}
	for _, last := range []struct {
		session string
		left    bool
	}{{"a", true}, {"b", false}} {
		if err := db.Delete(t.Context(), last.session); err != nil {
			t.Fatal(err)
		}
		for _, ref := range []openmanus.Ref{openmanus.RefOf([]byte(text)), whole} {
			if got := has(t, db, ref); got != last.left {
				t.Errorf("after session %s was deleted, blob %s is there: %t", last.session, ref, got)
			}
		}
	}
}

func TestPutBlobSurvivesDeletionOfItsLastReference(t *testing.T) {
	dir := t.TempDir()
	one, two := open(t, dir, nil), open(t, dir, nil)
	add(t, one, "old", openmanus.Opened{}, openmanus.CallDone{Call: "1", Whole: put(t, one, "output")})
	add(t, one, "new", openmanus.Opened{})
	ref := put(t, one, "output") // the same again, for an event that is still to come
	if err := two.Delete(t.Context(), "old"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file(dir, ref)); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the other process did not collect the blob (%v): this test shows nothing", err)
	}
	if !has(t, one, ref) {
		t.Error("who put the blob cannot read it any more")
	}
	add(t, one, "new", openmanus.CallDone{Call: "1", Whole: ref})
	if !has(t, two, ref) {
		t.Error("the session refers to a blob that is gone")
	}
	if err := two.Delete(t.Context(), "new"); err != nil {
		t.Fatal(err)
	}
	if has(t, one, ref) {
		t.Error("the blob was not collected with its last session")
	}
}

// TestBlobsSurviveConcurrentDeletes puts the same content again and again in
// sessions that are deleted at the same time.
// A blob that is held stays when the session that refers to it is deleted, also by
// another process, until an event of another one refers to it.
func TestHeldBlobSurvivesDeletionOfItsLastReference(t *testing.T) {
	dir := t.TempDir()
	db, other := open(t, dir, nil), open(t, dir, nil)
	add(t, other, "one", openmanus.Opened{})
	ref := put(t, other, "output")
	add(t, other, "one", openmanus.CallDone{Call: "1", Whole: ref})
	if err := db.Hold(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	if err := other.Delete(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	add(t, db, "two", openmanus.Opened{}, openmanus.CallDone{Call: "1", Whole: ref})
	if !has(t, other, ref) {
		t.Error("the blob is gone")
	}
	if err := other.Delete(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	if err := db.Hold(t.Context(), ref); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a blob that was deleted: %v", err)
	}
}

func TestBlobsSurviveConcurrentDeletes(t *testing.T) {
	dir := t.TempDir()
	text := big("everybody says this")
	var wg sync.WaitGroup
	for i := range 4 {
		db := open(t, dir, nil)
		wg.Go(func() {
			for k := range 40 {
				session := fmt.Sprintf("s%d-%d", i, k)
				if _, err := db.Append(t.Context(), session, openmanus.Opened{}, done("1", text)); err != nil {
					t.Errorf("append: %v", err)
					return
				}
				for ev, err := range db.Events(t.Context(), session, 1) {
					if err != nil || ev.Body.(openmanus.CallDone).Parts.Text() != text {
						t.Errorf("session %s lost its blob: %v", session, err)
						return
					}
				}
				if err := db.Delete(t.Context(), session); err != nil {
					t.Errorf("delete: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	if n := files(t, filepath.Join(dir, "blobs")); n != 1 { // when it was swept
		t.Errorf("%d files are left of the blobs, want 1", n)
	}
}

func TestBlobLinksDoNotAccumulate(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir, nil)
	add(t, db, "s", openmanus.Opened{}, done("1", big("one")), done("2", big("one")), done("3", big("two")))
	if _, err := db.Append(t.Context(), "s", done("1", big("three"))); !errors.Is(err, openmanus.ErrConflict) {
		t.Fatal(err)
	}
	add(t, db, "s", openmanus.CallDone{Call: "4", Whole: put(t, db, "whole")})
	if n := files(t, filepath.Join(dir, "blobs", "held")); n != 0 {
		t.Errorf("%d second names are left", n)
	}
	put(t, db, "no event will refer to it")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if n := files(t, filepath.Join(dir, "blobs", "held")); n != 0 {
		t.Errorf("%d second names are left after the end", n)
	}
}

func TestSweepRemovesUnreferencedBlobs(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir, nil)
	kept := put(t, db, "kept")
	add(t, db, "s", openmanus.Opened{}, openmanus.CallDone{Call: "1", Whole: kept})
	orphan := put(t, db, "orphan")
	if err := db.Close(); err != nil { // before the event came
		t.Fatal(err)
	}
	db = open(t, dir, nil)
	held := filepath.Join(dir, "blobs", "held")
	old := filepath.Join(held, fmt.Sprintf("%d-crashed", time.Now().Add(-25*time.Hour).Unix()))
	young := filepath.Join(held, fmt.Sprintf("%d-busy", time.Now().Unix()))
	strange := filepath.Join(filepath.Dir(file(dir, kept)), ".DS_Store")
	for _, name := range []string{old, young, strange} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n, err := db.Sweep(t.Context())
	if n != 1 || err != nil {
		t.Errorf("sweep removed %d blobs, %v, want 1", n, err)
	}
	if !has(t, db, kept) || has(t, db, orphan) {
		t.Errorf("kept is there: %t, and orphan: %t", has(t, db, kept), has(t, db, orphan))
	}
	for name, want := range map[string]bool{old: false, young: true, strange: true} {
		if _, err := os.Stat(name); (err == nil) != want {
			t.Errorf("%s is there: %t", name, err == nil)
		}
	}
}

func TestDamagedBlobIsAnErrorUntilPutAgain(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir, nil)
	text := big("precious")
	add(t, db, "s", openmanus.Opened{}, done("1", text))
	path := file(dir, openmanus.RefOf([]byte(text)))
	for what, damage := range map[string][]byte{
		"cut":     []byte(text[:100]),
		"flipped": bytes.Replace([]byte(text), []byte("precious"), []byte("Precious"), 1),
		"empty":   nil,
	} {
		if err := os.WriteFile(path, damage, 0o600); err != nil {
			t.Fatal(err)
		}
		var failed error
		for _, err := range db.Events(t.Context(), "s", 1) {
			failed = err
		}
		if failed == nil || !strings.Contains(failed.Error(), path) || !strings.Contains(failed.Error(), "damaged") {
			t.Errorf("%s: the error is %v", what, failed)
		}
		put(t, db, text)
		if !has(t, db, openmanus.RefOf([]byte(text))) {
			t.Errorf("%s: the blob was not mended", what)
		}
	}
}

func TestDigestsThatAreNotBlobsAreIgnored(t *testing.T) {
	db := open(t, t.TempDir(), nil)
	digest := string(openmanus.RefOf([]byte("of some container")))
	add(t, db, "s", openmanus.Opened{}, done("1", "pulled image@"+digest))
	if err := db.Delete(t.Context(), "s"); err != nil {
		t.Error(err)
	}
}

func TestSecretsAreNowhereInTheFiles(t *testing.T) {
	dir := t.TempDir()
	const secret = "correct-horse-battery"
	db := open(t, dir, &store.Options{Secrets: journal.NewSecrets(map[string]string{"k": secret})})
	add(t, db, "s", openmanus.Opened{}, openmanus.Titled{ID: secret, Title: "about " + secret}, done("1", big("x "+secret)), openmanus.UserSaid{ID: "u", Message: llm.Say(llm.User, secret)})
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
