package entra_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/entra"
)

func TestMain(m *testing.M) { testbed.Main(m) }

const (
	endpoint = "https://resource.openai.azure.com"
	secret   = "the-secret-of-the-app"
)

// app is the environment of an application that signs in with a secret.
var app = map[string]string{"AZURE_TENANT_ID": "t-1", "AZURE_CLIENT_ID": "c-1", "AZURE_CLIENT_SECRET": secret,
	"AZURE_AUTHORITY_HOST": "https://login.example.org"}

// set sets the variables, and unsets all others that name credentials. No
// program is on the path but what dir holds.
func set(t *testing.T, dir string, env map[string]string) {
	for _, name := range []string{"AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_FEDERATED_TOKEN_FILE",
		"AZURE_AUTHORITY_HOST", "AZURE_TOKEN_CREDENTIALS", "AZURE_CLIENT_CERTIFICATE_PATH", "IDENTITY_ENDPOINT",
		"IDENTITY_HEADER", "AZURE_POD_IDENTITY_AUTHORITY_HOST"} {
		t.Setenv(name, env[name])
		if env[name] == "" {
			os.Unsetenv(name)
		}
	}
	t.Setenv("PATH", dir)
}

// An office plays everything that gives tokens. It answers with the answers in
// turn, the last one again and again: a status and a body, or an error.
type office struct {
	mu      sync.Mutex
	asked   []string
	answers []any
}

func answer(status int, body string) any { return [2]any{status, body} }

func good(token string) any {
	return answer(200, `{"token_type":"Bearer","expires_in":3600,"access_token":"`+token+`"}`)
}

// RoundTrip implements [http.RoundTripper]. The metadata of the tenant, which
// holds no secret, is answered always; the address of virtual machines never.
func (o *office) RoundTrip(r *http.Request) (*http.Response, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	status, body := 200, ""
	switch {
	case strings.HasSuffix(r.URL.Path, "/openid-configuration"):
		at := "https://" + r.URL.Host + "/t-1"
		body = fmt.Sprintf(`{"authorization_endpoint":"%s/authorize","token_endpoint":"%[1]s/oauth2/v2.0/token","issuer":"%[1]s"}`, at)
	case r.URL.Host == "169.254.169.254":
		return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ENETUNREACH)}
	default:
		r.ParseForm()
		o.asked = append(o.asked, fmt.Sprint(r.Method, " ", r.URL.Host, r.URL.Path, " ", r.Form.Encode(), " ", r.Header.Get("X-Identity-Header")))
		switch a := o.answers[min(len(o.asked), len(o.answers))-1].(type) {
		case error:
			return nil, a
		case [2]any:
			status, body = a[0].(int), a[1].(string)
		}
	}
	h := http.Header{"Content-Type": {"application/json"}}
	if status == http.StatusTemporaryRedirect {
		h.Set("Location", "https://elsewhere.example.org")
	}
	return &http.Response{Status: http.StatusText(status), StatusCode: status, Header: h, Request: r, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func (o *office) token(endpoint string) func(context.Context) (string, error) {
	return entra.DefaultToken(&http.Client{Transport: o}, endpoint)
}

// Each way to sign in asks in its own words, and its token is kept.
func TestWaysToSignIn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("a.b.c"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env  map[string]string
		asks []string
	}{
		"secret": {app, []string{"POST login.example.org/t-1/oauth2/v2.0/token", "client_id=c-1", "client_secret=" + secret,
			"grant_type=client_credentials", "scope=https%3A%2F%2Fcognitiveservices.azure.com%2F.default"}},
		"workload": {map[string]string{"AZURE_TENANT_ID": "t-1", "AZURE_CLIENT_ID": "c-1", "AZURE_FEDERATED_TOKEN_FILE": file,
			"AZURE_AUTHORITY_HOST": "https://login.example.org"},
			[]string{"POST login.example.org/t-1/oauth2/v2.0/token", "client_assertion=a.b.c&", "grant_type=client_credentials"}},
		"service": {map[string]string{"IDENTITY_ENDPOINT": "http://service.example.org/msi/token", "IDENTITY_HEADER": "h-1", "AZURE_CLIENT_ID": "c-1"},
			[]string{"GET service.example.org/msi/token", "client_id=c-1", "resource=https%3A%2F%2Fcognitiveservices.azure.com ", " h-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			set(t, t.TempDir(), c.env)
			o := &office{answers: []any{good("token-1"), good("token-2")}}
			token := o.token(endpoint)
			for range 2 {
				if got, err := token(t.Context()); got != "token-1" || err != nil {
					t.Fatalf("token %q, error %v", got, err)
				}
			}
			if len(o.asked) != 1 {
				t.Fatalf("asked %q for a token that is good for an hour", o.asked)
			}
			for _, want := range c.asks {
				if !strings.Contains(o.asked[0], want) {
					t.Errorf("asked %s\nwant %s", o.asked[0], want)
				}
			}
		})
	}
}

// The sign-in of az is used, for the cloud of the endpoint.
func TestSignInOfAPerson(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("az is played by a shell script")
	}
	sh, err := os.Readlink("/bin/sh")
	if sh == "" || err != nil {
		sh = "/bin/sh"
	} else if !filepath.IsAbs(sh) {
		sh = filepath.Join("/bin", sh)
	}
	dir := t.TempDir()
	script := "#!/bin/sh\necho \"$@\" > " + dir + "/asked\n" +
		"echo '{\"accessToken\":\"token-of-az\",\"expiresOn\":\"2099-01-01 00:00:00.000000\",\"expires_on\":4070908800}'\n"
	if err := os.WriteFile(filepath.Join(dir, "az"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(sh, filepath.Join(dir, "sh")); err != nil {
		t.Fatal(err)
	}
	set(t, dir, nil)
	got, err := new(office).token("https://resource.openai.azure.us/")(t.Context())
	asked, _ := os.ReadFile(filepath.Join(dir, "asked"))
	if got != "token-of-az" || err != nil || !strings.Contains(string(asked), "https://cognitiveservices.azure.us") {
		t.Errorf("token %q, error %v, asked %s", got, err, asked)
	}
}

// A token is renewed before its end; one that cannot be is used until then.
func TestTokensAreRenewed(t *testing.T) {
	set(t, t.TempDir(), app)
	synctest.Test(t, func(t *testing.T) {
		o := &office{answers: []any{good("one"), answer(503, "busy"), good("two"), answer(503, "busy")}}
		token := o.token(endpoint)
		for i, step := range []struct {
			after time.Duration
			want  string
			asked int
		}{{0, "one", 1}, {54 * time.Minute, "one", 1}, {2 * time.Minute, "one", 2}, {time.Minute, "two", 3}, {2 * time.Hour, "", 4}} {
			time.Sleep(step.after)
			got, err := token(t.Context())
			if got != step.want || len(o.asked) != step.asked || (err == nil) != (step.want != "") {
				t.Errorf("%d: token %q, error %v, asked %d times", i, got, err, len(o.asked))
			}
			if e := (*llm.Error)(nil); err != nil && (!errors.As(err, &e) || e.Kind != llm.Network || e.Permanent) {
				t.Errorf("an office that is busy is %v", err)
			}
		}
	})
}

// Where nothing ever answered, no one asks again; what answered before may
// answer in a moment.
func TestNoAnswer(t *testing.T) {
	set(t, t.TempDir(), app)
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	var e *llm.Error
	transport := transportFunc(func(*http.Request) (*http.Response, error) { return nil, refused })
	if _, err := entra.DefaultToken(&http.Client{Transport: transport}, endpoint)(t.Context()); !errors.As(err, &e) ||
		e.Kind != llm.Network || !e.Permanent || !strings.Contains(err.Error(), "AZURE_AUTHORITY_HOST") {
		t.Errorf("nothing ever answered: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		token := (&office{answers: []any{good("one"), refused}}).token(endpoint)
		if _, err := token(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		if got, err := token(t.Context()); !errors.As(err, &e) || e.Kind != llm.Network || e.Permanent {
			t.Errorf("nothing answers any more: %q, %v", got, err)
		}
	})
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A secret is not taken elsewhere.
func TestNoRedirectIsFollowed(t *testing.T) {
	set(t, t.TempDir(), app)
	o := &office{answers: []any{answer(http.StatusTemporaryRedirect, ""), good("stolen")}}
	if got, err := o.token(endpoint)(t.Context()); err == nil || len(o.asked) != 1 {
		t.Errorf("token %q after %q", got, o.asked)
	}
}

// An error is one line that names the variable, without the secret.
func TestWhatIsWrong(t *testing.T) {
	without := func(name, value string) map[string]string {
		env := map[string]string{}
		for k, v := range app {
			env[k] = v
		}
		env[name] = value
		return env
	}
	for name, c := range map[string]struct {
		env    map[string]string
		answer any
		want   []string
	}{
		"tenant": {app, answer(400, `{"error":"invalid_request","error_description":"AADSTS90002: Tenant 't-1' not found.\r\nTrace ID: x"}`),
			[]string{"look at AZURE_TENANT_ID: ", "Tenant 't-1' not found"}},
		"client": {app, answer(400, `{"error":"unauthorized_client","error_description":"AADSTS700016: Application with identifier 'c-1' was not found"}`),
			[]string{"AZURE_CLIENT_ID"}},
		"secret": {app, answer(401, `{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret provided: `+secret+`."}`),
			[]string{"look at AZURE_CLIENT_SECRET: "}},
		"half of it": {map[string]string{"AZURE_CLIENT_SECRET": secret}, nil, []string{"AZURE_TENANT_ID", "AZURE_CLIENT_ID"}},
		"authority":  {without("AZURE_AUTHORITY_HOST", "http://login.example.org"), nil, []string{"https"}},
		"nothing":    {nil, nil, []string{"no key and no sign-in", "AZURE_OPENAI_API_KEY", "az login"}},
	} {
		t.Run(name, func(t *testing.T) {
			set(t, t.TempDir(), c.env)
			_, err := (&office{answers: []any{c.answer}}).token(endpoint)(t.Context())
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != llm.Auth || !e.Permanent {
				t.Fatalf("error %#v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), secret) {
					t.Errorf("error %v\nwant one line with %q, without the secret", err, want)
				}
			}
		})
	}
}
