// Proxy is net/http/httputil's reverse proxy before the model: the least that
// stands between a model and who reads it over HTTP.
package main

import (
	"context"
	"net/http/httputil"
	"net/url"

	"github.com/openmanus-go/openmanus/bench/peer"
)

func main() { peer.Main(run) }

func run(ctx context.Context, c peer.Config) error {
	to, err := url.Parse(c.URL)
	if err != nil {
		return err
	}
	return peer.Serve(ctx, httputil.NewSingleHostReverseProxy(&url.URL{Scheme: to.Scheme, Host: to.Host}))
}
