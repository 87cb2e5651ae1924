package server

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// metrics are what can be counted of a server.
type metrics struct {
	began   time.Time
	streams atomic.Int64

	mu       sync.Mutex
	requests map[int]int64 // by status
	seconds  float64       // of all of them, but for streams
}

func newMetrics() *metrics { return &metrics{began: time.Now(), requests: make(map[int]int64)} }

// count counts requests by the status of their answers.
func (m *metrics) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, c := time.Now(), &counted{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.requests[c.status]++; w.Header().Get("Content-Type") != "text/event-stream" {
				m.seconds += time.Since(began).Seconds()
			}
		}()
		next.ServeHTTP(c, r)
	})
}

// counted remembers the status of an answer.
type counted struct {
	http.ResponseWriter
	status int
}

func (c *counted) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// serveMetrics answers in the text format of Prometheus: see
// https://prometheus.io/docs/instrumenting/exposition_formats/.
func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	var sessions int
	var usage llm.Usage
	var cost openmanus.Money
	for info, err := range s.Store.Sessions(r.Context(), journal.ListOptions{}) {
		if err != nil {
			writeProblem(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		sessions++
		usage, cost = usage.Add(info.Usage), cost+info.Cost
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	gauge(w, "openmanus_sessions", "Sessions that are kept.", sessions)
	driven, held := s.scheduler.count()
	gauge(w, "openmanus_sessions_driven", "Sessions that are at work, here.", driven)
	gauge(w, "openmanus_sessions_held", "Sessions for which something is kept: shells, browsers, agents.", held)
	gauge(w, "openmanus_streams", "Clients that follow a session.", s.metrics.streams.Load())
	gauge(w, "openmanus_tokens_input", "Tokens that models read, in the sessions that are kept.", usage.Input)
	gauge(w, "openmanus_tokens_cached", "Those of them that came from the provider's cache.", usage.Cached)
	gauge(w, "openmanus_tokens_output", "Tokens that models wrote.", usage.Output)
	gauge(w, "openmanus_cost_usd", "What that cost, where prices are known.", cost.USD())
	s.metrics.write(w)
	gauge(w, "go_goroutines", "Goroutines.", runtime.NumGoroutine())
	gauge(w, "go_memstats_heap_inuse_bytes", "Bytes of the heap in use.", mem.HeapInuse)
	gauge(w, "process_start_time_seconds", "When the process began, in seconds since 1970.", s.metrics.began.Unix())
}

func gauge(w io.Writer, name, help string, value any) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %[1]s gauge\n%[1]s %[3]v\n", name, help, value)
}

func (m *metrics) write(w io.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fmt.Fprint(w, "# HELP openmanus_http_requests_total Requests, by the status of the answer.\n# TYPE openmanus_http_requests_total counter\n")
	for status, n := range m.requests {
		fmt.Fprintf(w, "openmanus_http_requests_total{code=\"%d\"} %d\n", status, n)
	}
	fmt.Fprintf(w, "# HELP openmanus_http_seconds_total Time spent on them, but for streams.\n# TYPE openmanus_http_seconds_total counter\nopenmanus_http_seconds_total %g\n", m.seconds)
}
