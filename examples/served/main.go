// Command served serves an agent of its own to browsers and programs, with the
// tools, the sandbox, the store and the page of OpenManus. It shows all that a
// program needs for that: an agent, and one call each to put the packages
// together.
//
//	go run ./examples/served -model openai/gpt-5 -data /var/lib/served
//
// The first line that it prints is the link to open.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/served"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/server"
	"github.com/openmanus-go/openmanus/store"
	"github.com/openmanus-go/openmanus/tools"
)

func main() {
	sandbox.Main() // parts of a sandbox are this program again
	addr := flag.String("addr", "127.0.0.1:8080", "where to listen, as `HOST:PORT`")
	data := flag.String("data", "served-data", "the `directory` of sessions and workspaces")
	model := flag.String("model", "", "the model, as `PROVIDER/NAME`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	l, err := net.Listen("tcp", *addr)
	if err == nil {
		err = serve(ctx, l, *data, *model, rand.Text())
	}
	if err != nil {
		log.Fatal(err)
	}
}

// serve serves the agent on l until ctx ends, to whoever has the token.
func serve(ctx context.Context, l net.Listener, data, model, token string) (err error) {
	data, err = filepath.Abs(data)
	if err != nil {
		return err
	}
	env := host.Env{Lookup: os.LookupEnv, Dir: data, Warn: func(text string) { log.Print(text) }}
	cfg, err := env.Load(config.Sources{Flags: map[string]string{"data-dir": data, "agent": "clerk", "model": model}})
	if err != nil {
		return err
	}
	db, err := store.Open(cfg.DataDir, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	h, err := host.New(host.Options{Env: env, Config: cfg, Store: db, Kinds: []agents.Kind{clerk}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	user := server.User{Name: "you", Token: token, Approve: openmanus.ApproveEdits, Root: filepath.Join(data, "workspaces")}
	s, err := server.New(ctx, server.Options{Store: db, Local: h.Local, Host: served.Host{Host: h}, Users: []server.User{user}})
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/?token=%s\n", l.Addr(), token)
	return s.Serve(ctx, l)
}

// clerk is the agent of this program. Its commands run in the sandbox.
var clerk = agents.Kind{
	Name:        "clerk",
	Description: "Keeps the files of an office in order.",
	Make: func(o agents.Options) (*openmanus.Agent, io.Closer, error) {
		bash := tools.NewBash(o.Workspace)
		return &openmanus.Agent{
			Name:         "clerk",
			Instructions: "You keep the files of an office in order. Look before you move anything, and say what you moved where.",
			Tools:        []openmanus.Tool{bash, tools.NewEditor(o.Workspace), tools.NewTerminate()},
		}, bash, nil
	},
}
