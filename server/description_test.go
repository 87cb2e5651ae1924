package server_test

import (
	"strings"
	"testing"
)

// A file may be empty, and may not have a name that is too long; a wrong method is told
// the right ones.
func TestNamesAndMethodsOfFiles(t *testing.T) {
	x := open(t, t.TempDir(), saves())
	files := "/api/v1/sessions/" + x.call("POST", "/api/v1/sessions", map[string]any{}, 201)["id"].(string) + "/files/"
	for _, c := range []struct {
		method, name string
		want         int
	}{
		{"PUT", "empty", 204}, {"GET", "empty", 200}, {"PUT", strings.Repeat("x", 300), 422}, {"GET", strings.Repeat("x", 300), 422}, {"PATCH", "empty", 405},
		{"PUT", "a/50%25%20%C3%BC%2e", 204}, {"GET", "a/50%25%20%C3%BC.", 200}, {"PUT", "%252e%252e", 204}, {"GET", "%252e%252e", 200},
		{"PUT", "a%00b", 422}, {"PUT", strings.Repeat("x", 255), 204}, {"PUT", "", 405}, {"OPTIONS", "", 405},
	} {
		status, header, body := x.raw(wrong{method: c.method, path: strings.TrimSuffix(files+c.name, "/")})
		allow := "GET, PUT"
		if c.name == "" {
			allow = "GET"
		}
		if status != c.want || status == 405 && header.Get("Allow") != allow {
			t.Errorf("%s %.10s: %d %v %s", c.method, c.name, status, header, body)
		}
	}
}

// A missing object is a 404 that names the field; null is a field that was left out; a query
// parameter without a value is refused, and none of these is silence.
func TestNullEmptyAndAbsent(t *testing.T) {
	x := open(t, t.TempDir(), saves())
	id := x.call("POST", "/api/v1/sessions", map[string]any{"agent": nil, "approve": nil, "limits": nil, "flow": nil}, 201)["id"].(string)
	one := "/api/v1/sessions/" + id
	for _, c := range []struct {
		wrong
		says string
	}{
		{wrong{method: "POST", path: one + "/rulings", body: `{"call":"c9-9","allow":true}`, want: 404}, "body.call"},
		{wrong{method: "POST", path: one + "/fork", body: `{"at":99}`, want: 404}, "body.at"},
		{wrong{method: "POST", path: one + "/fork", body: `{"at":null,"share":null}`, want: 201}, "id"},
		{wrong{method: "POST", path: one + "/fork", body: `{"at":1.0}`, want: 201}, "id"},
		{wrong{method: "POST", path: one + "/fork", body: `{"at":1.5}`, want: 422}, "body.at"},
		{wrong{method: "POST", path: one + "/rulings", body: `{"call":null,"allow":true}`, want: 422}, "body.call"},
		{wrong{method: "POST", path: one + "/retry", body: `{"limits":{"steps":-5}}`, want: 422}, "steps"},
		{wrong{method: "GET", path: "/api/v1/usage?since=", want: 422}, "query.since"},
		{wrong{method: "GET", path: "/api/v1/sessions?limit=", want: 422}, "query.limit"},
		{wrong{method: "GET", path: "/api/v1/sessions?q=", want: 200}, "items"},
		{wrong{method: "OPTIONS", path: "/api/v1/settings/servers/test", want: 405}, "use POST"},
		{wrong{method: "GET", path: one + "/nothing", want: 404}, "openapi.json"},
	} {
		if status, _, body := x.raw(c.wrong); status != c.want || !strings.Contains(body, c.says) {
			t.Errorf("%s %s %s: %d %s, want %d and %q", c.method, c.path, c.body, status, body, c.want, c.says)
		}
	}
}
