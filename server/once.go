package server

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// keyHeader is the header by which a client says that a request is the same one as before:
// draft-ietf-httpapi-idempotency-key-header.
const keyHeader = "Idempotency-Key"

const (
	// maxKey is the most bytes of a key.
	maxKey = 255

	// answersFor is how long an answer is kept for requests that are made again.
	answersFor = 24 * time.Hour

	// maxAnswers is the most answers that are kept, and maxAnswerBytes the most bytes of all.
	maxAnswers     = 4096
	maxAnswerBytes = 16 << 20
)

// answers are the answers to requests with a key, by user, request and key. The zero value
// has none. It is safe for concurrent use.
type answers struct {
	mu    sync.Mutex
	all   map[string]*answer
	order []*answer // the oldest first
	bytes int
}

// An answer is what a request was answered. Its fields but done are set before done is
// closed.
type answer struct {
	id   string
	at   time.Time
	done chan struct{}

	kept   bool // false: the request failed, so that it may be made again
	sum    [sha256.Size]byte
	status int
	header http.Header
	body   []byte
}

// begin returns the answer to a request, and whether the caller is the one to give it. It
// also drops answers that are too old, or too many to keep.
func (as *answers) begin(id string, now time.Time) (a *answer, first bool) {
	as.mu.Lock()
	defer as.mu.Unlock()
	for len(as.order) > 0 && (now.Sub(as.order[0].at) > answersFor || len(as.order) > maxAnswers || as.bytes > maxAnswerBytes) {
		as.drop(as.order[0])
	}
	if a := as.all[id]; a != nil {
		return a, false
	}
	if as.all == nil {
		as.all = make(map[string]*answer)
	}
	a = &answer{id: id, at: now, done: make(chan struct{})}
	as.all[id] = a
	return a, true
}

// end gives an answer to the requests that wait for it, and keeps it if it was a success.
// A failure is not kept, so that the client can try again with the same key.
func (as *answers) end(a *answer) {
	as.mu.Lock()
	defer as.mu.Unlock()
	if a.kept {
		as.order = append(as.order, a)
		as.bytes += len(a.body)
	} else {
		delete(as.all, a.id)
	}
	close(a.done)
}

// drop forgets the oldest answer. The caller holds as.mu.
func (as *answers) drop(a *answer) {
	as.order = as.order[1:]
	as.bytes -= len(a.body)
	delete(as.all, a.id)
}

// once returns a handler that carries out a request that changes something once, if it has
// an Idempotency-Key: made again, it gets the answer of the first time. A request that
// failed is carried out again.
func (s *Server) once(next http.Handler) http.Handler {
	kept := new(answers)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get(keyHeader)
		if key == "" || !takesKey(r.Method, r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		if len(key) > maxKey {
			writeProblem(w, http.StatusUnprocessableEntity, keyHeader+": it has more than 255 bytes")
			return
		}
		id := strings.Join([]string{userOf(r.Context()).Name, r.Method, r.URL.RequestURI(), key}, "\x00")
		for {
			a, first := kept.begin(id, time.Now())
			if first {
				kept.first(a, next, w, r)
				return
			}
			select {
			case <-a.done:
			case <-r.Context().Done():
				return
			}
			if a.kept {
				a.again(w, r)
				return
			}
		}
	})
}

// takesKey reports whether a request may have an Idempotency-Key. AG-UI names its runs
// itself, and streams.
func takesKey(method, path string) bool {
	return (method == http.MethodPost || method == http.MethodPatch) && strings.HasPrefix(path, "/api/v1/") && path != "/api/v1/agui"
}

// first carries out a request and keeps its answer, with a hash of the request's body.
// Only successes of limited size are kept.
func (as *answers) first(a *answer, next http.Handler, w http.ResponseWriter, r *http.Request) {
	defer as.end(a) // also if the handler panics
	sum := sha256.New()
	r.Body = hashed{r.Body, sum}
	rec := &recording{statusRecorder: statusRecorder{w, http.StatusOK}}
	next.ServeHTTP(rec, r)
	if rec.status < 200 || rec.status > 299 {
		return
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil { // what the handler left
		return
	}
	a.status, a.header, a.body = rec.status, w.Header().Clone(), rec.body.Bytes()
	a.sum, a.kept = [sha256.Size]byte(sum.Sum(nil)), true
}

// again answers a request as the first time, if it has the same body. Another body with
// the same key is a conflict.
func (a *answer) again(w http.ResponseWriter, r *http.Request) {
	sum := sha256.New()
	if _, err := io.Copy(sum, r.Body); err != nil {
		writeProblem(w, http.StatusBadRequest, "the body cannot be read: "+err.Error())
		return
	}
	if [sha256.Size]byte(sum.Sum(nil)) != a.sum {
		writeProblem(w, http.StatusConflict, keyHeader+": another request has had this key; take a new one for this")
		return
	}
	for _, name := range []string{"Content-Type", "Location", "Link"} {
		if v := a.header.Values(name); len(v) > 0 {
			w.Header()[name] = v
		}
	}
	w.Header().Set("Idempotent-Replayed", "true")
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // the client has gone
}

// hashed is a body whose bytes are hashed as they are read.
type hashed struct {
	io.ReadCloser
	sum hash.Hash
}

func (h hashed) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	h.sum.Write(p[:n])
	return n, err
}

// recording is a response that is kept while it is written.
type recording struct {
	statusRecorder
	body bytes.Buffer
}

// Write implements [http.ResponseWriter].
func (r *recording) Write(p []byte) (int, error) {
	r.body.Write(p)
	return r.ResponseWriter.Write(p)
}

// describeKey says of an operation that it takes an Idempotency-Key.
func describeKey(method string, op *huma.Operation) {
	if !takesKey(method, op.Path) {
		return
	}
	longest := maxKey
	op.Parameters = append(op.Parameters, &huma.Param{
		Name: keyHeader, In: "header",
		Description: "Names this request. Made again with the same key and body within a day, it is not carried out again and gets the same response; with another body, the response is 409.",
		Schema:      &huma.Schema{Type: huma.TypeString, MaxLength: &longest},
	})
}
