package vertex_test

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
	"github.com/openmanus-go/openmanus/llm/vertex"
)

// Credentials of a service account are sent to the address that they name, and
// the token that comes for them is used until it is old. A refusal says what to
// do.
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

	token := vertex.DefaultToken(srv.Client())
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
		if _, err := vertex.DefaultToken(srv.Client())(t.Context()); llm.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d: error %v", c.status, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := vertex.DefaultToken(srv.Client())(ctx); err != context.Canceled {
		t.Errorf("canceled: error %v", err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file+".not")
	if _, err := vertex.DefaultToken(nil)(t.Context()); llm.KindOf(err) != llm.Auth || !strings.Contains(err.Error(), "there are no Google credentials") {
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
