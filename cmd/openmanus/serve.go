package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/host/served"
	"github.com/openmanus-go/openmanus/server"
)

// serveCmd is openmanus serve.
type serveCmd struct {
	Addr  string `help:"Where to listen: HOST:PORT. Port 0 picks one." placeholder:"HOST:PORT"`
	Model string `help:"The model of sessions that name none." placeholder:"PROVIDER/NAME"`
}

// Help is more of the command.
func (serveCmd) Help() string {
	return `The first line on standard output is the link to open, with your token. Programs send it as "Authorization: Bearer TOKEN"; the API is described at /api/v1/openapi.json, and speaks as OpenAI's does under /v1, with agents for models.

It ends with Ctrl-C or SIGTERM: what runs is recorded, and goes on at the next start.`
}

// Run implements the command.
func (c *serveCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	flags := map[string]string{}
	for name, v := range map[string]string{"addr": c.Addr, "model": c.Model} {
		if v != "" {
			flags[name] = v
		}
	}
	out := t.out // on which tokens are not secrets
	a, err := t.open(g, flags)
	if err != nil {
		return err
	}
	defer a.Close()
	users, err := a.users()
	if err != nil {
		return usage(err)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	runtime, end, err := a.Traced()
	if err != nil {
		return usage(err)
	}
	defer end()
	s, err := server.New(ctx, server.Options{
		Store: a.db, Local: a.Local, Runtime: runtime, Host: served.Host{Host: a.Host}, Users: users, Hosts: a.hosts(), Version: thisBuild().Version, Idle: a.Config.Serve.Idle,
		Log: slog.New(slog.NewTextHandler(t.err, nil)),
	})
	if err != nil {
		return usage(err)
	}
	defer s.Close()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", a.Config.Serve.Addr)
	if err != nil {
		return usage(fmt.Errorf("cannot listen: %w; another address: openmanus serve --addr HOST:PORT", err))
	}
	// Others than the first know their tokens.
	if _, err := fmt.Fprintf(out, "http://%s/?token=%s\n", reachable(l.Addr().String()), users[0].Token); err != nil {
		return errors.Join(err, l.Close())
	}
	return s.Serve(ctx, l)
}

// reachable is an address to open: that of this machine, if it listens on all
// of its addresses.
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

// hosts are the names of the server, besides those of this machine itself.
func (a *app) hosts() []string {
	hosts := a.Config.Serve.Hosts
	if host, _, err := net.SplitHostPort(a.Config.Serve.Addr); err == nil && host != "" {
		hosts = append(hosts, host)
	}
	return hosts
}

// users are who may use the server: those of the configuration, or one whose
// token is kept in the data directory.
func (a *app) users() ([]server.User, error) {
	root := cmp.Or(a.Config.Serve.Root, filepath.Join(a.Config.DataDir, "workspaces"))
	var all []server.User
	for _, name := range a.Config.UserNames() {
		u := a.Config.Users[name]
		token := string(u.Token)
		if u.TokenEnv != "" {
			if token, _ = a.t.env(u.TokenEnv); token == "" {
				return nil, fmt.Errorf("users.%s.token_env: %s is not set", name, u.TokenEnv)
			}
		}
		all = append(all, server.User{Name: name, Token: token, Approve: u.Approve, Root: filepath.Join(root, name), Sessions: a.Config.Serve.Sessions})
	}
	if len(all) > 0 {
		return all, nil
	}
	token, err := keptToken(filepath.Join(a.Config.DataDir, "serve.token"))
	return []server.User{{Name: "local", Token: token, Approve: openmanus.ApproveAll, Root: root, Sessions: a.Config.Serve.Sessions}}, err
}

// keptToken returns the token in a file, and makes one if there is none.
func keptToken(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err == nil {
		return strings.TrimSpace(string(data)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var b [20]byte
	rand.Read(b[:])
	token := strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
	return token, os.WriteFile(file, []byte(token+"\n"), 0o600)
}
