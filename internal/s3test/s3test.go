// Package s3test has object stores for tests: good ones, and ones that fail.
package s3test

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// A Server is an object store of a test, with the bucket "blobs", in memory.
type Server struct {
	URL     string // of the bucket, with keys
	Failed  atomic.Int64
	Objects *s3mem.Backend
	Behind  atomic.Int64 // by how many nanoseconds its clock is behind

	mu     sync.Mutex
	random *rand.Rand
	share  float64
}

// Start starts an object store, which ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := new(Server)
	s.Objects = s3mem.New(s3mem.WithTimeSource(clock{s}))
	if err := s.Objects.CreateBucket("blobs"); err != nil {
		t.Fatal(err)
	}
	h := gofakes3.New(s.Objects, gofakes3.WithLogger(gofakes3.DiscardLog()), gofakes3.WithTimeSkewLimit(0)).Server()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, h) }))
	t.Cleanup(srv.Close)
	s.URL = "s3://key:secret@blobs?endpoint=" + srv.URL
	return s
}

// A clock is that of a server.
type clock struct{ s *Server }

// Now implements [gofakes3.TimeSource].
func (c clock) Now() time.Time { return time.Now().Add(-time.Duration(c.s.Behind.Load())) }

// Since implements [gofakes3.TimeSource].
func (c clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Fail lets a share of the requests fail from now on, 0 to 1, in turn with an error 500 or
// 503, without an answer until the client gives up, or with a body that is cut: the
// request's or the answer's.
func (s *Server) Fail(share float64, seed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.share, s.random = share, rand.New(rand.NewPCG(seed, seed))
}

// fault returns how a request fails, or -1.
func (s *Server) fault() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.random == nil || s.random.Float64() >= s.share {
		return -1
	}
	s.Failed.Add(1)
	return s.random.IntN(6)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, h http.Handler) {
	switch s.fault() {
	case 0:
		http.Error(w, "broken", http.StatusInternalServerError)
	case 1:
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "<Error><Code>SlowDown</Code></Error>")
	case 2: // nothing happens
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	case 3: // it happens, and nobody hears of it
		h.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case 4: // the object store gets a part of the body
		r.Body = io.NopCloser(io.LimitReader(r.Body, r.ContentLength/2))
		h.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case 5: // the client gets a part of the answer
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		for name, values := range rec.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(rec.Code)
		body := rec.Body.Bytes()
		w.Write(body[:len(body)/2])
		panic(http.ErrAbortHandler)
	default:
		h.ServeHTTP(w, r)
	}
}

// Names returns the names of the objects in the bucket, without the folders before them.
func (s *Server) Names(t testing.TB) (names []string) {
	t.Helper()
	list, err := s.Objects.ListBucket("blobs", nil, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Contents {
		names = append(names, o.Key[strings.LastIndexByte(o.Key, '/')+1:])
	}
	return names
}

// Damage changes a byte in each object.
func (s *Server) Damage(t testing.TB) {
	t.Helper()
	list, err := s.Objects.ListBucket("blobs", nil, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list.Contents {
		o, err := s.Objects.GetObject("blobs", c.Key, nil)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(o.Contents)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)-1] ^= 1
		if _, err := s.Objects.PutObject("blobs", c.Key, map[string]string{}, strings.NewReader(string(data)), int64(len(data)), nil); err != nil {
			t.Fatal(err)
		}
	}
}
