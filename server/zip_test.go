package server_test

import (
	"archive/zip"
	"bytes"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// TestZip: the files of the list come as one zip, or those that are chosen; what is not in
// the workspace does not, whatever leads there.
func TestZip(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	id := x.session(map[string]any{"workspace": "w"})
	at := "/api/v1/sessions/" + id
	for _, name := range []string{"a.txt", "d/b c.txt", "d/e/f", "node_modules/m.js", "ü\u202e.md"} {
		x.call("PUT", at+"/files/"+url.PathEscape(name), "the file "+name, 204)
	}
	dir := filepath.Join(x.dir, "ann", "w")
	if err := os.WriteFile(filepath.Join(x.dir, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(x.dir, "secret"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"":                    "a.txt d/b c.txt d/e/f ü\u202e.md",
		"?path=d":             "d/b c.txt d/e/f",
		"?path=gone&path=d":   "d/b c.txt d/e/f",
		"?path=d/e/f&path=./": "d/e/f a.txt d/b c.txt ü\u202e.md",
	} {
		_, _, body := x.sendAs(annsToken, "GET", at+"/zip"+query, nil)
		z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
		if err != nil {
			t.Errorf("%q: %v", query, err)
			continue
		}
		var names []string
		for _, f := range z.File {
			names = append(names, f.Name)
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			if data, err := io.ReadAll(r); err != nil || string(data) != "the file "+f.Name {
				t.Errorf("%s has %q, %v", f.Name, data, err)
			}
			r.Close()
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q has %q, want %q", query, got, want)
		}
	}
	x.call("GET", at+"/zip?path="+url.QueryEscape("../../secret"), nil, 422)
	x.call("GET", at+"/zip?path=missing", nil, 404)
	x.call("GET", at+"/zip?path=link", nil, 422)
}

// TestFrames: a page of an agent comes as one for a frame alone, where it reaches nothing.
func TestFrames(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	id := x.session(map[string]any{"workspace": "w"})
	path := "/api/v1/sessions/" + id + "/files/r.html"
	x.call("PUT", path, "<script>1</script>", 204)
	for _, tt := range []struct{ query, dest, kind, has, lacks string }{
		{"?frame=still", "iframe", "text/html", "; sandbox", "script"},
		{"?frame=scripts", "iframe", "text/html", "sandbox allow-scripts", "allow-same-origin"},
		{"?frame=scripts", "", "text/html", "default-src 'none'", "connect-src"},
		{"?frame=scripts", "document", "text/plain", "sandbox; ", "unsafe-inline'; sandbox allow"},
	} {
		header := map[string]string{}
		if tt.dest != "" {
			header["Sec-Fetch-Dest"] = tt.dest
		}
		status, h, _ := x.raw(wrong{method: "GET", path: path + tt.query, header: header})
		policy := h.Get("Content-Security-Policy")
		if status != 200 || !strings.HasPrefix(h.Get("Content-Type"), tt.kind) || !strings.Contains(policy, tt.has) || strings.Contains(policy, tt.lacks) {
			t.Errorf("%+v: %d %v", tt, status, h)
		}
	}
	x.call("PUT", "/api/v1/sessions/"+id+"/files/r.svg", "<svg/>", 204)
	x.call("GET", "/api/v1/sessions/"+id+"/files/r.svg?frame=still", nil, 422)
}
