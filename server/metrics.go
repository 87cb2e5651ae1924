package server

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// metrics count the requests and streams of a server.
type metrics struct {
	started time.Time
	streams atomic.Int64 // open ones

	mu       sync.Mutex
	requests map[int]int64 // by status
	seconds  float64       // the time spent on all requests, without event streams
	within   [len(bounds) + 1]int64
}

// bounds are those of the histogram of how long requests take, in seconds: the defaults of
// Prometheus' own libraries, and more for requests that wait.
var bounds = [...]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60, 300}

// newMetrics returns metrics that count from now on.
func newMetrics() *metrics { return &metrics{started: time.Now(), requests: make(map[int]int64)} }

// count wraps a handler so that its requests are counted, by status and duration. Event
// streams count as requests, but not in the durations.
func (m *metrics) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started, rec := time.Now(), &statusRecorder{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.requests[rec.status]++; w.Header().Get("Content-Type") != "text/event-stream" {
				took := time.Since(started).Seconds()
				m.seconds += took
				i, _ := slices.BinarySearch(bounds[:], took)
				m.within[i]++
			}
		}()
		next.ServeHTTP(rec, r)
	})
}

// A statusRecorder records the status of a response, which a [http.ResponseWriter]
// does not reveal.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter]. A handler that never calls it
// responds with 200.
func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (r *statusRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// count returns how many sessions of these there are.
func (s *Server) count(ctx context.Context, of journal.ListOptions) (n int, err error) {
	for _, err := range s.Store.Sessions(ctx, of) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// serveMetrics responds in the text format of Prometheus: see
// https://prometheus.io/docs/instrumenting/exposition_formats/.
func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	if !userOf(r.Context()).Admin {
		writeProblem(w, http.StatusForbidden, "the metrics are about all users: only an administrator may read them "+
			"(admin = true in [users.NAME])")
		return
	}
	sessions, err := s.count(r.Context(), journal.ListOptions{})
	var used []journal.Used
	if err == nil {
		used, err = s.Store.Used(r.Context(), journal.MeterOptions{})
	}
	if err != nil {
		writeProblem(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	driven, held := s.scheduler.count()
	gauge(w, "openmanus_sessions", "Sessions in the store.", sessions)
	gauge(w, "openmanus_sessions_driven", "Sessions that this server drives.", driven)
	gauge(w, "openmanus_sessions_held", "Sessions that hold resources: shells, browsers, agents.", held)
	gauge(w, "openmanus_streams", "Open event streams.", s.metrics.streams.Load())
	byModel(w, "openmanus_requests", "Replies of the model.", used, func(u journal.Used) any { return u.Requests })
	byModel(w, "openmanus_tokens_input", "Input tokens.", used, func(u journal.Used) any { return u.Usage.Input })
	byModel(w, "openmanus_tokens_cached", "Input tokens that came from a provider's cache.", used, func(u journal.Used) any { return u.Usage.Cached })
	byModel(w, "openmanus_tokens_output", "Output tokens.", used, func(u journal.Used) any { return u.Usage.Output })
	byModel(w, "openmanus_tokens_estimated", "Tokens that were counted here, because the provider reported none.", used,
		func(u journal.Used) any { return u.Usage.Estimated })
	byModel(w, "openmanus_tokens_unpriced", "Tokens whose price is not known.", used, func(u journal.Used) any { return u.Unpriced })
	byModel(w, "openmanus_cost_usd", "Cost, where the price is known.", used, func(u journal.Used) any {
		if usd := openmanus.KnownUSD(u.Cost, u.Unpriced); usd != nil {
			return *usd
		}
		return "NaN"
	})
	s.metrics.write(w)
	gauge(w, "go_goroutines", "Goroutines.", runtime.NumGoroutine())
	gauge(w, "go_memstats_heap_inuse_bytes", "Bytes in in-use heap spans.", mem.HeapInuse)
	gauge(w, "process_start_time_seconds", "Start time in seconds since 1970.", s.metrics.started.Unix())
}

// label escapes the value of a label.
var label = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// byModel writes a metric with a sample for each model, of all sessions in the store.
func byModel(w io.Writer, name, help string, used []journal.Used, of func(journal.Used) any) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %[1]s gauge\n", name, help)
	for _, u := range used {
		fmt.Fprintf(w, "%s{model=\"%s\"} %v\n", name, label.Replace(strings.ToValidUTF8(u.Name, "?")), of(u))
	}
}

// gauge writes a metric that can go up and down.
func gauge(w io.Writer, name, help string, value any) { metric(w, "gauge", name, help, value) }

// metric writes a metric with one sample.
func metric(w io.Writer, kind, name, help string, value any) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %[1]s %[3]s\n%[1]s %[4]v\n", name, help, kind, value)
}

// write writes the counters of requests in the text format of Prometheus.
func (m *metrics) write(w io.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	const requests = "openmanus_http_requests_total"
	fmt.Fprintf(w, "# HELP %s Requests, by status.\n# TYPE %[1]s counter\n", requests)
	for _, status := range slices.Sorted(maps.Keys(m.requests)) {
		fmt.Fprintf(w, "%s{code=\"%d\"} %d\n", requests, status, m.requests[status])
	}
	const took = "openmanus_http_request_duration_seconds"
	fmt.Fprintf(w, "# HELP %s How long requests took, without event streams.\n# TYPE %[1]s histogram\n", took)
	sum := int64(0)
	for i, n := range m.within {
		bound := "+Inf"
		if sum += n; i < len(bounds) {
			bound = strconv.FormatFloat(bounds[i], 'g', -1, 64)
		}
		fmt.Fprintf(w, "%s_bucket{le=\"%s\"} %d\n", took, bound, sum)
	}
	fmt.Fprintf(w, "%s_sum %v\n%[1]s_count %[3]d\n", took, m.seconds, sum)
}
