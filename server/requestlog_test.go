package server

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestRequestsAreLogged(t *testing.T) {
	var log bytes.Buffer
	s := &Server{Options: Options{Log: slog.New(slog.NewTextHandler(&log, nil))}}
	h := s.logged(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	for path, want := range map[string]string{
		"/?token=very-secret":                          "msg=request method=GET path=/ status=200 took=",
		"/api/v1/sessions/20261122-x/files/a%0ab?at=1": `path="/api/v1/sessions/20261122-x/files/a\nb" status=404`,
		"/api/v1/sessions/20261122-y":                  "session=20261122-y",
		"/api/v1/sessions":                             "path=/api/v1/sessions status=404",
		"/healthz":                                     "",
	} {
		log.Reset()
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Authorization", "Bearer very-secret")
		h.ServeHTTP(httptest.NewRecorder(), r)
		got := log.String()
		if !strings.Contains(got, want) || strings.Contains(got, "very-secret") || strings.Count(got, "\n") != min(1, len(want)) {
			t.Errorf("%s is logged as %s", path, got)
		}
		if has := strings.Contains(got, "session=20261122"); has != strings.Contains(path, "20261122") {
			t.Errorf("%s: %s", path, got)
		}
	}
}
