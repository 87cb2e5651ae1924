package vertex

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// DefaultToken returns what gets bearer tokens with the credentials that
// Google's own tools use: a file that GOOGLE_APPLICATION_CREDENTIALS names,
// those of gcloud auth application-default login, or the machine's own in
// Google's cloud. They are looked for when a token is wanted, and a token is
// kept for as long as it is good. The client, if not nil, asks for them. The
// result is safe for concurrent use, and its errors are an [*llm.Error], ctx's,
// or the connection's.
func DefaultToken(client *http.Client) func(context.Context) (string, error) {
	turn := make(chan struct{}, 1)
	var kept *oauth2.Token
	return func(ctx context.Context) (string, error) {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if kept.Valid() {
			return kept.AccessToken, nil
		}
		if client != nil {
			ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
		}
		found, err := google.FindDefaultCredentials(ctx, "https://www.googleapis.com/auth/cloud-platform")
		if err != nil {
			return "", &llm.Error{Kind: llm.Auth, Permanent: true, Err: fmt.Errorf("there are no Google credentials: name a service account's file in "+
				"GOOGLE_APPLICATION_CREDENTIALS, or run gcloud auth application-default login (%s)", wire.OneLine(err.Error(), 300))}
		}
		token, err := found.TokenSource.Token()
		if err != nil {
			return "", refused(ctx, err)
		}
		kept = token
		return token.AccessToken, nil
	}
}

// refused is the error of credentials that give no token.
func refused(ctx context.Context, err error) error {
	var answer *oauth2.RetrieveError
	var away *url.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &answer) && answer.Response != nil && answer.Response.StatusCode >= 500:
		return &llm.Error{Kind: llm.Network, Status: answer.Response.StatusCode, Err: errors.New("Google gives no token now: " + wire.OneLine(err.Error(), 300))}
	case errors.As(err, &away) && answer == nil:
		return fmt.Errorf("ask %s for a token: %w", away.URL, err)
	}
	return &llm.Error{Kind: llm.Auth, Permanent: true, Err: fmt.Errorf("these credentials are not accepted by Google: sign in again with "+
		"gcloud auth application-default login, or look at the file that GOOGLE_APPLICATION_CREDENTIALS names (%s)", wire.OneLine(err.Error(), 300))}
}
