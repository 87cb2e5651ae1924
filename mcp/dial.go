package mcp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"path/filepath"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// legacy is the last version of the protocol that begins with a handshake.
const legacy = "2025-11-25"

// probe is how long a server may take to answer a request in the newest version
// of the protocol. Some older servers do not answer what they do not know.
const probe = 10 * time.Second

// dial connects to the server in the newest version of the protocol that the
// server speaks. It returns the connection and a function that ends it.
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

// errSilent says that a program started and ended at our first request.
var errSilent = errors.New("it hung up")

// client returns the SDK's client for one connection.
func (l *link) client() *sdk.Client {
	us := &sdk.Implementation{Name: "openmanus", Title: "OpenManus", Version: cmp.Or(l.c.opts.Version, "dev")}
	can := &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{
		Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{},
	}}
	offers := l.cfg.Command != "" && l.c.opts.Root != ""
	if offers {
		//lint:ignore SA1019 servers ask for roots as long as the protocol has them
		can.RootsV2 = &sdk.RootCapabilities{}
	}
	c := sdk.NewClient(us, &sdk.ClientOptions{
		Logger: slog.New(slog.DiscardHandler), Capabilities: can,
		ElicitationHandler:     l.elicit,
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { l.changed() },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			l.onProgress(r.Params)
		},
	})
	if offers {
		uri := url.URL{Scheme: "file", Path: filepath.ToSlash(l.c.opts.Root)}
		//lint:ignore SA1019 as above
		c.AddRoots(&sdk.Root{URI: uri.String(), Name: filepath.Base(l.c.opts.Root)})
	}
	return c
}
