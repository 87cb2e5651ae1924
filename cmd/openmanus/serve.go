package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/openmanus-go/openmanus/host/scheduled"
	"github.com/openmanus-go/openmanus/server"
)

// serveCmd is openmanus serve.
type serveCmd struct {
	clusterFlags
	Addr  string `help:"Where to listen: HOST:PORT. Port 0 picks one." placeholder:"HOST:PORT"`
	Model string `help:"The model of sessions that name none." placeholder:"PROVIDER/NAME"`

	QR     bool   `name:"qr" help:"Also print a link that signs one browser in, once, as a QR code for a phone."`
	Public string `help:"The address under which others reach the server, with which that link begins. Default: the address that it listens on." placeholder:"URL"`
}

// Help is more of the command.
func (serveCmd) Help() string {
	return `The first line on standard output is the link to open, with your token. Programs send the token as "Authorization: Bearer TOKEN". The API is described at /api/v1/openapi.json; below /v1 is an OpenAI-compatible API, in which each agent appears as a model.

Ctrl-C or SIGTERM stops the server. Running sessions are saved and continue at the next start.`
}

// Run implements the command.
func (c *serveCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	flags := flagsOf(*c)
	delete(flags, "qr") // which sets no key
	out := t.out        // on which tokens are not secrets
	log := slog.New(slog.NewTextHandler(t.err, nil))
	a, all, err := t.openFleet(ctx, g, flags, workerName(), log)
	if err != nil {
		return err
	}
	defer a.Close()
	if c.Model != "" { // without, a server may start before a model is configured
		if _, _, err := a.Choose(ctx); err != nil {
			return err
		}
	}
	o, sh, end, err := a.serving(t, g, flags, log)
	if err != nil {
		return err
	}
	defer end()
	a.AskToInstall = len(o.Users) == 1 // others are not users of this machine
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if a.Config.Store.Shared() {
		o.TakeOver = lookForDead
	}
	if all != nil { // workers drive the sessions
		defer all.Close()
		o.Runtime, o.Elsewhere, o.TakeOver = all, all.Ensure, lookForForgotten
	}
	o.A2A, o.Public, o.Hosts = a.Config.Serve.A2A, a.Config.Serve.Public, sh.Names()
	if o.CardKey, err = sh.CardKey(); err != nil {
		return usage(err)
	}
	if o.Triggers, err = sh.Triggers(); err != nil {
		return usage(err)
	}
	var s *server.Server
	runner := a.runner(func(ctx context.Context, session string) error { return s.Wake(ctx, session) })
	runner.Log = log
	schedules, err := scheduled.NewService(scheduled.Options{Runner: runner, Config: a.Config, File: sh.File, Lookup: t.env, MayChoose: sh.MayChoose})
	if err != nil {
		return usage(err)
	}
	o.Schedules = schedules
	if s, err = server.New(ctx, o); err != nil {
		return usage(err)
	}
	defer s.Close()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", a.Config.Serve.Addr)
	if err != nil {
		return usage(fmt.Errorf("cannot listen: %w; another address: openmanus serve --addr HOST:PORT", err))
	}
	base := "http://" + reachable(l.Addr().String())
	if err := c.announce(out, s, base, cmp.Or(a.Config.Serve.Public, base), o.Users[0].Token); err != nil {
		return errors.Join(err, l.Close())
	}
	beside, stop := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { a.pruneEveryHour(beside) })
	done.Go(func() { schedules.Run(beside) })
	done.Go(func() { a.Relay(beside) })
	err = s.Serve(ctx, l)
	stop()
	done.Wait()
	return err
}

// announce prints the link with which the first user signs in, and as a QR code a link to
// the public address that works once. Other users know their tokens.
func (c *serveCmd) announce(out io.Writer, s *server.Server, base, public, token string) error {
	_, err := fmt.Fprintf(out, "%s/?token=%s\n", base, token)
	if err != nil || !c.QR {
		return err
	}
	return printQR(out, s.OneTimeLink(public, token))
}

// lookForDead is how often a server looks for sessions whose server has died, if others
// have the same store.
const lookForDead = 15 * time.Second

// lookForForgotten is how often a server looks for sessions that no worker was asked to
// drive, because a server died just before.
const lookForForgotten = time.Minute

// printQR prints a link that signs one browser in, once, as text and as a QR code.
func printQR(out io.Writer, link string) error {
	picture, err := server.QR(link)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n%sThe code signs one browser in, once, within ten minutes.\n", link, picture)
	return err
}

// pruneEveryHour prunes what is kept of workspaces until ctx ends.
func (a *app) pruneEveryHour(ctx context.Context) {
	hour := time.NewTicker(time.Hour)
	defer hour.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-hour.C:
			a.PruneNowAndThen(ctx)
		}
	}
}

// reachable returns an address that a browser can open for a server that listens
// on addr: the loopback address if it listens on all addresses.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
