// Package peer is what the clients under measurement have in common: each is
// a program of its own, so that its processor time and memory are its alone.
package peer

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"sync"
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
	Agents int    // so many at once, each with the model Model#I; 0: one, with Model
	Idle   int    // do nothing but hold so many conversations, and tell what they take
}

// Each runs f for every agent at once, with the model that is its own.
func (c Config) Each(f func(model string) error) error {
	if c.Agents == 0 {
		return f(c.Model)
	}
	errs := make([]error, c.Agents)
	var all sync.WaitGroup
	for i := range c.Agents {
		all.Go(func() { errs[i] = f(fmt.Sprintf("%s#%d", c.Model, i)) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// Heap is what a process holds after a collection, in bytes, and how many
// goroutines it has.
func Heap() (bytes uint64, goroutines int) {
	runtime.GC()
	runtime.GC() // finalizers have run
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse, runtime.NumGoroutine()
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
	flag.IntVar(&c.Agents, "agents", 0, "how many agents at once, each with a model of its own: MODEL#I")
	flag.IntVar(&c.Idle, "idle", 0, "hold so many conversations, and print what each takes")
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

// The content of idle conversations.
const (
	Messages    = 20
	MessageSize = 200 // bytes
)

// Tell prints what an idle conversation takes, in bytes, and how many
// goroutines all of them do.
func Tell(n int, before, evicted, warm uint64, goroutines int) error {
	each := func(now, then uint64) float64 { return (float64(now) - float64(then)) / float64(n) }
	_, err := fmt.Printf("%.0f %.0f %d\n", each(evicted, before), each(warm, evicted), goroutines)
	return err
}
