package server

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Files of agents count when the directory is measured, and uploads count at
// once. Links and what they lead to do not count.
func TestDiskIsMeasured(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, n int) {
		t.Helper()
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("else/big", 10_000)
	write("ann/a", 300)
	write("ann/w/b", 200)
	if err := os.Symlink(filepath.Join(dir, "else"), filepath.Join(dir, "ann", "link")); err != nil {
		t.Skip(err)
	}
	all, err := newUsers([]User{{Name: "ann", Token: "ann-0123456789abcdef", Root: filepath.Join(dir, "ann"), Quota: Quota{Disk: 1000}}})
	if err != nil {
		t.Fatal(err)
	}
	s, u := &Server{scheduler: newScheduler(t.Context(), nil, nil)}, all[0]
	s.scheduler.close() // it measures nothing by itself
	now := time.Unix(1_800_000_000, 0)
	room := func() int64 {
		for n := int64(0); ; n += 50 {
			if s.checkDisk(u, n+50, now) != nil {
				return n
			}
		}
	}
	for _, step := range []struct {
		name string
		do   func()
		want int64
	}{
		{"not measured yet", func() {}, 1000},
		{"measured", func() { u.measure(t.Context(), now) }, 500},
		{"an upload", func() { _ = s.addUpload(u, 100, true, now) }, 400},
		{"an attachment", func() { _ = s.addUpload(u, 100, false, now) }, 400},
		{"an agent writes", func() { write("ann/w/c", 250) }, 400},
		{"measured again", func() { u.measure(t.Context(), now) }, 250},
		{"interrupted", func() {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			u.measure(ctx, now)
		}, 250},
	} {
		if step.do(); room() != step.want {
			t.Errorf("%s: there is room for %d bytes, want %d", step.name, room(), step.want)
		}
	}
}

// An hour begins with the first request after the last one, and then everything
// is allowed again.
func TestHours(t *testing.T) {
	all, err := newUsers([]User{{Name: "ann", Token: "ann-0123456789abcdef", Quota: Quota{Upload: 1000}}})
	if err != nil {
		t.Fatal(err)
	}
	s, u := new(Server), all[0]
	began := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		after time.Duration
		bytes int64
		want  string // of the error
	}{
		{0, 1001, "try again in 1h0m0s"},
		{0, 600, ""},
		{time.Minute, 600, "try again in 59m0s"},
		{time.Minute, 400, ""},
		{59 * time.Minute, 1, "try again in 1m0s"},
		{time.Hour, 1000, ""},
		{time.Hour, 1, "try again in 1h0m0s"},
	} {
		err := s.addUpload(u, c.bytes, false, began.Add(c.after))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d bytes after %s: %v, want %q", c.bytes, c.after, err, c.want)
		}
	}
}
