package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/workspace"
)

// A fileServer serves one file, and breaks the connection as the test says.
type fileServer struct {
	mu      sync.Mutex
	body    string
	etag    string
	date    string
	breaks  []int // after how many bytes of the file each answer breaks off; the last one is repeated, and less than 0 is never
	plain   bool  // it does not know ranges
	asked   []string
	answers int
}

func (f *fileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, strings.TrimSpace(r.Header.Get("Range")+" "+r.Header.Get("If-Range")))
	stop := -1
	if len(f.breaks) > 0 {
		stop = f.breaks[min(f.answers, len(f.breaks)-1)]
	}
	f.answers++
	from := 0
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	for k, v := range map[string]string{"ETag": f.etag, "Last-Modified": f.date} {
		if v != "" {
			w.Header().Set(k, v)
		}
	}
	status := http.StatusOK
	if ifRange := r.Header.Get("If-Range"); !f.plain && ifRange != "" && (ifRange == f.etag || ifRange == f.date) {
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil {
			if from >= len(f.body) {
				w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", len(f.body)))
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
				return
			}
			status = http.StatusPartialContent
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(f.body)-1, len(f.body)))
		}
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(f.body)-from))
	w.WriteHeader(status)
	if stop >= from && stop < len(f.body) {
		io.WriteString(w, f.body[from:stop])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	io.WriteString(w, f.body[from:])
}

// A saving is a workspace to which files are saved from one server.
type saving struct {
	*fileServer
	url string
	ws  *workspace.Dir
	d   *Downloads
	r   *Reader
}

func newSaving(t *testing.T, f *fileServer) *saving {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	ws, err := workspace.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	return &saving{f, s.URL + "/x.csv", ws, &Downloads{Files: ws, Dir: ws.Dir(), Partial: t.TempDir()}, &Reader{Client: s.Client()}}
}

func (s *saving) fetch(t *testing.T, args map[string]any) (openmanus.Result, error) {
	t.Helper()
	args["url"] = s.url
	return call(t, NewFetch(s.r, s.d), new(journal.Memory), nil, args)
}

// left returns what is in a directory, without the endings of names.
func left(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestSave(t *testing.T) {
	s := newSaving(t, &fileServer{body: "a,b\n1,2\n", etag: `"1"`})
	sum := sha256.Sum256([]byte(s.body))
	want := "Saved to data/x.csv: 8 bytes, text/csv, sha256 " + hex.EncodeToString(sum[:])
	for _, change := range []string{"created", "modified"} {
		res, err := s.fetch(t, map[string]any{"save_to": "data/x.csv"})
		if err != nil || text(res) != want || res.Detail.(*Download).Change != change {
			t.Errorf("%v, %v, want %s", text(res), err, want)
		}
		if len(res.Sources) != 1 || res.Sources[0].From != s.url || res.Sources[0].Trusted || res.Source != s.url {
			t.Errorf("the sources are %+v", res.Sources)
		}
	}
	got, err := os.ReadFile(filepath.Join(s.ws.Dir(), "data", "x.csv"))
	if err != nil || string(got) != s.body || left(t, s.d.Partial) != 0 {
		t.Errorf("%q, %v, and %d files are left", got, err, left(t, s.d.Partial))
	}
}

// An interrupted download goes on where it broke off, in the same call and in a later
// one, if the file is still the same.
func TestSaveGoesOn(t *testing.T) {
	body := strings.Repeat("0123456789", 1000)
	for _, tt := range []struct {
		name  string
		f     *fileServer
		calls int // the last of which succeeds
		asked string
	}{
		{"in one call", &fileServer{body: body, etag: `"1"`, breaks: []int{4000, 8000, -1}}, 1, `, bytes=4000- "1", bytes=8000- "1"`},
		{"in a later call", &fileServer{body: body, etag: `"1"`, breaks: []int{4000, 4000, -1}}, 2, `, bytes=4000- "1", bytes=4000- "1"`},
		{"by its date", &fileServer{body: body, etag: `W/"1"`, date: "Mon, 02 Jan 2006 15:04:05 GMT", breaks: []int{4000, -1}}, 1,
			`, bytes=4000- Mon, 02 Jan 2006 15:04:05 GMT`},
		{"not without a validator", &fileServer{body: body, breaks: []int{4000, -1}}, 2, `, `},
		{"not where ranges are unknown", &fileServer{body: body, etag: `"1"`, plain: true, breaks: []int{4000, -1}}, 1, `, bytes=4000- "1"`},
		{"all of it is there", &fileServer{body: body, etag: `"1"`, breaks: []int{0, -1}}, 2, `, `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSaving(t, tt.f)
			for n := 1; ; n++ {
				s.d = &Downloads{Files: s.ws, Dir: s.ws.Dir(), Partial: s.d.Partial} // as in another process
				_, err := s.fetch(t, map[string]any{"save_to": "x.csv"})
				if (err == nil) != (n == tt.calls) {
					t.Fatalf("call %d: %v", n, err)
				}
				if err == nil {
					break
				}
				if !strings.Contains(err.Error(), "broke off after") {
					t.Errorf("call %d: %v", n, err)
				}
				if left(t, s.ws.Dir()) != 0 {
					t.Errorf("call %d left something in the workspace", n)
				}
			}
			got, err := os.ReadFile(filepath.Join(s.ws.Dir(), "x.csv"))
			if err != nil || string(got) != body || left(t, s.d.Partial) != 0 {
				t.Errorf("%d bytes, %v, and %d files are left", len(got), err, left(t, s.d.Partial))
			}
			if asked := strings.Join(s.asked, ", "); asked != tt.asked {
				t.Errorf("asked for %s, want %s", asked, tt.asked)
			}
		})
	}
}

// A file that has changed since is received anew.
func TestSaveAfterAChange(t *testing.T) {
	s := newSaving(t, &fileServer{body: strings.Repeat("x", 5000), etag: `"1"`, breaks: []int{3000, 3000, -1}})
	if _, err := s.fetch(t, map[string]any{"save_to": "x.csv"}); err == nil {
		t.Fatal("it did not break off")
	}
	s.body, s.etag = "new", `"2"`
	if _, err := s.fetch(t, map[string]any{"save_to": "x.csv"}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(s.ws.Dir(), "x.csv"))
	if err != nil || string(got) != "new" || left(t, s.d.Partial) != 0 {
		t.Errorf("%q, %v, and %d files are left", got, err, left(t, s.d.Partial))
	}
}

func TestSaveIsRefused(t *testing.T) {
	s := newSaving(t, &fileServer{body: strings.Repeat("x", 5<<20), etag: `"1"`})
	if err := os.Mkdir(filepath.Join(s.ws.Dir(), "dir"), 0o777); err != nil {
		t.Fatal(err)
	}
	s.d.MaxBytes = 2 << 20
	for _, tt := range []struct {
		name string
		args map[string]any
		want string
	}{
		{"too large", map[string]any{"save_to": "x"}, "is larger than 2 MB, which is the limit for a file: [web] max_download sets another"},
		{"a directory", map[string]any{"save_to": "dir"}, "dir is a directory: name a file in it"},
		{"outside", map[string]any{"save_to": "../x"}, "is outside the workspace"},
		{"with an offset", map[string]any{"save_to": "x", "offset": 5}, "save_to saves a file as it is"},
		{"with links", map[string]any{"save_to": "x", "links": true}, "save_to saves a file as it is"},
	} {
		if _, err := s.fetch(t, tt.args); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if left(t, s.ws.Dir()) != 1 || left(t, s.d.Partial) != 0 {
		t.Error("something is left")
	}
	if _, err := call(t, NewFetch(s.r, nil), new(journal.Memory), nil, map[string]any{"url": s.url, "save_to": "x"}); err == nil {
		t.Error("without a workspace it saves")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.r.save(ctx, s.d, s.url, "x", nil); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
}

// A call that saves changes the workspace; one that reads changes nothing.
func TestHintsOfFetch(t *testing.T) {
	tool := NewFetch(&Reader{}, nil).(openmanus.CallHinter)
	for input, want := range map[string]openmanus.Hints{
		`{"url":"a"}`:                 readsOnly,
		`{"url":"a","save_to":""}`:    readsOnly,
		`{"url":"a","save_to":"x"}`:   {Edits: true, Destructive: true, Idempotent: true},
		`{"url":"a","save_to":["x"]}`: {Edits: true, Destructive: true, Idempotent: true},
	} {
		c := openmanus.Call{}
		c.Input = input
		if got := tool.Hints(c); got != want {
			t.Errorf("%s: %+v", input, got)
		}
	}
}

// A long page is read on where it was cut, also if the site has changed it since.
func TestFetchGoesOn(t *testing.T) {
	var page strings.Builder
	for i := range 8000 {
		fmt.Fprintf(&page, "line %d\n", i)
	}
	n := 0
	url, r := local(t, map[string]http.HandlerFunc{"/a": func(w http.ResponseWriter, q *http.Request) {
		n++
		sends("text/plain", page.String()+strings.Repeat("changed\n", n-1))(w, q)
	}})
	blobs, tool := new(journal.Memory), NewFetch(r, nil)
	var got strings.Builder
	var last any
	args := map[string]any{"url": url + "/a"}
	for {
		res, err := call(t, tool, blobs, last, args)
		if err != nil || !res.Reading || len(text(res)) > 41_000 {
			t.Fatalf("%v, %d bytes", err, len(text(res)))
		}
		body, rest, more := strings.Cut(text(res), "\n\n(bytes ")
		if _, after, headed := strings.Cut(body, "/a\n\n"); headed {
			body = after
		}
		got.WriteString(strings.TrimRight(body, "\n") + "\n")
		var from, to, of, offset int
		if _, err := fmt.Sscanf(rest, "%d to %d of %d; offset %d goes on)", &from, &to, &of, &offset); !more || err != nil {
			break
		}
		last, args = res.Detail, map[string]any{"url": url + "/a", "offset": offset}
	}
	if got.String() != page.String() || n != 1 {
		t.Errorf("%d of %d bytes were read, in %d requests", got.Len(), page.Len(), n)
	}
	if _, err := call(t, tool, blobs, nil, map[string]any{"url": url + "/a", "offset": 1 << 20}); err == nil || !strings.Contains(err.Error(), "beyond the end") {
		t.Errorf("%v", err)
	}
}

// FuzzContentRange: a header of a hostile server gives numbers that make sense, or none.
func FuzzContentRange(f *testing.F) {
	f.Add("bytes 5-9/10")
	f.Add("bytes */10")
	f.Add("bytes 0-/*")
	f.Fuzz(func(t *testing.T, h string) {
		if from, total, ok := contentRange(h); ok && (from < -1 || total < -1) {
			t.Errorf("%q: %d of %d", h, from, total)
		}
	})
}
