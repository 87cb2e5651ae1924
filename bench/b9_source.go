package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// A source is a model whose replies are pieces that say when they were sent:
// N of them, one every MICROS microseconds, to who asks for "pieces-N-MICROS".
// It thinks before, so that replies are under way when the first piece comes.
type source struct{ url string }

// thinking is how long a source does before it says something.
const thinking = 500 * time.Millisecond

var piecesWanted = regexp.MustCompile(`pieces-(\d+)-(\d+)`)

// listenSource starts a source. It serves until the listener is closed.
func listenSource() (*source, io.Closer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	s := &source{"http://" + l.Addr().String() + "/v1"}
	srv := &http.Server{Handler: s}
	go srv.Serve(l) // returns when it is closed
	return s, srv, nil
}

func (s *source) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	m := piecesWanted.FindSubmatch(body)
	if err == nil && m == nil {
		err = errors.New("how many pieces?")
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n, _ := strconv.Atoi(string(m[1]))
	micros, _ := strconv.Atoi(string(m[2]))
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w).Flush
	select {
	case <-time.After(thinking):
	case <-r.Context().Done():
		return
	}
	beat := time.NewTicker(time.Duration(micros) * time.Microsecond)
	defer beat.Stop()
	for range n {
		select {
		case <-beat.C:
		case <-r.Context().Done():
			return
		}
		fmt.Fprintf(w, `data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"pieces","choices":[{"index":0,"delta":{"content":"@%d;"},"finish_reason":null}]}`+"\n\n", sinceStart())
		if flush() != nil {
			return
		}
	}
	fmt.Fprint(w, `data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"pieces","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

var started = time.Now()

// sinceStart is a clock that nobody sets, in nanoseconds.
func sinceStart() int64 { return int64(time.Since(started)) }
