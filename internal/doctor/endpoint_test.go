package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/llm/compat"
	"github.com/openmanus-go/openmanus/llm/providers"
)

// An endpoint on loopback that wants the key sk-right and answers as its path
// says.
func newEndpoint(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/moved"):
			http.Redirect(w, r, "/v1/models", http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/html"):
			fmt.Fprint(w, "<html>hello</html>")
		case strings.HasPrefix(r.URL.Path, "/trouble"):
			http.Error(w, "sorry", http.StatusServiceUnavailable)
		case r.URL.Path != "/v1/models":
			http.NotFound(w, r)
		case r.Header.Get("Authorization") != "Bearer sk-right":
			http.Error(w, "no", http.StatusUnauthorized)
		default:
			fmt.Fprint(w, `{"object":"list","data":[{"id":"big"},{"id":"small"}]}`)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestModels(t *testing.T) {
	s := newEndpoint(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + closed.Addr().String()
	closed.Close()
	for _, c := range []struct{ base, key, want, err string }{
		{s.URL + "/v1", "sk-right", "big,small", ""},
		{s.URL + "/v1/", "sk-right", "big,small", ""},
		{s.URL + "/v1", "sk-wrong", "", "HTTP 401 Unauthorized"},
		{s.URL + "/v1", "", "", "HTTP 401 Unauthorized"},
		{s.URL, "sk-right", "", "HTTP 404 Not Found"},
		{s.URL + "/moved", "sk-right", "", "HTTP 302 Found"},
		{s.URL + "/html", "sk-right", "", errOtherList.Error()},
		{s.URL + "/trouble", "sk-right", "", "HTTP 503 Service Unavailable"},
		{strings.Replace(s.URL, "http://", "http://me:pass-word@", 1) + "/v1", "", "", "HTTP 401 Unauthorized"},
		{strings.Replace(nobody, "http://", "http://me:pass-word@", 1) + "/v1", "sk-right", "", "refused"},
		{strings.Replace(s.URL, "http:", "https:", 1), "sk-right", "", "server gave HTTP response to HTTPS client"},
		{"::", "", "", "not an address"},
	} {
		names, err := Models(t.Context(), c.base, c.key)
		if got := strings.Join(names, ","); got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v; want %q, %s", c.base, got, err, c.want, c.err)
		}
		if err != nil && (strings.Contains(err.Error(), "pass-word") || strings.Contains(err.Error(), "sk-")) {
			t.Errorf("%s: the error has a secret in it: %v", c.base, err)
		}
	}
}

// An endpoint that never answers is left when the caller will wait no longer.
func TestModelsThatHang(t *testing.T) {
	arrived := make(chan bool)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- true
		<-r.Context().Done()
	}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	if _, err := Models(ctx, s.URL, ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestUntrustedCertificate(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of us
	s.StartTLS()
	defer s.Close()
	_, err := Models(t.Context(), s.URL, "sk-right")
	if got := unreached(config.Model{Provider: compat.Provider(), BaseURL: s.URL}, err); !strings.Contains(got, "SSL_CERT_FILE") {
		t.Errorf("%v: %s", err, got)
	}
}

// This machine, as it is, with an endpoint of our own.
func TestThisMachine(t *testing.T) {
	s := newEndpoint(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	err := os.WriteFile(file, []byte("data_dir = 'data'\n[llm]\nmodel = 'medium'\napi_key = 'sk-right'\nbase_url = '"+s.URL+"/v1'\n[llm.wrong]\napi_key = 'sk-wrong'\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) {
		if strings.HasPrefix(name, "OPENMANUS_") || strings.HasPrefix(name, "OPENAI_") {
			return "", false
		}
		return os.LookupEnv(name)
	}
	setup := Setup{Dir: dir}
	setup.Config, setup.Warnings, setup.Err = config.Load(config.Sources{File: file, Dir: dir, Env: env, Providers: providers.All()})
	found := Check(t.Context(), This(env), setup)
	t.Logf("\n%s", text(found))
	for _, want := range []Finding{
		{"endpoint " + s.URL + "/v1", OK, "it answers; models listed: 2", ""},
		{"endpoint " + s.URL + "/v1", Warn, "it does not list medium", "it has big, small"},
		{"endpoint " + s.URL + "/v1", Warn, "HTTP 401 Unauthorized: it refuses the key from " + file + ":7", "check that this is a key for " + s.URL + "/v1, and still valid"},
	} {
		if !slices.Contains(found, want) {
			t.Errorf("not found: %+v", want)
		}
	}
	for _, f := range found {
		if f.Name == "" || f.Detail == "" || f.State == "" {
			t.Errorf("%+v", f)
		}
		if strings.Contains(fmt.Sprint(f), "sk-right") || strings.Contains(fmt.Sprint(f), "sk-wrong") {
			t.Errorf("a key is shown: %+v", f)
		}
	}
}

// Nothing waits for a person who has gone.
func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := This(func(string) (string, bool) { return "", false })
	found := Check(ctx, m, Setup{Err: errors.New("no configuration")})
	if len(found) == 0 || found[1].State != Missing {
		t.Errorf("%+v", found)
	}
}
