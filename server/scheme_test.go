package server

import (
	"net/http/httptest"
	"testing"
)

// The scheme of a token is written in any case, and clients put more than one blank behind it.
func TestBearer(t *testing.T) {
	for header, want := range map[string]string{
		"Bearer abc": "abc", "bearer abc": "abc", "BEARER  abc": "abc", " Bearer abc ": "abc", "Basic abc": "", "Bearer": "", "Bearerabc": "", "": "",
	} {
		r := httptest.NewRequest("GET", "/api/v1/sessions", nil)
		r.Header.Set("Authorization", header)
		if token, ok := bearer(r); token != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", header, token, ok)
		}
	}
}
