// Package entra gets tokens of Microsoft Entra, with which models on Azure are
// asked instead of with a key. It speaks to Entra itself: Microsoft's library
// would be larger than all that is asked with it.
package entra

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// DefaultToken returns what gets bearer tokens for the resource at endpoint,
// with the first credentials there are of those that Azure's own tools use:
//
//   - AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, an application's;
//   - AZURE_FEDERATED_TOKEN_FILE with the first two, a workload's in Kubernetes;
//   - IDENTITY_ENDPOINT and IDENTITY_HEADER, a managed identity's in a service;
//   - those of az login;
//   - a managed identity's of a virtual machine.
//
// They are looked for when a token is wanted, and a token is kept until five
// minutes before its end. The client, if not nil, asks for them; it follows no
// redirects, which would take the secret elsewhere. What is returned is safe
// for concurrent use, and its errors are an [*llm.Error] or ctx's.
func DefaultToken(client *http.Client, endpoint string) func(context.Context) (string, error) {
	if client == nil {
		client = &http.Client{Timeout: 30 * time.Second}
	}
	s := &source{client: wire.Client(client), cloud: cloudOf(endpoint), turn: make(chan struct{}, 1)}
	return s.token
}

// source keeps a token.
type source struct {
	client *http.Client
	cloud  cloud
	turn   chan struct{} // whoever is in it looks and asks
	kept   token
	there  bool // somebody answered once
}

// A token is good until a time.
type token struct {
	text  string
	until time.Time
}

// early is how long before its end a token is renewed.
const early = 5 * time.Minute

// token returns a token that is good.
func (s *source) token(ctx context.Context) (string, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	left := time.Until(s.kept.until)
	if left > early {
		return s.kept.text, nil
	}
	t, err := s.ask(ctx)
	switch {
	case err == nil:
		s.kept = t
		return t.text, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case left > 0:
		return s.kept.text, nil // renewed another time
	}
	return "", err
}

// ask asks whoever gives tokens here.
func (s *source) ask(ctx context.Context) (token, error) {
	tenant, id := os.Getenv("AZURE_TENANT_ID"), os.Getenv("AZURE_CLIENT_ID")
	secret, file := os.Getenv("AZURE_CLIENT_SECRET"), os.Getenv("AZURE_FEDERATED_TOKEN_FILE")
	switch {
	case secret != "" || file != "":
		if tenant == "" || id == "" {
			return token{}, denied("AZURE_TENANT_ID and AZURE_CLIENT_ID have to be set beside %s", either(secret != "", "AZURE_CLIENT_SECRET", "AZURE_FEDERATED_TOKEN_FILE"))
		}
		return s.application(ctx, tenant, id, secret, file)
	case os.Getenv("IDENTITY_ENDPOINT") != "":
		return s.service(ctx, os.Getenv("IDENTITY_ENDPOINT"), os.Getenv("IDENTITY_HEADER"), id)
	}
	t, err := s.person(ctx, tenant)
	if err == nil || ctx.Err() != nil {
		return t, err
	}
	t, away := s.machine(ctx, id)
	if busy := s.there && llm.KindOf(away) == llm.Network; away == nil || ctx.Err() != nil || busy || id != "" && s.there {
		return t, away
	}
	return t, denied("there is no key and no sign-in: set AZURE_OPENAI_API_KEY; or AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET; or run az login "+
		"(%w; and this machine has no identity at Azure)", err)
}

func either(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

func denied(format string, args ...any) error {
	return &llm.Error{Kind: llm.Auth, Permanent: true, Err: fmt.Errorf(format, args...)}
}

// A cloud is one of those that Microsoft runs: whom they sign in at, and for
// what.
type cloud struct{ authority, resource string }

func cloudOf(endpoint string) cloud {
	host, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(endpoint, "https://"), "http://"), "/")
	switch {
	case strings.HasSuffix(host, ".azure.us"):
		return cloud{"https://login.microsoftonline.us", "https://cognitiveservices.azure.us"}
	case strings.HasSuffix(host, ".azure.cn"):
		return cloud{"https://login.chinacloudapi.cn", "https://cognitiveservices.azure.cn"}
	}
	return cloud{"https://login.microsoftonline.com", "https://cognitiveservices.azure.com"}
}
