package server

import (
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// logged wraps a handler so that each request is a line of the log when it ends, with
// the session that it is about. A line has neither the query nor the headers of the
// request, where tokens may stand. Probes are logged for debugging alone.
func (s *Server) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started, rec := time.Now(), &statusRecorder{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			level := slog.LevelInfo
			switch r.URL.Path {
			case "/healthz", "/readyz", "/metrics":
				level = slog.LevelDebug
			}
			about := []slog.Attr{
				slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", rec.status),
				slog.Duration("took", time.Since(started).Round(time.Millisecond)),
			}
			if id := sessionIn(r.URL.Path); id != "" {
				about = append(about, slog.String("session", id))
			}
			s.Log.LogAttrs(r.Context(), level, "request", about...)
		}()
		next.ServeHTTP(rec, r)
	})
}

// sessionIn returns the id of the session that a path of the API is about, or "".
func sessionIn(path string) string {
	rest, ok := strings.CutPrefix(path, "/api/v1/sessions/")
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, "/")
	return id
}
