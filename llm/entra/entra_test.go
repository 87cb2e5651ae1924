package entra_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openmanus-go/openmanus/internal/leaktest"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/entra"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const (
	endpoint = "https://resource.openai.azure.com"
	secret   = "the-secret-of-the-app"
)

// clean takes every variable away that names credentials, and az.
func clean(t *testing.T) {
	for _, name := range []string{"AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_FEDERATED_TOKEN_FILE", "AZURE_AUTHORITY_HOST",
		"IDENTITY_ENDPOINT", "IDENTITY_HEADER", "AZURE_POD_IDENTITY_AUTHORITY_HOST"} {
		t.Setenv(name, "")
	}
	t.Setenv("PATH", t.TempDir())
}

// office is who gives tokens: it answers what it is told to, and keeps what it
// was asked.
type office struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []string
	status int
	answer string
}

func open(t *testing.T) *office {
	o := &office{status: http.StatusOK, answer: `{"token_type":"Bearer","expires_in":3599,"access_token":"token-N"}`}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		o.mu.Lock()
		defer o.mu.Unlock()
		o.asked = append(o.asked, fmt.Sprintf("%s %s %s %s%s", r.Method, r.URL.Path, r.Form.Encode(), r.Header.Get("X-Identity-Header"), r.Header.Get("Metadata")))
		w.WriteHeader(o.status)
		fmt.Fprint(w, strings.ReplaceAll(o.answer, "token-N", fmt.Sprint("token-", len(o.asked))))
	}))
	t.Cleanup(o.Close)
	return o
}

// Each of the ways to sign in asks in its own words, and its token is kept.
func TestWaysToSignIn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("a.b.c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env    map[string]string // OFFICE is where the office is
		answer string
		asks   []string
	}{
		"secret": {map[string]string{"AZURE_TENANT_ID": "t-1", "AZURE_CLIENT_ID": "c-1", "AZURE_CLIENT_SECRET": secret, "AZURE_AUTHORITY_HOST": "OFFICE/"}, "",
			[]string{"POST /t-1/oauth2/v2.0/token", "client_id=c-1", "client_secret=" + secret, "grant_type=client_credentials", "scope=https%3A%2F%2Fcognitiveservices.azure.com%2F.default"}},
		"workload": {map[string]string{"AZURE_TENANT_ID": "t-1", "AZURE_CLIENT_ID": "c-1", "AZURE_FEDERATED_TOKEN_FILE": file, "AZURE_AUTHORITY_HOST": "OFFICE"}, "",
			[]string{"POST /t-1/oauth2/v2.0/token", "client_assertion=a.b.c&", "client_assertion_type=urn%3Aietf", "grant_type=client_credentials"}},
		"service": {map[string]string{"IDENTITY_ENDPOINT": "OFFICE/msi/token", "IDENTITY_HEADER": "h-1", "AZURE_CLIENT_ID": "c-1"}, `{"access_token":"token-N","expires_on":"4102444800"}`,
			[]string{"GET /msi/token", "api-version=2019-08-01", "client_id=c-1", "resource=https%3A%2F%2Fcognitiveservices.azure.com ", " h-1"}},
		"machine": {map[string]string{"AZURE_POD_IDENTITY_AUTHORITY_HOST": "OFFICE"}, `{"access_token":"token-N","expires_in":"3599","expires_on":"4102444800"}`,
			[]string{"GET /metadata/identity/oauth2/token", "api-version=2018-02-01", " true"}},
	} {
		t.Run(name, func(t *testing.T) {
			clean(t)
			o := open(t)
			if c.answer != "" {
				o.answer = c.answer
			}
			for k, v := range c.env {
				t.Setenv(k, strings.ReplaceAll(v, "OFFICE", o.URL))
			}
			token := entra.DefaultToken(o.Client(), endpoint)
			for range 2 {
				if got, err := token(t.Context()); got != "token-1" || err != nil {
					t.Fatalf("token %q, error %v", got, err)
				}
			}
			if len(o.asked) != 1 {
				t.Errorf("asked %q for a token that is good for an hour", o.asked)
			}
			for _, want := range c.asks {
				if !strings.Contains(o.asked[0], want) {
					t.Errorf("asked %s\nwant %s", o.asked[0], want)
				}
			}
		})
	}
}

// az says who signed in with it.
func TestSignInOfAPerson(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("az is played by a shell script")
	}
	clean(t)
	dir := t.TempDir()
	script := "#!/bin/sh\necho \"$@\" > " + dir + "/asked\necho '{\"accessToken\":\"token-of-az\",\"expiresOn\":\"2099-01-01 00:00:00.000000\",\"expires_on\":4070908800}'\n"
	if err := os.WriteFile(filepath.Join(dir, "az"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	got, err := entra.DefaultToken(nil, "https://resource.openai.azure.us/")(t.Context())
	asked, _ := os.ReadFile(filepath.Join(dir, "asked"))
	if got != "token-of-az" || err != nil || !strings.Contains(string(asked), "--resource https://cognitiveservices.azure.us") {
		t.Errorf("token %q, error %v, asked %s", got, err, asked)
	}
}

// A token is renewed before its end; one that cannot be is used until then.
func TestTokensAreRenewed(t *testing.T) {
	clean(t)
	t.Setenv("AZURE_TENANT_ID", "t-1")
	t.Setenv("AZURE_CLIENT_ID", "c-1")
	t.Setenv("AZURE_CLIENT_SECRET", secret)
	good := "HTTP/1.1 200 OK\n\n{\"expires_in\":3600,\"access_token\":\"%s\"}"
	synctest.Test(t, func(t *testing.T) {
		p := &llmtest.Peer{Answers: []string{fmt.Sprintf(good, "one"), "HTTP/1.1 503 Service Unavailable\n\nbusy", fmt.Sprintf(good, "two"), "HTTP/1.1 503 Service Unavailable\n\nbusy"}}
		t.Setenv("AZURE_AUTHORITY_HOST", "http://127.0.0.1")
		client := p.Client()
		token := entra.DefaultToken(client, endpoint)
		for i, step := range []struct {
			after time.Duration
			want  string
			asked int
		}{{0, "one", 1}, {54 * time.Minute, "one", 1}, {2 * time.Minute, "one", 2}, {time.Minute, "two", 3}, {2 * time.Hour, "", 4}} {
			time.Sleep(step.after)
			got, err := token(t.Context())
			if got != step.want || p.Asked() != step.asked || (err == nil) != (step.want != "") {
				t.Errorf("%d: token %q, error %v, asked %d times", i, got, err, p.Asked())
			}
			if e := (*llm.Error)(nil); err != nil && (!errors.As(err, &e) || e.Kind != llm.Network || e.Permanent) {
				t.Errorf("a busy office is %v", err)
			}
		}
		client.CloseIdleConnections()
		p.Wait()
	})
}

// Where nobody listens, nobody is asked again; somebody who was there may be
// back in a moment.
func TestNobodyThere(t *testing.T) {
	clean(t)
	o := open(t)
	o.answer = `{"expires_on":1,"access_token":"token-N"}` // of long ago
	for k, v := range map[string]string{"AZURE_TENANT_ID": "t-1", "AZURE_CLIENT_ID": "c-1", "AZURE_CLIENT_SECRET": secret, "AZURE_AUTHORITY_HOST": o.URL} {
		t.Setenv(k, v)
	}
	was, never := entra.DefaultToken(nil, endpoint), entra.DefaultToken(nil, endpoint)
	if _, err := was(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.Close()
	var e *llm.Error
	if _, err := never(t.Context()); !errors.As(err, &e) || e.Kind != llm.Network || !e.Permanent || !strings.Contains(err.Error(), "AZURE_AUTHORITY_HOST") {
		t.Errorf("nobody ever there: %v", err)
	}
	if _, err := was(t.Context()); !errors.As(err, &e) || e.Kind != llm.Network || e.Permanent {
		t.Errorf("nobody there any more: %v", err)
	}
}

// A secret is not taken elsewhere.
func TestNoRedirectIsFollowed(t *testing.T) {
	clean(t)
	elsewhere := open(t)
	office := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer office.Close()
	for k, v := range map[string]string{"AZURE_TENANT_ID": "t-1", "AZURE_CLIENT_ID": "c-1", "AZURE_CLIENT_SECRET": secret, "AZURE_AUTHORITY_HOST": office.URL} {
		t.Setenv(k, v)
	}
	if got, err := entra.DefaultToken(office.Client(), endpoint)(t.Context()); err == nil || len(elsewhere.asked) != 0 {
		t.Errorf("token %q, and elsewhere was asked %q", got, elsewhere.asked)
	}
}

// What is wrong is said in one line that names the variable, without the
// secret.
func TestWhatIsWrong(t *testing.T) {
	app := map[string]string{"AZURE_TENANT_ID": "t-1", "AZURE_CLIENT_ID": "c-1", "AZURE_CLIENT_SECRET": secret, "AZURE_AUTHORITY_HOST": "OFFICE"}
	for name, c := range map[string]struct {
		env    map[string]string
		status int
		answer string
		want   []string
	}{
		"tenant":          {app, 400, `{"error":"invalid_request","error_description":"AADSTS90002: Tenant 't-1' not found. Check to make sure you have the correct tenant ID.\r\nTrace ID: x"}`, []string{"look at AZURE_TENANT_ID: ", "Tenant 't-1' not found"}},
		"client":          {app, 400, `{"error":"unauthorized_client","error_description":"AADSTS700016: Application with identifier 'c-1' was not found in the directory"}`, []string{"AZURE_CLIENT_ID"}},
		"secret":          {app, 401, `{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret provided: ` + secret + `."}`, []string{"look at AZURE_CLIENT_SECRET: "}},
		"workload":        {map[string]string{"AZURE_TENANT_ID": "t-1", "AZURE_CLIENT_ID": "c-1", "AZURE_FEDERATED_TOKEN_FILE": "/no/such/file"}, 0, "", []string{"AZURE_FEDERATED_TOKEN_FILE"}},
		"half of it":      {map[string]string{"AZURE_CLIENT_SECRET": secret}, 0, "", []string{"AZURE_TENANT_ID", "AZURE_CLIENT_ID"}},
		"authority":       {map[string]string{"AZURE_TENANT_ID": "t-1", "AZURE_CLIENT_ID": "c-1", "AZURE_CLIENT_SECRET": secret, "AZURE_AUTHORITY_HOST": "http://login.example"}, 0, "", []string{"AZURE_AUTHORITY_HOST", "https://"}},
		"no token":        {app, 200, `{"token_type":"Bearer"}`, []string{"gives no token"}},
		"nobody there":    {map[string]string{"AZURE_POD_IDENTITY_AUTHORITY_HOST": "GONE"}, 0, "", []string{"no key and no sign-in", "AZURE_OPENAI_API_KEY", "az login", "az is not installed", "this machine has no identity"}},
		"another cloud's": {map[string]string{"AZURE_POD_IDENTITY_AUTHORITY_HOST": "OFFICE"}, 404, "<html>not here</html>", []string{"no key and no sign-in", "az login"}},
	} {
		t.Run(name, func(t *testing.T) {
			clean(t)
			o := open(t)
			if c.status != 0 {
				o.status, o.answer = c.status, c.answer
			}
			gone := httptest.NewServer(http.NotFoundHandler())
			gone.Close()
			for k, v := range c.env {
				t.Setenv(k, strings.NewReplacer("OFFICE", o.URL, "GONE", gone.URL).Replace(v))
			}
			_, err := entra.DefaultToken(o.Client(), endpoint)(t.Context())
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
