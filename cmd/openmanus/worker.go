package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/run"
	"github.com/openmanus-go/openmanus/server"
)

// workerCmd is openmanus worker.
type workerCmd struct {
	clusterFlags
	Sessions string `help:"How many sessions to take at a time: [worker] sessions." placeholder:"N"`
}

// Help is more of the command.
func (workerCmd) Help() string {
	return `A worker drives the sessions of servers that use the same [store], [blobs] and [temporal]. Any number of workers may run, on any number of machines, with the same data directory and the same paths of workspaces.

Ctrl-C or SIGTERM stops the worker: its sessions are recorded, and go on at others.`
}

// Run implements the command.
func (c *workerCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	flags := flagsOf(*c)
	log := slog.New(slog.NewTextHandler(t.err, nil))
	name := workerName() + "@" + thisBuild().Version
	a, all, err := t.openFleet(ctx, g, flags, name, log)
	if err != nil {
		return err
	}
	defer a.Close()
	if all == nil {
		return usage(errors.New("a worker needs [temporal] address: openmanus worker --temporal HOST:PORT"))
	}
	defer all.Close()
	o, _, end, err := a.serving(t, g, flags, log)
	if err != nil {
		return err
	}
	defer end()
	o.Runtime = entering{a.Host, o.Runtime}
	most := a.Config.Worker.Browsers
	o.Short = func() bool { return most > 0 && a.Browsers() >= most }
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	// a server without a listener: it holds what sessions need, and tells of what happens
	s, err := server.New(ctx, o)
	if err != nil {
		return usage(err)
	}
	defer s.Close()
	serving, err := a.db.(sharedStore).Serve(ctx)
	if err != nil {
		return err
	}
	defer serving.Release() // else it expires
	beside, ended := context.WithCancel(ctx)
	var relaying sync.WaitGroup
	relaying.Go(func() { a.Relay(beside) })
	defer relaying.Wait()
	defer ended()
	log.Info("worker takes sessions", "worker", name, "sessions", a.Config.Worker.Sessions, "temporal", a.Config.Temporal.Address)
	err = all.Work(ctx, workerOf{name: name, sessions: a.Config.Worker.Sessions, room: s.Room, drive: s.Drive, failed: s.Failed})
	log.Info("worker stopped", "worker", name)
	return err
}

// workerName returns what others call this process.
func workerName() string {
	machine, err := os.Hostname()
	if err != nil {
		machine = "unknown"
	}
	return fmt.Sprintf("%s/%d-%s", machine, os.Getpid(), ids.New()[:6])
}

// An entering is a runtime that has the files of a session brought before it drives it.
type entering struct {
	h *host.Host
	run.Runtime
}

// Wake implements [run.Runtime].
func (e entering) Wake(ctx context.Context, session string) error {
	leave, err := e.h.Enter(ctx, session)
	if err != nil {
		return err
	}
	return errors.Join(e.Runtime.Wake(ctx, session), leave())
}
