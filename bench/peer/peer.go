// Package peer is what the clients under measurement have in common: each is
// a program of its own, so that its processor time and memory are its alone.
package peer

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
)

// Instructions and Prompt are what every peer says first.
const (
	Instructions = "You are a helpful agent. Use the tool until there is nothing left to do."
	Prompt       = "Please do all the steps."
)

// ToolDescription describes server.Tool.
const ToolDescription = "Does nothing and returns size bytes of text."

// Input is the arguments of server.Tool.
type Input struct {
	I    int `json:"i" jsonschema:"number of the call" jsonschema_description:"number of the call"`
	Size int `json:"size" jsonschema:"bytes of the result" jsonschema_description:"bytes of the result"`
}

// Config is what the driver tells a peer.
type Config struct {
	URL    string // base URL of the model server
	Model  string
	Steps  int // how many calls the model will make, for peers that want a limit
	Stream bool
	DB     string // a file to keep every event in; none: no durability
	Replay string // a file of recorded bodies
}

// Key is the key that peers send; the server takes any.
const Key = "sk-bench"

// Main reads the flags of a peer and runs it.
func Main(run func(ctx context.Context, c Config) error) {
	var c Config
	flag.StringVar(&c.URL, "url", "", "base URL of the model server")
	flag.StringVar(&c.Model, "model", "", "model, such as steps-100-1024")
	flag.IntVar(&c.Steps, "steps", 0, "number of calls to expect")
	flag.BoolVar(&c.Stream, "stream", false, "ask for streams")
	flag.StringVar(&c.DB, "db", "", "file to keep the events in (ours)")
	flag.StringVar(&c.Replay, "replay", "", "file of recorded bodies (bare)")
	profile := flag.String("cpuprofile", "", "file to write a profile to")
	flag.Parse()
	if err := profiled(*profile, func(ctx context.Context) error { return run(ctx, c) }); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[0], err)
		os.Exit(1)
	}
}

func profiled(file string, run func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if file == "" {
		return run(ctx)
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return run(ctx)
}
