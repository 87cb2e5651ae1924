package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A cookie is valid for a day, and a request renews it after an hour, so that it
// ends a day after it was used last.
func TestLoginsEndAndAreRenewed(t *testing.T) {
	all, err := newUsers([]User{{Name: "ann", Token: "ann-0123456789abcdef"}, {Name: "bob", Token: "bob-0123456789abcdef"}})
	if err != nil {
		t.Fatal(err)
	}
	issued := time.Unix(1_800_000_000, 0)
	name := cookieName("127.0.0.1:8420")
	for _, c := range []struct {
		age            time.Duration
		valid, renewed bool
	}{
		{0, true, false},
		{-30 * time.Second, true, false}, // the clock was set back a little
		{-time.Hour, false, false},
		{renewAfter - time.Second, true, false},
		{renewAfter + time.Second, true, true},
		{loginTime - time.Second, true, true},
		{loginTime, false, false},
		{365 * loginTime, false, false},
	} {
		for _, u := range all {
			r, w := httptest.NewRequest("GET", "http://127.0.0.1:8420/", nil), httptest.NewRecorder()
			r.AddCookie(&http.Cookie{Name: name, Value: u.cookie(name, "nonce", issued)})
			got := all.byCookie(w, r, issued.Add(c.age))
			if (got == u) != c.valid || (got == nil) == c.valid {
				t.Errorf("after %s, %s's cookie is that of %v", c.age, u.Name, got)
			}
			renewed := w.Result().Cookies()
			if (len(renewed) == 1) != c.renewed {
				t.Errorf("after %s, the response has the cookies %v", c.age, renewed)
			}
			for _, n := range renewed {
				if at, nonce, ok := u.login(name, n.Value, issued.Add(c.age)); !ok || nonce != "nonce" || !at.Equal(issued.Add(c.age)) {
					t.Errorf("after %s, it is renewed to %v", c.age, n)
				}
			}
		}
	}
}

func TestCookieNames(t *testing.T) {
	for host, want := range map[string]string{"127.0.0.1:8420": "openmanus-8420", "[::1]:9": "openmanus-9", "example.org": "openmanus"} {
		if got := cookieName(host); got != want {
			t.Errorf("%s: %s", host, got)
		}
	}
}
