package s3_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/internal/s3test"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/store/s3"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func open(t *testing.T, url string, o s3.Options) *s3.Bucket {
	t.Helper()
	b, err := s3.Open(t.Context(), url, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// name returns a name for an object with the content data.
func name(data []byte, n int) string { return fmt.Sprintf("%x-%d", sha256.Sum256(data), n) }

var keyA, keyB = base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("a"), 32)), base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("b"), 32))

// Content that was put can be read, with and without a key and a cache, from
// any process.
func TestObjects(t *testing.T) {
	for _, o := range []s3.Options{{}, {Key: keyA}, {Cache: t.TempDir()}, {Key: keyA, Cache: t.TempDir()}} {
		s := s3test.Start(t)
		url := strings.Replace(s.URL, "blobs?", "blobs/some/folder?", 1)
		b, other := open(t, url, o), open(t, url, s3.Options{Key: o.Key})
		for i, data := range [][]byte{{0}, []byte("secret words"), bytes.Repeat([]byte("0123456789"), 1<<19)} {
			n := name(data, i)
			if err := b.Put(t.Context(), n, data); err != nil {
				t.Fatal(err)
			}
			for _, b := range []*s3.Bucket{b, other, b} {
				if got, err := b.Get(t.Context(), n); err != nil || !bytes.Equal(got, data) {
					t.Errorf("%+v: %d bytes: got %d, %v", o, len(data), len(got), err)
				}
			}
		}
		data := []byte("secret words")
		stored, err := s.Objects.GetObject("blobs", "some/folder/"+name(data, 1)[:2]+"/"+name(data, 1), nil)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := io.ReadAll(stored.Contents)
		if bytes.Contains(raw, data) != (o.Key == "") {
			t.Errorf("with the key %q the object store has %q", o.Key, raw)
		}
		if err := errors.Join(b.Remove(t.Context(), name(data, 1)), b.Remove(t.Context(), name(data, 1))); err != nil {
			t.Errorf("remove twice: %v", err)
		}
		if got, err := b.Get(t.Context(), name(data, 1)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("removed, and still %q, %v", got, err)
		}
	}
}

// Content that differs from what was put is never returned.
func TestDamaged(t *testing.T) {
	for _, o := range []s3.Options{{}, {Key: keyA}} {
		s := s3test.Start(t)
		b, data := open(t, s.URL, o), []byte("some words")
		if err := b.Put(t.Context(), name(data, 1), data); err != nil {
			t.Fatal(err)
		}
		s.Damage(t)
		if got, err := b.Get(t.Context(), name(data, 1)); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%+v: %q, %v", o, got, err)
		}
		if err := b.Put(t.Context(), name(data, 2), []byte("other words")); err == nil {
			t.Error("an object with another hash than its name was put")
		}
	}
}

// A damaged file in the cache is read anew, the cache keeps to its size, and has nothing
// in the clear that is encrypted in the bucket.
func TestCache(t *testing.T) {
	s, dir := s3test.Start(t), t.TempDir()
	b := open(t, s.URL, s3.Options{Cache: dir, CacheSize: 1 << 20, Key: keyA})
	var last []byte
	for i := range 64 {
		last = bytes.Repeat([]byte{byte(i), 'x'}, 20<<10)
		if err := b.Put(t.Context(), name(last, i), last); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(files)*(40<<10) > 1<<20 {
			t.Fatalf("%d files of 40 KiB in a cache of 1 MiB, %v", len(files), err)
		}
	}
	file := filepath.Join(dir, name(last, 63))
	kept, err := os.ReadFile(file)
	if err != nil || bytes.Contains(kept, last[:100]) {
		t.Fatalf("the cache has it in the clear, or not: %v", err)
	}
	if err := os.WriteFile(file, kept[:1000], 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Get(t.Context(), name(last, 63)); err != nil || !bytes.Equal(got, last) {
		t.Errorf("with a damaged cache: %d bytes, %v", len(got), err)
	}
	if err := s.Objects.ForceDeleteBucket("blobs"); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Get(t.Context(), name(last, 63)); err != nil || !bytes.Equal(got, last) {
		t.Errorf("what was read is in the cache: %d bytes, %v", len(got), err)
	}
}

// An object store that fails now and then is asked again.
func TestFaults(t *testing.T) {
	s := s3test.Start(t)
	b := open(t, s.URL, s3.Options{Try: 200 * time.Millisecond})
	s.Fail(0.3, 1)
	for i := range 20 {
		data := []byte(strings.Repeat(fmt.Sprint("words ", i, " "), 1000))
		if err := b.Put(t.Context(), name(data, i), data); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Get(t.Context(), name(data, i)); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
	if s.Failed.Load() == 0 {
		t.Error("nothing failed")
	}
	s.Fail(1, 1)
	data := []byte("never")
	soon := open2(t, s, s3.Options{Try: 50 * time.Millisecond, Patience: 300 * time.Millisecond})
	if err := soon.Put(t.Context(), name(data, 1), data); err == nil || !strings.Contains(err.Error(), "s3://blobs at 127.0.0.1") {
		t.Errorf("put where everything fails: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Put(ctx, name(data, 1), data); !errors.Is(err, context.Canceled) {
		t.Errorf("put when it is over: %v", err)
	}
}

// open2 opens a bucket while the object store works.
func open2(t *testing.T, s *s3test.Server, o s3.Options) *s3.Bucket {
	t.Helper()
	s.Fail(0, 1)
	defer s.Fail(1, 1)
	return open(t, s.URL, o)
}

// Each error says in a sentence what is wrong, and has no secrets.
func TestRefuses(t *testing.T) {
	s := s3test.Start(t)
	if err := s.Objects.CreateBucket("mine"); err != nil {
		t.Fatal(err)
	}
	endpoint := s.URL[strings.Index(s.URL, "?"):]
	for _, c := range []struct {
		url, key, want string
	}{
		{s.URL, "short", "the key of the blobs: it has to be 32 bytes in base64"},
		{"s3://me:hidden@missing" + endpoint, "", "there is no such bucket"},
		{"s3://me:hidden@" + endpoint, "", "it has to be like s3://BUCKET"},
		{"https://me:hidden@example.org", "", "it has to be like s3://BUCKET"},
		{"s3://me:hidden@mine?endpoint=example.org", "", "has to be like https://objects.example.org"},
		{"s3://me:hidden@mine" + endpoint + "&colour=red", "", `it has the parameter "colour"`},
		{"s3://me:hidden@mine?endpoint=http://127.0.0.1:1", "", "127.0.0.1:1"},
	} {
		b, err := s3.Open(t.Context(), c.url, &s3.Options{Key: c.key, Patience: time.Millisecond})
		if err == nil {
			b.Close()
			t.Errorf("%s was opened", c.url)
		} else if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", c.url, err, c.want)
		}
	}
	data := []byte("words")
	if err := open(t, s.URL, s3.Options{Key: keyA}).Put(t.Context(), name(data, 1), data); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"": "[blobs] has no key", keyB: "with another key"} {
		if got, err := open(t, s.URL, s3.Options{Key: key}).Get(t.Context(), name(data, 1)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with the key %q: %q, %v, want %q", key, got, err, want)
		}
	}
}
