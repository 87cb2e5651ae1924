package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/llm"
)

// A remote is a tool of a server, as it was when the server was last asked.
type remote struct {
	link *link
	origin
	def   definition
	hash  string
	size  int
	held  string             // why it is not offered; "": it is
	check json.RawMessage    // the schema of its arguments
	spec  openmanus.ToolSpec // its name is given when it is offered
}

// Spec implements [openmanus.Tool].
func (r *remote) Spec() openmanus.ToolSpec { return r.spec }

// Run implements [openmanus.Tool].
func (r *remote) Run(ctx context.Context, call openmanus.Call) (openmanus.Result, error) {
	return r.run(ctx, call, json.RawMessage(call.Input))
}

// run calls the tool with arguments that fit its schema. It fails if the server
// has changed or removed the tool meanwhile, or was itself removed.
func (r *remote) run(ctx context.Context, call openmanus.Call,
	input json.RawMessage) (openmanus.Result, error) {
	l := r.link.c.link(r.server)
	if l == nil {
		return openmanus.Result{}, fmt.Errorf("the MCP server %s was disconnected, and this tool with it", clip.Clean(r.server))
	}
	if _, err := l.connected(ctx); err != nil {
		return openmanus.Result{}, l.unreachable(err)
	}
	now := l.known().byName[r.tool]
	switch {
	case now == nil:
		return openmanus.Result{}, fmt.Errorf("the server %s no longer has this tool; %s lists its tools",
			clip.Clean(r.server), nameFind)
	case now.hash != r.hash && now.held != "":
		return openmanus.Result{}, fmt.Errorf("the server %s changed this tool (%s), and no person has "+
			"approved "+
			"that yet: it cannot be used. A person can look at it: openmanus mcp approve %s",
			clip.Clean(r.server), now.def.differs(r.def), word(r.server))
	}
	res, err := l.call(ctx, call, r.tool, input)
	if note := l.c.toolChanges(ctx, call.Session); note != "" {
		res.Parts = append(slices.Clip(res.Parts), llm.Text{Text: "\n" + note})
	}
	return res, err
}

// unreachable returns the error for the model if there is no connection.
func (l *link) unreachable(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("the MCP server %s cannot be reached: %w", clip.Clean(l.cfg.Name), err)
}

// fits returns the arguments, repaired if necessary, that fit the tool's
// schema. The error is for the model.
func (r *remote) fits(input string) (string, error) {
	s, err := args.Compile(r.check)
	if err != nil {
		return "", err
	}
	return s.Check(input)
}

// call calls a tool of the server, or continues a call that asked the person.
func (l *link) call(
	ctx context.Context, call openmanus.Call, tool string, input json.RawMessage,
) (openmanus.Result, error) {
	f, err := l.flight(call, func(ctx context.Context, f *flight) (any, error) {
		return l.request(ctx, f, func(ctx context.Context, sess *sdk.ClientSession) (any, error) {
			p := &sdk.CallToolParams{Name: tool, Arguments: input}
			p.SetProgressToken(f.token)
			return sess.CallTool(ctx, p)
		})
	})
	if err != nil {
		return openmanus.Result{}, err
	}
	out, err := f.wait(ctx, call)
	if err != nil {
		return openmanus.Result{}, l.explain(err)
	}
	return l.result(tool, out.(*sdk.CallToolResult))
}

// request sends a request. If the server says that it does not know the
// connection, it has not carried out the request, which is sent once more over
// a new connection.
func (l *link) request(
	ctx context.Context, f *flight, send func(context.Context, *sdk.ClientSession) (any, error),
) (any, error) {
	for again := false; ; again = true {
		sess, err := l.connected(ctx)
		if err != nil {
			return nil, l.unreachable(err)
		}
		f.legacy.Store(version(sess) <= legacy)
		out, err := send(ctx, sess)
		if !again && errors.Is(err, sdk.ErrSessionMissing) {
			l.drop(sess, err)
			l.mu.Lock()
			l.nextTry = l.since // this was no failure to start: connect at once
			l.mu.Unlock()
			continue
		}
		return out, err
	}
}

// version returns the version of the protocol of a connection.
func version(sess *sdk.ClientSession) string {
	if r := sess.InitializeResult(); r != nil {
		return r.ProtocolVersion
	}
	return legacy
}

// explain returns the error for the model if a call failed.
func (l *link) explain(err error) error {
	var ask *openmanus.Ask
	var said *jsonrpc.Error
	name := clip.Clean(l.cfg.Name)
	switch {
	case errors.As(err, &ask), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, errTimeLimit):
		return fmt.Errorf("the MCP server %s did not answer within %s: this may or may not have happened; "+
			"look before you try again", name, l.cfg.Timeout)
	case errors.As(err, &said):
		return fmt.Errorf("the MCP server %s: %s", name, line(said.Message, 2000))
	}
	return fmt.Errorf("the connection to the MCP server %s was lost during this call (%s): it may or may "+
		"not have "+
		"happened; look before you try again. The next call connects again", name, line(err.Error(), 300))
}

// maxTold is how many sessions are remembered for the tools that they know of.
const maxTold = 10000

// recordKnown records which tools a session knows of, and returns those that it knew of
// before, nil at the first time.
func (c *Client) recordKnown(session string, now map[string]bool) (before map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before = c.told[session]
	if len(c.told) > maxTold {
		clear(c.told)
	}
	c.told[session] = now
	return before
}

// toolChanges returns a note for the model: which tools of servers were added and
// removed since the session last knew. A server that cannot be reached keeps its tools.
func (c *Client) toolChanges(ctx context.Context, session string) string {
	now := map[string]bool{}
	for _, l := range c.links() {
		l.mu.Lock()
		stale := l.stale && l.sess != nil
		l.mu.Unlock()
		if stale {
			l.connected(ctx) // a failure is reported by the next call
		}
	}
	tools, _ := c.offered()
	for _, t := range tools {
		now[t.spec.Name] = true
	}
	before := c.recordKnown(session, now)
	if before == nil {
		return ""
	}
	var came, went []string
	for name := range now {
		if !before[name] {
			came = append(came, name)
		}
	}
	for name := range before {
		if !now[name] {
			went = append(went, name)
		}
	}
	var lines []string
	if slices.Sort(came); len(came) > 0 {
		lines = append(lines, fmt.Sprintf("New tools available: %s (%s describes them, %s calls them)",
			some(came), nameFind, nameUse))
	}
	if slices.Sort(went); len(went) > 0 {
		lines = append(lines, "Tools no longer available: "+some(went))
	}
	return strings.Join(lines, "\n")
}

// some returns a list of names, and only the first ones if it is long.
func some(names []string) string {
	const most = 20
	if n := len(names) - most; n > 0 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, ", ")
}
