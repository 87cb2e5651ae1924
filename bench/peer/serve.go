package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
)

// Token is what the server of openmanus asks for.
const Token = "bench-0123456789abcdef"

// Serve serves h on a port of this machine, whose address it prints, until ctx
// ends.
func Serve(ctx context.Context, h http.Handler) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: h}
	stop := context.AfterFunc(ctx, func() { srv.Close() })
	defer stop()
	fmt.Printf("http://%s\n", l.Addr())
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
