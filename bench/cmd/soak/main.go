// Soak runs openmanus serve for a while beside many clients, and prints what the server holds: descriptors, memory, processes.
// Sessions begin all the time, each with a shell; clients list, read, follow and go on with earlier ones.
//
//	go run ./cmd/soak -cli ../bin/openmanus -for 15m
//
// It fails if a request did, or if descriptors or memory were higher at the end than they were between the second and the
// fourth minute, by more than a tenth.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/openmanus-go/openmanus/bench/server"
)

type options struct {
	cli     string
	time    time.Duration
	clients int
	rate    int // requests a second, of all clients
	every   int // requests, of which one begins a session
	sample  time.Duration
	config  string // more of it
}

func main() {
	var o options
	flag.StringVar(&o.cli, "cli", "openmanus", "the program")
	flag.DurationVar(&o.time, "for", 15*time.Minute, "how long")
	flag.IntVar(&o.clients, "clients", 154, "how many; a quarter of them follow events")
	flag.IntVar(&o.rate, "rate", 68, "requests a second, of all clients")
	flag.IntVar(&o.every, "every", 40, "of so many requests one begins a session")
	flag.DurationVar(&o.sample, "sample", 30*time.Second, "the time between two lines")
	flag.StringVar(&o.config, "config", "", "more lines for the section [serve]")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	model, err := server.Listen("127.0.0.1:0", script)
	if err != nil {
		return err
	}
	defer model.Close()
	cmd, link, err := serve(o, dir, model.URL())
	if err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}()
	c, err := newCrowd(link)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.time)
	defer cancel()
	ended := make(chan struct{})
	go func() { defer close(ended); c.run(ctx, o) }()
	all := watch(ctx, c, model, cmd.Process.Pid, o.sample)
	<-ended
	return errors.Join(c.verdict(), flat(all))
}

// script is a model that starts a shell, and says that it did.
func script(string) (server.Script, error) {
	return func(step int) server.Reply {
		if step%2 == 0 {
			return server.Reply{Calls: []server.Call{{Name: "bash", Arguments: `{"command":"echo $$ > shell.txt; seq 200"}`}}}
		}
		return server.Reply{Text: "The shell is there."}
	}, nil
}

// serve starts the server, and returns the link that it prints.
func serve(o options, dir, model string) (*exec.Cmd, string, error) {
	file := filepath.Join(dir, "config.toml")
	text := fmt.Sprintf(`[llm]
model = "openai/soak"
base_url = %q
api_key = "none"

[serve]
sessions_per_hour = 1000000
%s
[users.soak]
token = "soak-soak-soak-soak"
approve = "all"
admin = true
`, model, o.config)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, "", err
	}
	cmd := exec.Command(o.cli, "serve", "--addr", "127.0.0.1:0", "--config", file, "--data-dir", filepath.Join(dir, "data"))
	log, err := os.Create(filepath.Join(os.TempDir(), "soak.log"))
	if err != nil {
		return nil, "", err
	}
	cmd.Stderr, cmd.Dir = log, dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	var link string
	if _, err := fmt.Fscanln(out, &link); err != nil {
		_ = cmd.Wait()
		return nil, "", fmt.Errorf("the server did not start: see %s", log.Name())
	}
	return cmd, link, nil
}
