package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/internal/sight"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/run"
)

// ServerOptions are what a [Server] is made from.
type ServerOptions struct {
	Name, Version string
	Instructions  string // for the model of the client
	Tools         []openmanus.Tool

	// Gate decides on the calls of clients. If it asks, the question goes to the
	// person at the client; if the client cannot ask, the call is denied. A nil
	// Gate asks about every call that changes something.
	Gate openmanus.Gate

	Blobs   openmanus.Blobs    // for tools; nil means in memory
	Secrets *journal.Secrets   // replaced in everything that clients read
	Options *sdk.ServerOptions // what else the SDK's server is to do; its Logger and Instructions are ours
}

// A Server offers tools to MCP clients. It is safe for concurrent use.
type Server struct {
	opts    ServerOptions
	mcp     *sdk.Server
	key     []byte // signs the states that clients keep
	schemas map[string]*args.Schema

	mu      sync.Mutex
	last    map[[2]string]json.RawMessage // session, tool → Call.Last
	seen    map[string]*sight.Memory      // by session
	clients map[string]bool               // the sessions that are followed: see follow; nil when the server is closed
	wait    sync.WaitGroup                // for those who follow
}

// NewServer returns a server of the tools. It panics if a tool's schema cannot
// be read, which is a programmer's mistake.
func NewServer(o ServerOptions) *Server {
	if o.Gate == nil {
		o.Gate = openmanus.Mode(openmanus.ApproveAsk)
	}
	if o.Blobs == nil {
		o.Blobs = new(journal.Memory)
	}
	opts := sdk.ServerOptions{}
	if o.Options != nil {
		opts = *o.Options
	}
	opts.Instructions, opts.Logger = o.Instructions, slog.New(slog.DiscardHandler)
	s := &Server{opts: o, key: make([]byte, 32), schemas: map[string]*args.Schema{}}
	s.last, s.seen, s.clients = map[[2]string]json.RawMessage{}, map[string]*sight.Memory{}, map[string]bool{}
	rand.Read(s.key)
	us := &sdk.Implementation{Name: o.Name, Title: "OpenManus", Version: cmp.Or(o.Version, "dev")}
	s.mcp = sdk.NewServer(us, &opts)
	for _, t := range o.Tools {
		if !t.Spec().Hints.Delegates { // here are no child sessions
			s.add(t)
		}
	}
	return s
}

// MCP returns the SDK's server, to which prompts, resources and the like can be
// added.
func (s *Server) MCP() *sdk.Server { return s.mcp }

// add offers a tool.
func (s *Server) add(t openmanus.Tool) {
	spec := t.Spec()
	schema, err := args.Compile(spec.Input)
	if err != nil {
		panic(fmt.Sprintf("mcp.NewServer: tool %s: %v", spec.Name, err))
	}
	s.schemas[spec.Name] = schema
	input := spec.Input
	if len(input) == 0 {
		input = anyObject
	}
	h := spec.Hints
	offered := &sdk.Tool{
		Name: spec.Name, Description: spec.Description, InputSchema: input,
		Annotations: &sdk.ToolAnnotations{
			ReadOnlyHint: h.ReadOnly || h.Internal, IdempotentHint: h.Idempotent || h.ReadOnly,
			DestructiveHint: new(!h.ReadOnly && !h.Internal && !h.Edits),
		},
	}
	if _, ok := t.(*taskTool); ok {
		offered.OutputSchema = taskSchema
	}
	s.mcp.AddTool(offered, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return s.call(ctx, t, r)
	})
}

// Serve serves one client over in and out until the client leaves or ctx ends. A client
// that leaves is no error. The caller closes in and out.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	err := s.mcp.Run(ctx, &sdk.IOTransport{Reader: in, Writer: out})
	if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// Close ends the sessions of clients that are still connected.
func (s *Server) Close() error {
	s.mu.Lock()
	s.clients = nil
	s.mu.Unlock()
	var errs []error
	for ss := range s.mcp.Sessions() {
		errs = append(errs, ss.Close())
	}
	s.wait.Wait()
	return errors.Join(errs...)
}

// follow has the tools release what they keep for the session of a client, such as a
// shell or a browser, when that ends. Clients of the protocol without sessions share
// one, which lasts as long as the server.
func (s *Server) follow(client *sdk.ServerSession, session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if client.ID() == "" || s.clients[session] || s.clients == nil {
		return
	}
	s.clients[session] = true
	s.wait.Go(func() {
		_ = client.Wait() // however it ends
		for _, t := range s.opts.Tools {
			if c, ok := t.(openmanus.SessionCloser); ok {
				_ = c.CloseSession(session) // no one is left to hear of it
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.clients, session)
		delete(s.seen, session)
		for key := range s.last {
			if key[0] == session {
				delete(s.last, key)
			}
		}
	})
}

// A visit is one call of a client, from its first request to its result. While
// a person is asked, the client keeps it: see sealed. So the server holds no
// state and no goroutine for a call that waits, and a call continues on
// whatever connection the client comes back.
type visit struct {
	Call    string    `json:"call"`
	Tool    string    `json:"tool"`
	Input   string    `json:"input"`
	Asking  bool      `json:"asking,omitempty"`  // the last question was whether the call may run
	Allowed bool      `json:"allowed,omitempty"` // the call may run
	Shown   string    `json:"shown,omitempty"`   // the hash of the preview that the person was shown
	Answers []reply   `json:"answers,omitempty"`
	Until   time.Time `json:"until"`
}

// A reply is an [openmanus.Answer] as JSON.
type reply struct {
	Text string          `json:"text,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
}

// call carries out a call of a client. If a person must be asked, newer clients
// get the question as the result and call again with the answer; older clients
// are asked meanwhile.
func (s *Server) call(ctx context.Context, t openmanus.Tool,
	r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	input := string(r.Params.Arguments)
	if input == "" {
		input = "{}"
	}
	fixed, err := s.schemas[r.Params.Name].Check(input)
	if err != nil {
		return failed(nil, fmt.Sprintf("%s did not run: %v", r.Params.Name, err)), nil
	}
	v := &visit{Call: ids.Session(), Tool: r.Params.Name, Input: fixed}
	if r.Params.RequestState != "" {
		if v, err = s.opened(r.Params.RequestState); err != nil || v.Tool != r.Params.Name ||
			v.Input != fixed {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid requestState"}
		}
		got, ok := r.Params.InputResponses[asked].(*sdk.ElicitResult)
		if ok {
			if done := v.recordAnswer(got); done != nil {
				return done, nil
			}
		}
	}
	ctx = context.WithValue(ctx, askKey{}, canElicit(r))
	for {
		ask, res := s.attempt(ctx, t, r, v)
		if ask == nil {
			return res, nil
		}
		if !canElicit(r) {
			return failed(nil, "this needs a person, and this client cannot ask: "+ask.Message), nil
		}
		if r.ProtocolVersion() > legacy {
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{asked: ask},
				RequestState: s.sealed(v)}, nil
		}
		got, err := r.Session.Elicit(ctx, ask)
		if err != nil {
			return failed(nil, "asking the person failed: "+err.Error()), nil
		}
		if done := v.recordAnswer(got); done != nil {
			return done, nil
		}
	}
}

// asked is the name of the question in a request. There is one at a time.
const asked = "question"

type askKey struct{}

// CanAsk reports whether the client of the call that ctx belongs to can ask a
// person.
func CanAsk(ctx context.Context) bool {
	can, _ := ctx.Value(askKey{}).(bool)
	return can
}

func canElicit(r *sdk.CallToolRequest) bool {
	caps := r.ClientCapabilities()
	return caps != nil && caps.Elicitation != nil
}

// attempt continues a visit until there is a question or a result.
func (s *Server) attempt(
	ctx context.Context, t openmanus.Tool, r *sdk.CallToolRequest, v *visit,
) (*sdk.ElicitParams, *sdk.CallToolResult) {
	call := openmanus.Call{
		Call: llm.Call{ID: v.Call, Name: v.Tool, Input: v.Input}, Session: s.session(r),
		Blobs: s.opts.Secrets.Blobs(s.opts.Blobs), Live: s.progress(ctx, r),
	}
	for _, a := range v.Answers {
		call.Answers = append(call.Answers, openmanus.Answer{Text: a.Text, Data: a.Data})
	}
	s.follow(r.Session, call.Session)
	key := [2]string{call.Session, v.Tool}
	s.mu.Lock()
	call.Last = s.last[key]
	s.mu.Unlock()
	if !v.Allowed {
		ask, res := s.rule(ctx, t, call, v)
		if ask != nil || res != nil {
			return ask, res
		}
	} else if v.Shown != "" {
		if shown, err := run.Preview(sight.With(ctx, s.sightOf(call.Session)), t, call); err != nil || openmanus.Fingerprint(v.Tool, shown) != v.Shown {
			return nil, failed(nil, v.Tool+" did not run: its target has changed since the person allowed it. "+
				"Look at the current state, and make the call again if it is still right")
		}
		v.Shown = "" // the call has begun: what it asks besides may come of what it did
	}
	seen := s.sightOf(call.Session)
	res, err := run.Call(sight.With(ctx, seen), t, call)
	s.noteSeen(call.Session, seen)
	var ask *openmanus.Ask
	if errors.As(err, &ask) {
		return formOf(ask), nil
	}
	if detail, e := json.Marshal(res.Detail); err == nil && e == nil && res.Detail != nil {
		s.mu.Lock()
		s.last[key] = detail
		s.mu.Unlock()
	}
	return nil, s.result(res, err)
}

// sightOf returns what a call may replace: what the calls of its session have seen.
func (s *Server) sightOf(session string) *sight.Sight {
	asked := func(is func(*sight.Memory, string) bool) func(string) bool {
		return func(what string) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			m := s.seen[session]
			return m != nil && is(m, what)
		}
	}
	return &sight.Sight{Known: asked((*sight.Memory).Knows), KnownPath: asked((*sight.Memory).KnowsPath), Partly: asked((*sight.Memory).Partly)}
}

// noteSeen remembers what a call has seen.
func (s *Server) noteSeen(session string, seen *sight.Sight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[session] == nil {
		s.seen[session] = new(sight.Memory)
	}
	for _, f := range seen.Seen() {
		s.seen[session].Note(f)
	}
}

// session returns the session under which tools remember things for a client.
func (s *Server) session(r *sdk.CallToolRequest) string {
	if id := r.Session.ID(); id != "" {
		return "mcp-" + id
	}
	return "mcp"
}

// rule puts the call before the gate. It returns neither a question nor a
// result if the call may run.
func (s *Server) rule(
	ctx context.Context, t openmanus.Tool, call openmanus.Call, v *visit,
) (*sdk.ElicitParams, *sdk.CallToolResult) {
	spec := t.Spec()
	if err := run.Hint(t, call, &spec); err != nil {
		return nil, failed(nil, s.hidden(err.Error()))
	}
	verdict, err := s.opts.Gate.Rule(ctx, call, spec)
	switch {
	case err != nil:
		return nil, failed(nil, "whether this may run could not be decided: "+err.Error())
	case verdict.Ask:
		shown, err := run.Preview(sight.With(ctx, s.sightOf(call.Session)), t, call)
		if err != nil { // it would fail anyway
			return nil, failed(nil, s.hidden(err.Error()))
		}
		v.Asking = true
		message := verdict.Reason + "\n" + call.Name + " " + clip.Text(call.Input, 8000)
		if shown != "" {
			v.Shown = openmanus.Fingerprint(v.Tool, shown)
			if len(shown) > maxShown {
				return nil, failed(nil, "this needs a person, and it is too long to be shown: make it shorter than "+
					fmt.Sprintf("%d bytes", maxShown))
			}
			message += "\n" + s.hidden(clip.Visible(shown))
		}
		return &sdk.ElicitParams{Mode: "form", Message: message, RequestedSchema: rulingSchema}, nil
	case !verdict.Allow:
		return nil, failed(nil, "not allowed: "+cmp.Or(verdict.Reason, "by the rules of this server"))
	}
	v.Allowed = true
	return nil, nil
}

// maxShown is how many bytes a preview may have. A person must see all of it.
const maxShown = 64 << 10

// rulingSchema is the form in which a person rules on a call.
var rulingSchema = json.RawMessage(`{"type":"object","properties":{` +
	`"decision":{"type":"string","enum":["allow","deny"],"description":"May this run?"},` +
	`"reason":{"type":"string","description":"Why not, or what to do instead."}},"required":["decision"]}`)

// recordAnswer records the answer of the person. If that ends the call, it returns the
// result.
func (v *visit) recordAnswer(got *sdk.ElicitResult) *sdk.CallToolResult {
	if v.Asking {
		v.Asking = false
		if v.Allowed = got.Action == "accept" && got.Content["decision"] == "allow"; v.Allowed {
			return nil
		}
		reason, _ := got.Content["reason"].(string)
		return failed(nil, "not allowed: "+act.Denied(reason))
	}
	if got.Action != "accept" {
		return failed(nil, "the person did not answer")
	}
	if text, ok := got.Content["answer"].(string); ok && len(got.Content) == 1 {
		a := reply{Text: text}
		if json.Valid([]byte(text)) {
			a.Data = json.RawMessage(text)
		}
		v.Answers = append(v.Answers, a)
		return nil
	}
	data, err := json.Marshal(got.Content)
	if err != nil {
		return failed(nil, err.Error())
	}
	v.Answers = append(v.Answers, reply{Text: string(data), Data: data})
	return nil
}

// formOf returns a tool's question in a form that clients can show: an object
// of plain values, or one text.
func formOf(ask *openmanus.Ask) *sdk.ElicitParams {
	p := &sdk.ElicitParams{Mode: "form", Message: ask.Question, RequestedSchema: ask.Schema}
	if !flat(ask.Schema) {
		text := `{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"]}`
		if p.RequestedSchema = json.RawMessage(text); len(ask.Schema) > 0 {
			p.Message += "\nThe answer is JSON that fits " + string(ask.Schema)
		}
	}
	return p
}

// flat reports whether schema describes an object of plain values and choices,
// which clients can show.
func flat(schema json.RawMessage) bool {
	type choices struct{ Enum, AnyOf, OneOf []any }
	var s struct {
		Type       string
		Properties map[string]struct {
			Type  string
			Items choices
		}
	}
	if json.Unmarshal(schema, &s) != nil || s.Type != "object" || len(s.Properties) == 0 {
		return false
	}
	for _, p := range s.Properties {
		choice := p.Type == "array" && len(p.Items.Enum)+len(p.Items.AnyOf)+len(p.Items.OneOf) > 0
		if !choice && !slices.Contains([]string{"string", "number", "integer", "boolean"}, p.Type) {
			return false
		}
	}
	return true
}

// maxOutput is how many bytes of a text a client gets.
const maxOutput = 1 << 20

// result converts a result for the client.
func (s *Server) result(res openmanus.Result, err error) *sdk.CallToolResult {
	out := &sdk.CallToolResult{Content: []sdk.Content{}}
	for _, p := range res.Parts {
		switch p := p.(type) {
		case llm.Text:
			out.Content = append(out.Content, &sdk.TextContent{Text: s.hidden(middle(p.Text, maxOutput))})
		case llm.Blob:
			out.Content = append(out.Content, content(p))
		}
	}
	if t, ok := res.Detail.(*TaskResult); ok {
		out.StructuredContent = t
		for _, f := range t.Files {
			out.Content = append(out.Content, &sdk.ResourceLink{URI: f.URI, Name: f.Path, Size: new(f.Bytes)})
		}
	}
	if err != nil {
		return failed(out.Content, s.hidden(err.Error()))
	}
	return out
}

// hidden returns text without secrets.
func (s *Server) hidden(text string) string { return s.opts.Secrets.Replace(text) }

// content converts a blob.
func content(b llm.Blob) sdk.Content {
	switch major, _, _ := strings.Cut(b.MIME, "/"); {
	case major == "image":
		return &sdk.ImageContent{MIMEType: b.MIME, Data: b.Data}
	case major == "audio":
		return &sdk.AudioContent{MIMEType: b.MIME, Data: b.Data}
	case major == "text" && utf8.Valid(b.Data):
		return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{
			URI: cmp.Or(b.Name, "openmanus://text"), MIMEType: b.MIME, Text: string(b.Data),
		}}
	}
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{
		URI: cmp.Or(b.Name, "openmanus://file"), MIMEType: b.MIME, Blob: b.Data,
	}}
}

// failed returns a result that is an error.
func failed(content []sdk.Content, why string) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: append(content, &sdk.TextContent{Text: why})}
}

// middle returns text without its middle, if it has more than n bytes.
func middle(text string, n int) string {
	if len(text) <= n {
		return text
	}
	head, tail := text[:n/2], text[len(text)-n/2:]
	return strings.ToValidUTF8(head, "") + fmt.Sprintf("\n[… %d bytes …]\n", len(text)-n) +
		strings.ToValidUTF8(tail, "")
}

// progress returns the writer for a tool's live output. The client gets it if
// it asked for progress.
func (s *Server) progress(ctx context.Context, r *sdk.CallToolRequest) io.Writer {
	token := r.Params.GetProgressToken()
	if token == nil {
		return io.Discard
	}
	return &reporter{s: s, ctx: ctx, session: r.Session, token: token}
}

// A reporter sends what is written to it as progress notifications.
type reporter struct {
	s       *Server
	ctx     context.Context
	session *sdk.ServerSession
	token   any

	mu sync.Mutex
	n  float64
}

// Write implements [io.Writer]. Errors do not matter: everything important is
// in the result.
func (p *reporter) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	p.session.NotifyProgress(p.ctx, &sdk.ProgressNotificationParams{
		ProgressToken: p.token, Progress: p.n, Message: line(p.s.hidden(string(data)), 500),
	})
	return len(data), nil
}
