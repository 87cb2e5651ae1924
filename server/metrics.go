package server

import (
	"fmt"
	"net/http"
	"sync/atomic"
)

// metrics are what can be counted of a server.
type metrics struct {
	streams atomic.Int64
}

func newMetrics() *metrics { return new(metrics) }

// serve answers in the text format of Prometheus.
func (m *metrics) serve(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	fmt.Fprintf(w, "# HELP openmanus_streams Clients that follow a session.\n# TYPE openmanus_streams gauge\nopenmanus_streams %d\n", m.streams.Load())
}
