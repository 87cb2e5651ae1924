package server

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"time"
)

// A Record is one request.
type Record struct {
	In     time.Time // when its last byte had arrived
	Out    time.Time // when the last bytes of the answer left; zero if none did
	Size   int       // bytes of the body
	Model  string
	Step   int  // the tool results in it
	Stream bool // the answer is a stream
	Last   bool // it is answered by a text, which ends the conversation
	Conn   int  // the number of the connection, from 1

	Summary bool // it asks for a summary of the conversation, as the product does before it cuts
}

// A Run is what was recorded between Begin and End.
type Run struct {
	Records []Record

	mu      sync.Mutex
	conns   []*conn // of Records
	patches []patch // of Records
	last    []byte  // the body of the last record
	spare   []byte
}

// A patch makes a body from the one before it: the first Keep bytes of that,
// then New.
type patch struct {
	Keep int
	New  []byte
}

// buffer returns a buffer of n bytes, the spare one if it is large enough.
func (r *Run) buffer(n int) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	buf := r.spare
	r.spare = nil
	if cap(buf) < n {
		buf = make([]byte, n, 2*n)
	}
	return buf[:n]
}

// add takes over body.
func (r *Run) add(rec Record, c *conn, body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle()
	keep := CommonPrefix(r.last, body)
	r.Records = append(r.Records, rec)
	r.conns = append(r.conns, c)
	r.patches = append(r.patches, patch{keep, bytes.Clone(body[keep:])})
	r.last, r.spare = body, r.last
}

// settle notes when the answer to the last record left: with the last write to
// its connection so far.
func (r *Run) settle() {
	if n := len(r.Records); n > 0 {
		if t := r.conns[n-1].wrote.Load(); t != nil && t.After(r.Records[n-1].In) {
			r.Records[n-1].Out = *t
		}
	}
}

// close settles the last record and releases what only further ones need.
func (r *Run) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle()
	r.conns, r.last, r.spare = nil, nil, nil
}

// Check reports whether exactly n requests arrived, all of them were
// answered, and the last one ended the conversation.
func (r *Run) Check(n int) error {
	if len(r.Records) != n {
		return fmt.Errorf("%d requests arrived at the model server, not %d", len(r.Records), n)
	}
	for i, rec := range r.Records {
		if rec.Out.IsZero() {
			return fmt.Errorf("request %d was not answered", i+1)
		}
	}
	if n > 0 && !r.Records[n-1].Last {
		return fmt.Errorf("the last request was not the end of the conversation")
	}
	return nil
}

// Gaps returns what the client needed from each answer to the next request:
// from the last byte out to the last byte in. There is one fewer than there
// are records; an answer that did not leave makes no gap.
func (r *Run) Gaps() []time.Duration {
	var gaps []time.Duration
	for i := 1; i < len(r.Records); i++ {
		if out := r.Records[i-1].Out; !out.IsZero() {
			gaps = append(gaps, r.Records[i].In.Sub(out))
		}
	}
	return gaps
}

// Conns is the number of connections that the requests came by.
func (r *Run) Conns() int {
	var ids []int
	for _, rec := range r.Records {
		ids = append(ids, rec.Conn)
	}
	slices.Sort(ids)
	return len(slices.Compact(ids))
}

// Bodies yields the body of every record. A body is valid until the next one.
func (r *Run) Bodies() iter.Seq[[]byte] { return bodies(r.patches) }

func bodies(patches []patch) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var buf []byte
		for _, p := range patches {
			buf = append(buf[:p.Keep], p.New...)
			if !yield(buf) {
				return
			}
		}
	}
}

// SameBodies reports whether two runs posted the same bytes.
func SameBodies(a, b *Run) bool {
	return slices.EqualFunc(a.patches, b.patches, func(p, q patch) bool {
		return p.Keep == q.Keep && bytes.Equal(p.New, q.New)
	})
}

// Save writes the bodies for [Load], each as what is new in it.
func (r *Run) Save(w io.Writer) error { return gob.NewEncoder(w).Encode(r.patches) }

// Load reads what Save wrote and returns the bodies. They are made in one
// buffer, so that a client that posts them need not hold them all.
func Load(rd io.Reader) (iter.Seq[[]byte], error) {
	var patches []patch
	if err := gob.NewDecoder(rd).Decode(&patches); err != nil {
		return nil, fmt.Errorf("recorded bodies: %w", err)
	}
	keep := 0
	for i, p := range patches {
		if p.Keep < 0 || p.Keep > keep {
			return nil, fmt.Errorf("recorded bodies: number %d keeps %d bytes of %d", i+1, p.Keep, keep)
		}
		keep = p.Keep + len(p.New)
	}
	return bodies(patches), nil
}

// CommonPrefix returns how many bytes at the beginning of a and b are equal.
func CommonPrefix(a, b []byte) int {
	const block = 4096
	n, end := 0, min(len(a), len(b))
	for n+block <= end && bytes.Equal(a[n:n+block], b[n:n+block]) {
		n += block
	}
	for n < end && a[n] == b[n] {
		n++
	}
	return n
}
