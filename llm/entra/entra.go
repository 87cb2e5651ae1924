// Package entra gets tokens of Microsoft Entra, which stand in for the key of a
// model on Azure.
package entra

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// DefaultToken returns a function that gets bearer tokens for the resource at
// endpoint, with the credentials that Azure's own tools use: see
// [azidentity.DefaultAzureCredential]. The endpoint tells which of Microsoft's
// clouds they are for.
//
// Credentials are looked for when the first token is wanted. A token is kept
// until five minutes before it expires, and used until it expires if it cannot
// be renewed. The client, if not nil, sends the requests; it follows no
// redirects, which would take a secret elsewhere. The function is safe for
// concurrent use, and its errors are an [*llm.Error] or ctx's.
func DefaultToken(client *http.Client, endpoint string) func(context.Context) (string, error) {
	if client == nil {
		client = &http.Client{Timeout: 30 * time.Second}
	}
	s := &source{client: wire.Client(client), turn: make(chan struct{}, 1)}
	s.cloud, s.scope = cloudOf(endpoint)
	if host := os.Getenv("AZURE_AUTHORITY_HOST"); host != "" { // azidentity reads it only without a cloud
		s.cloud.ActiveDirectoryAuthorityHost = host
	}
	return s.token
}

// A source keeps the credential that works, and its token.
type source struct {
	client *http.Client
	cloud  cloud.Configuration
	scope  string

	turn       chan struct{} // held by the goroutine that uses what follows
	credential azcore.TokenCredential
	kept       azcore.AccessToken
	failed     error // of the last request's connection
	reached    bool  // some request was answered
}

// early is how long before its end a token is renewed.
const early = 5 * time.Minute

// token returns a valid token.
func (s *source) token(ctx context.Context) (string, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	left := time.Until(s.kept.ExpiresOn)
	if left > early {
		return s.kept.Token, nil
	}
	t, err := s.get(ctx)
	switch {
	case err == nil:
		s.kept = t
		return t.Token, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case left > 0:
		return s.kept.Token, nil // the next request tries to renew it again
	}
	return "", s.explain(err)
}

// get gets a new token.
func (s *source) get(ctx context.Context) (azcore.AccessToken, error) {
	if s.credential == nil {
		var err error
		s.credential, err = azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{
			ClientOptions: azcore.ClientOptions{Cloud: s.cloud, Transport: s, Retry: policy.RetryOptions{MaxRetries: -1}},
			TenantID:      os.Getenv("AZURE_TENANT_ID"),
			// Discovery asks Microsoft whether AZURE_AUTHORITY_HOST is one of theirs. The user set it.
			DisableInstanceDiscovery: true,
		})
		if err != nil {
			return azcore.AccessToken{}, err
		}
	}
	return s.credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{s.scope}})
}

// Do implements [policy.Transporter]. It notes the state of the connection,
// which the errors of azidentity do not tell.
func (s *source) Do(r *http.Request) (*http.Response, error) {
	res, err := s.client.Do(r)
	s.failed = err
	s.reached = s.reached || err == nil
	return res, err
}

// explain returns err as an [*llm.Error] of one line that says what to look at.
func (s *source) explain(err error) error {
	var refused *azidentity.AuthenticationFailedError
	if !errors.As(err, &refused) {
		return denied(http.StatusUnauthorized, "there is no key and no sign-in: set AZURE_OPENAI_API_KEY; or AZURE_TENANT_ID, "+
			"AZURE_CLIENT_ID and AZURE_CLIENT_SECRET; or run az login (%s)", oneLine(err.Error(), 600))
	}
	if s.failed != nil {
		return &llm.Error{Kind: llm.Network, Permanent: !s.reached, Err: fmt.Errorf("no token can be had "+
			"(is the network up, and AZURE_AUTHORITY_HOST right?): %w", s.failed)}
	}
	text, status := oneLine(refused.Error(), 300), 0
	if res := refused.RawResponse; res != nil {
		status = res.StatusCode
		var said struct {
			Description string `json:"error_description"`
		}
		if body, err := runtime.Payload(res); err == nil && json.Unmarshal(body, &said) == nil && said.Description != "" {
			text = oneLine(said.Description, 300)
		}
	}
	return denied(status, "no token of Microsoft Entra, look at %s: %s", variable(text), text)
}

// oneLine returns the first bytes of text on one line, without the secret,
// which Entra may repeat.
func oneLine(text string, most int) string {
	if secret := os.Getenv("AZURE_CLIENT_SECRET"); len(secret) >= 4 {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return wire.OneLine(text, most)
}

// variable returns the environment variable that is probably wrong, by the
// number of Entra's error in text.
func variable(text string) string {
	switch regexp.MustCompile(`AADSTS\d+`).FindString(text) {
	case "AADSTS90002", "AADSTS900023", "AADSTS900021":
		return "AZURE_TENANT_ID"
	case "AADSTS700016", "AADSTS900144":
		return "AZURE_CLIENT_ID and AZURE_TENANT_ID"
	case "AADSTS7000215", "AADSTS7000222", "AADSTS7000216":
		return "AZURE_CLIENT_SECRET"
	case "AADSTS700024", "AADSTS700211", "AADSTS70021", "AADSTS700213", "AADSTS50013":
		return "AZURE_FEDERATED_TOKEN_FILE and the federated credential of the application"
	}
	return "AZURE_TENANT_ID, AZURE_CLIENT_ID and what goes with them"
}

// denied returns an error of kind [llm.Auth]; of an office that is busy, one of kind
// [llm.Network], which is worth another attempt.
func denied(status int, format string, args ...any) error {
	e := &llm.Error{Kind: llm.Auth, Status: status, Permanent: true, Err: fmt.Errorf(format, args...)}
	if status == http.StatusTooManyRequests || status >= 500 {
		e.Kind, e.Permanent = llm.Network, false
	}
	return e
}

// cloudOf returns the cloud of Microsoft's that endpoint belongs to, and the
// scope of tokens for models there.
func cloudOf(endpoint string) (cloud.Configuration, string) {
	host, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(endpoint, "https://"), "http://"), "/")
	switch {
	case strings.HasSuffix(host, ".azure.us"):
		return cloud.AzureGovernment, "https://cognitiveservices.azure.us/.default"
	case strings.HasSuffix(host, ".azure.cn"):
		return cloud.AzureChina, "https://cognitiveservices.azure.cn/.default"
	}
	return cloud.AzurePublic, "https://cognitiveservices.azure.com/.default"
}
