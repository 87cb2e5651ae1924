// Modelserver runs the scripted model of the benchmarks by itself, to point a
// client at by hand:
//
//	go run ./cmd/modelserver -addr 127.0.0.1:8099
//	OPENAI_API_KEY=none openmanus run --base-url http://127.0.0.1:8099/v1 --model openai/steps-0-0 hi
//
// It prints its base URL, then a line for every request; when it is
// interrupted, the median gap and the cached-prefix ratio of all of them.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/openmanus-go/openmanus/bench/server"
	"github.com/openmanus-go/openmanus/bench/stats"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "where to listen")
	flag.Parse()
	if err := run(*addr); err != nil {
		fmt.Fprintln(os.Stderr, "modelserver:", err)
		os.Exit(1)
	}
}

func run(addr string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	srv, err := server.Listen(addr, func(name string) (server.Script, error) {
		name, _, _ = strings.Cut(name, "#") // of many agents at once, each has its own
		return server.Steps(name)
	})
	if err != nil {
		return err
	}
	defer srv.Close()
	fmt.Println(srv.URL())
	srv.Begin(func(r server.Record) {
		fmt.Printf("%s model=%s step=%d bytes=%d stream=%t conn=%d\n", r.In.Format("15:04:05.000000"), r.Model, r.Step, r.Size, r.Stream, r.Conn)
	})
	<-ctx.Done()
	done := srv.End()
	prefix, err := done.Prefix()
	if err != nil {
		return err
	}
	fmt.Printf("%d requests, gap p50 %.0f us, cached prefix %.4f\n", len(done.Records), stats.Median(stats.Micros(done.Gaps())), prefix.Ratio())
	return nil
}
