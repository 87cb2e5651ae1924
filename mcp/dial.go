package mcp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// legacy is the last version of the protocol that begins with a handshake.
const legacy = "2025-11-25"

// probe is how long a server may be silent when it is asked in the newest
// version. Some that are older do not answer what they do not know.
const probe = 10 * time.Second

// dial connects to the server in the newest version that it speaks, and
// returns the connection and what ends it.
func (l *link) dial(ctx context.Context) (*sdk.ClientSession, func() error, error) {
	if l.cfg.URL != "" {
		return l.dialHTTP(ctx)
	}
	first, cancel := context.WithTimeout(ctx, min(probe, l.cfg.StartTimeout/2))
	defer cancel()
	sess, end, err := l.dialProgram(first, "")
	if err == nil || ctx.Err() != nil || first.Err() == nil && !errors.Is(err, errSilent) {
		return sess, end, err
	}
	return l.dialProgram(ctx, legacy)
}

// errSilent says that a program ended our first request by hanging up, and
// not as one that could not be started.
var errSilent = errors.New("it hung up")

// client is our side of one connection.
func (l *link) client() *sdk.Client {
	return sdk.NewClient(&sdk.Implementation{Name: "openmanus", Title: "OpenManus", Version: cmp.Or(l.c.opts.Version, "dev")}, &sdk.ClientOptions{
		Logger:       slog.New(slog.DiscardHandler),
		Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}},

		ElicitationHandler:          l.elicit,
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { l.changed() },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { l.onProgress(r.Params) },
	})
}
