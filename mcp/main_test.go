package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

func TestMain(m *testing.M) {
	if s := os.Getenv("MCP_CONFORMANCE_SCENARIO"); s != "" { // the suite drives us
		if err := conformanceClient(s, os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if wait := os.Getenv("MCP_BEGIN_AFTER"); wait != "" { // a server of BenchmarkConnect
		if err := beginAfter(wait); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	testbed.Main(m)
}

// beginAfter is a server that takes its time to begin.
func beginAfter(wait string) error {
	d, err := time.ParseDuration(wait)
	if err != nil {
		return err
	}
	time.Sleep(d)
	return newServer(tool("t", "")).Run(context.Background(), &sdk.StdioTransport{})
}

// programs are servers that run in this process: a [workspace.Runner] whose
// commands are functions, by their names.
type programs map[string]func(ctx context.Context, in *os.File, out *os.File) error

// Run implements [workspace.Runner].
func (p programs) Run(ctx context.Context, cmd *workspace.Cmd) error {
	f := p[cmd.Args[0]]
	if f == nil {
		return fmt.Errorf("there is no program %q", cmd.Args[0])
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, out := again(cmd.Stdin.(*os.File)), again(cmd.Stdout.(*os.File))
	defer in.Close()
	defer out.Close()
	defer context.AfterFunc(ctx, func() { in.Close(); out.Close() })() // as if it was killed
	return f(ctx, in, out)
}

type sdkServer = sdk.Server

// again is another handle of a file, as a process of its own has one.
func again(f *os.File) *os.File {
	fd, err := dup(f)
	if err != nil {
		panic(err)
	}
	return fd
}

// serving is a program that is a server of the SDK. make is called each time
// it is started.
func serving(make func() *sdk.Server) func(context.Context, *os.File, *os.File) error {
	return func(ctx context.Context, in, out *os.File) error {
		err := make().Run(ctx, &sdk.IOTransport{Reader: in, Writer: out})
		if errors.Is(err, io.EOF) || ctx.Err() != nil {
			return nil
		}
		return err
	}
}

// newServer is a server with the given tools.
func newServer(tools ...*sdk.Tool) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	for _, t := range tools {
		s.AddTool(t, echo)
	}
	return s
}

// tool is a tool with a text argument.
func tool(name, description string) *sdk.Tool {
	return &sdk.Tool{Name: name, Description: description, InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)}
}

// echo says which tool was called with what.
func echo(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: r.Params.Name + " " + string(r.Params.Arguments)}}}, nil
}

// A listener hears what a client says.
type listener struct {
	mu    sync.Mutex
	lines []string
}

func (l *listener) say(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

func (l *listener) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// start connects a client to programs, with one server for each name.
func start(t *testing.T, p programs, o Options, names ...string) (*Client, *listener) {
	t.Helper()
	heard := new(listener)
	o.Runner, o.Say = p, heard.say
	for _, n := range names {
		o.Servers = append(o.Servers, ServerConfig{Name: n, Command: n})
	}
	for i := range o.Servers {
		if o.Servers[i].ID == "" && o.Approvals != nil {
			o.Servers[i].ID = Identity(o.Servers[i])
		}
	}
	c := NewClient(o)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	c.Start(t.Context())
	return c, heard
}

// find returns the tool with the name.
func find(t *testing.T, c *Client, name string) openmanus.Tool {
	t.Helper()
	var names []string
	for _, tool := range c.Tools() {
		if tool.Spec().Name == name {
			return tool
		}
		names = append(names, tool.Spec().Name)
	}
	t.Fatalf("there is no tool %s; there are %v", name, names)
	return nil
}

func names(tools []openmanus.Tool) string {
	var list []string
	for _, t := range tools {
		list = append(list, t.Spec().Name)
	}
	return strings.Join(list, " ")
}

// call is a call of a session.
func call(id, name, input string, answers ...openmanus.Answer) openmanus.Call {
	return openmanus.Call{Call: llm.Call{ID: id, Name: name, Input: input}, Session: "s", Answers: answers, Blobs: new(journal.Memory), Live: io.Discard}
}

// use calls the tool with the name.
func use(t *testing.T, c *Client, name, input string) (openmanus.Result, error) {
	t.Helper()
	return find(t, c, name).Run(t.Context(), call("c", name, input))
}

// says fails unless the tool's result has the text.
func says(t *testing.T, c *Client, name, input, want string) {
	t.Helper()
	res, err := use(t, c, name, input)
	if err != nil || !strings.Contains(res.Parts.Text(), want) {
		t.Errorf("%s %s: %q, %v; want %q", name, input, res.Parts.Text(), err, want)
	}
}

// fails fails unless the call fails with an error that has the text.
func fails(t *testing.T, c *Client, name, input, want string) {
	t.Helper()
	res, err := use(t, c, name, input)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s %s: %q, %v; want an error with %q", name, input, res.Parts.Text(), err, want)
	}
}
