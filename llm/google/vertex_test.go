package google_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/google"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

const vertexURL = "http://model.test/v1/projects/p-1/locations/global/publishers/google"

func openVertex(client *http.Client) llm.Model {
	return google.New(google.Options{Model: "gemini-2.5-pro", BaseURL: vertexURL, HTTPClient: client,
		Token: func(context.Context) (string, error) { return "ya29.test-0123456789", nil }})
}

// Gemini on Vertex is the same format at another address, with other errors.
func TestConformanceOnVertex(t *testing.T) {
	llmtest.Run(t, llmtest.Over(os.DirFS("testdata/vertex"), os.DirFS("testdata/gemini")), openVertex)
}

// A request goes to the project's address with a token, and with no key.
func TestVertexAddress(t *testing.T) {
	p := &llmtest.Peer{Answers: []string{"HTTP/1.1 401 Unauthorized\n\n{}"}}
	m := openVertex(p.Client()).(*google.Model)
	defer p.Wait()
	defer m.Close()
	_, err := llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "a")}})
	if llm.KindOf(err) != llm.Auth || !strings.Contains(err.Error(), "does not accept the credentials at Google") {
		t.Errorf("error %v", err)
	}
	r := p.Seen()[0]
	if want := "/v1/projects/p-1/locations/global/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse"; r.Path != want ||
		r.Header.Get("Authorization") != "Bearer ya29.test-0123456789" || r.Header.Get("X-Goog-Api-Key") != "" {
		t.Errorf("asked %s with %v", r.Path, r.Header)
	}
}

// Credentials of a service account are sent to the address that they name, and
// the token that comes for them is used until it is old. What is refused says
// what to do.
func TestDefaultToken(t *testing.T) {
	asked, status := 0, http.StatusOK
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if status != http.StatusOK {
			fmt.Fprint(w, `{"error":"invalid_grant","error_description":"Invalid JWT Signature."}`)
			return
		}
		fmt.Fprintf(w, `{"access_token":"token-%d","expires_in":3600,"token_type":"Bearer"}`, asked)
	}))
	defer srv.Close()
	file := filepath.Join(t.TempDir(), "account.json")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
	writeAccount(t, file, srv.URL)

	token := google.DefaultToken(srv.Client())
	for range 2 {
		if got, err := token(t.Context()); got != "token-1" || err != nil {
			t.Errorf("token %q, error %v", got, err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times for a token that is good for an hour", asked)
	}
	for _, c := range []struct {
		status int
		kind   llm.Kind
		says   string
	}{
		{http.StatusBadRequest, llm.Auth, "sign in again with gcloud auth application-default login"},
		{http.StatusServiceUnavailable, llm.Network, "Google gives no token now"},
	} {
		status = c.status
		if _, err := google.DefaultToken(srv.Client())(t.Context()); llm.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d: error %v", c.status, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := google.DefaultToken(srv.Client())(ctx); err != context.Canceled {
		t.Errorf("canceled: error %v", err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file+".not")
	if _, err := google.DefaultToken(nil)(t.Context()); llm.KindOf(err) != llm.Auth || !strings.Contains(err.Error(), "there are no Google credentials") {
		t.Errorf("no file: error %v", err)
	}
}

// writeAccount writes a service account's file with a key of its own.
func writeAccount(t *testing.T, file, tokenURL string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	account, _ := json.Marshal(map[string]string{"type": "service_account", "client_email": "agent@p-1.iam.gserviceaccount.com",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "private_key_id": "1", "token_uri": tokenURL})
	if err := os.WriteFile(file, account, 0o600); err != nil {
		t.Fatal(err)
	}
}
