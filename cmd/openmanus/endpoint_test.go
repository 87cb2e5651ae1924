package main

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

// asks runs the built binary with a task for a model, and returns what it
// writes to standard output, to standard error, and its exit code.
func asks(t *testing.T, model string, env ...string) (out, errs string, code int) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("openmanus", "run", "--quiet", "--model", model, "say hello")
	cmd.Dir = dir
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); !strings.HasSuffix(strings.ToUpper(name), "_PROXY") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(append(cmd.Env, "HOME="+filepath.Join(dir, ".home"), "XDG_DATA_HOME=", "XDG_CONFIG_HOME="), env...)
	var o, e strings.Builder
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// TestWrongSettings: what is set up wrongly ends with 2 after one request, and
// one line says which setting it is and where it came from.
func TestWrongSettings(t *testing.T) {
	testbed.Need(t, "bwrap")
	var asked atomic.Int32
	answer := func(status int, body string) string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost { // the list of models costs nothing
				asked.Add(1)
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	entra := newEntra(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(401)
		io.WriteString(w, `{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret provided."}`)
	})
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	gone := "http://" + nobody.Addr().String()
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	defer tls.Close()
	const key = "not-a-key-at-all"
	for name, c := range map[string]struct {
		model    string
		env      []string
		requests int32
		want     []string
	}{
		"OpenAI's key": {"openai/gpt-5", []string{"OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=" + answer(401, `{"error":{"message":"Incorrect API key provided: not-a-key-at-all."}}`)}, 1,
			[]string{"does not accept the API key", "OPENAI_API_KEY"}},
		"Anthropic's key": {"anthropic/claude-opus-4-5", []string{"ANTHROPIC_API_KEY=" + key, "ANTHROPIC_BASE_URL=" + answer(401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`)}, 1,
			[]string{"does not accept the API key", "ANTHROPIC_API_KEY"}},
		"Google's key": {"google/gemini-2.5-pro", []string{"GEMINI_API_KEY=" + key, "GOOGLE_GEMINI_BASE_URL=" + answer(400, `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`)}, 1,
			[]string{"does not accept the API key", "GEMINI_API_KEY"}},
		"Azure's key": {"azure/gpt-5", []string{"AZURE_OPENAI_API_KEY=" + key, "AZURE_OPENAI_ENDPOINT=" + answer(401, `{"error":{"code":"401","message":"Access denied due to invalid subscription key"}}`)}, 1,
			[]string{"does not accept the API key", "AZURE_OPENAI_API_KEY"}},
		"Azure's sign-in": {"azure/gpt-5", []string{"AZURE_TENANT_ID=t-1", "AZURE_CLIENT_ID=c-1", "AZURE_CLIENT_SECRET=" + key, "AZURE_OPENAI_ENDPOINT=https://nobody.openai.azure.com",
			"AZURE_AUTHORITY_HOST=" + entra.URL, "SSL_CERT_FILE=" + certificate(t, entra)}, 1,
			[]string{"look at AZURE_CLIENT_SECRET", "Invalid client secret", "AZURE_OPENAI_ENDPOINT"}},
		"no key": {"anthropic/claude-opus-4-5", nil, 0, []string{"needs a key", "ANTHROPIC_API_KEY"}},
		"the model": {"anthropic/claude-9", []string{"ANTHROPIC_API_KEY=" + key, "ANTHROPIC_BASE_URL=" + answer(404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}`)}, 1,
			[]string{"no such model", "claude-9"}},
		"the endpoint": {"openai/gpt-5", []string{"OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=" + gone}, 0,
			[]string{"nothing listens there", "OPENAI_BASE_URL"}},
		"an address that is none": {"anthropic/claude-opus-4-5", []string{"ANTHROPIC_API_KEY=" + key, "ANTHROPIC_BASE_URL=claude"}, 0,
			[]string{"ANTHROPIC_BASE_URL", `"claude"`}},
		"the proxy": {"compat/m", []string{"OPENAI_BASE_URL=http://model.invalid/v1", "HTTP_PROXY=" + gone}, 0,
			[]string{"proxy", "HTTP_PROXY"}},
		"an authority that nobody knows": {"openai/gpt-5", []string{"OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=" + tls.URL}, 0,
			[]string{"certificate is not trusted", "SSL_CERT_FILE", "OPENAI_BASE_URL"}},
		"no region": {"bedrock/amazon.nova-pro-v1:0", []string{"AWS_REGION=", "AWS_DEFAULT_REGION="}, 0, []string{"AWS_REGION"}},
		"no credentials of AWS": {"bedrock/amazon.nova-pro-v1:0", []string{"AWS_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true", "AWS_ACCESS_KEY_ID=", "AWS_PROFILE="}, 0,
			[]string{"no AWS credentials", "AWS_ACCESS_KEY_ID", "AWS_REGION"}},
		"AWS' key": {"bedrock/amazon.nova-pro-v1:0", []string{"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY=" + key,
			"OPENMANUS_LLM_MODEL=bedrock/x", "OPENMANUS_LLM_BASE_URL=" + answer(403, `{"message":"The security token included in the request is invalid."}`)}, 1,
			[]string{"security token", "OPENMANUS_LLM_BASE_URL"}},
	} {
		asked.Store(0)
		out, errs, code := asks(t, c.model, c.env...)
		if code != exitUsage || out != "" || asked.Load() != c.requests {
			t.Errorf("%s: exit code %d, %d requests, want 2 and %d\n%s%s", name, code, asked.Load(), c.requests, out, errs)
		}
		line := ""
		for l := range strings.Lines(errs) {
			if strings.HasPrefix(l, "openmanus: ") {
				line += l
			}
		}
		for _, want := range c.want {
			if !strings.Contains(line, want) || strings.Count(line, "\n") != 1 || strings.Contains(line, key) {
				t.Errorf("%s: want one line with %q, without the key:\n%s", name, want, errs)
			}
		}
	}
}

const helloChunks = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello.\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

// TestProxy: the proxy that the usual variable names is gone through.
func TestProxy(t *testing.T) {
	testbed.Need(t, "bwrap")
	var asked atomic.Value
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.RequestURI)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, helloChunks)
	}))
	defer proxy.Close()
	out, errs, code := asks(t, "compat/m", "OPENAI_API_KEY=not-a-key-at-all", "OPENAI_BASE_URL=http://model.invalid/v1", "HTTP_PROXY="+proxy.URL)
	if code != 0 || out != "Hello.\n" || asked.Load() != "http://model.invalid/v1/chat/completions" {
		t.Errorf("exit code %d, the proxy was asked for %v\n%s%s", code, asked.Load(), out, errs)
	}
}

// newEntra serves a tenant of Microsoft Entra: its metadata, and tokens by the
// handler.
func newEntra(t *testing.T, token http.HandlerFunc) *httptest.Server {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/openid-configuration") {
			token(w, r)
			return
		}
		at := "https://" + r.Host + "/t-1"
		fmt.Fprintf(w, `{"authorization_endpoint":"%s/authorize","token_endpoint":"%[1]s/oauth2/v2.0/token","issuer":"%[1]s"}`, at)
	}))
	t.Cleanup(srv.Close)
	return srv
}

// certificate writes the certificate of srv into a file, for SSL_CERT_FILE.
func certificate(t *testing.T, srv *httptest.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestSignInAtAzure: without a key, a token of Microsoft Entra's is asked for
// and sent along.
func TestSignInAtAzure(t *testing.T) {
	testbed.Need(t, "bwrap")
	var sent atomic.Value
	entra := newEntra(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"token_type":"Bearer","expires_in":3599,"access_token":"token-of-entra"}`)
	})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent.Store(r.URL.Path + " " + r.Header.Get("Authorization") + r.Header.Get("Api-Key"))
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, helloChunks)
	}))
	defer srv.Close()
	out, errs, code := asks(t, "azure/gpt-4.1", "AZURE_OPENAI_ENDPOINT="+srv.URL, "AZURE_TENANT_ID=t-1", "AZURE_CLIENT_ID=c-1",
		"AZURE_CLIENT_SECRET=not-a-key-at-all", "AZURE_AUTHORITY_HOST="+entra.URL, "SSL_CERT_FILE="+certificate(t, entra))
	if code != 0 || out != "Hello.\n" || sent.Load() != "/openai/v1/chat/completions Bearer token-of-entra" {
		t.Errorf("exit code %d, sent %v\n%s%s", code, sent.Load(), out, errs)
	}
}

// TestPrivateAuthority: a certificate that a company's own authority signed is
// trusted if the usual variable names that.
func TestPrivateAuthority(t *testing.T) {
	testbed.Need(t, "bwrap")
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, helloChunks)
	}))
	defer srv.Close()
	authority := certificate(t, srv)
	out, errs, code := asks(t, "compat/m", "OPENAI_API_KEY=not-a-key-at-all", "OPENAI_BASE_URL="+srv.URL+"/v1", "SSL_CERT_FILE="+authority)
	if code != 0 || out != "Hello.\n" {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}
