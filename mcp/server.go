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
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// ServerOptions are what a [Server] is made with.
type ServerOptions struct {
	Name, Version string
	Instructions  string // for the model of the client
	Tools         []openmanus.Tool

	// Gate rules on the calls of clients. Where it asks, the person at the
	// client is asked, if the client can do that; otherwise the call is
	// denied. Nil asks about whatever changes something.
	Gate openmanus.Gate

	Blobs   openmanus.Blobs    // where tools keep what is large; nil: in memory
	Secrets *journal.Secrets   // are replaced in what clients read
	Options *sdk.ServerOptions // what else the SDK's server is to do; its Logger and Instructions are ours
}

// A Server offers tools to MCP clients. It is safe for concurrent use.
type Server struct {
	opts    ServerOptions
	mcp     *sdk.Server
	key     []byte // signs what clients keep for us
	schemas map[string]*args.Schema

	mu   sync.Mutex
	last map[[2]string]json.RawMessage // session, tool → Call.Last
}

// NewServer returns a server of the tools. It panics if a tool's schema is
// none, which is a programmer's mistake.
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
	s := &Server{opts: o, key: make([]byte, 32), schemas: map[string]*args.Schema{}, last: map[[2]string]json.RawMessage{}}
	rand.Read(s.key)
	s.mcp = sdk.NewServer(&sdk.Implementation{Name: o.Name, Title: "OpenManus", Version: cmp.Or(o.Version, "dev")}, &opts)
	for _, t := range o.Tools {
		s.add(t)
	}
	return s
}

// MCP is the SDK's server, to which prompts, resources and the like can be
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
	s.mcp.AddTool(&sdk.Tool{
		Name: spec.Name, Description: spec.Description, InputSchema: input,
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: h.ReadOnly || h.Internal, IdempotentHint: h.Idempotent || h.ReadOnly, DestructiveHint: new(!h.ReadOnly && !h.Internal && !h.Edits)},
	}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return s.call(ctx, t, r)
	})
}

// Serve speaks to one client over in and out until the client leaves or ctx
// ends.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	err := s.mcp.Run(ctx, &sdk.IOTransport{Reader: in, Writer: out})
	if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// Close ends the sessions of clients that are still there.
func (s *Server) Close() error {
	var errs []error
	for ss := range s.mcp.Sessions() {
		errs = append(errs, ss.Close())
	}
	return errors.Join(errs...)
}

// A visit is one call of a client, from its first request to its result. What
// it is made of travels to the client and back while a person is asked.
type visit struct {
	Call    string    `json:"call"`
	Tool    string    `json:"tool"`
	Input   string    `json:"input"`
	Asking  bool      `json:"asking,omitempty"`  // a ruling is what was asked for last
	Allowed bool      `json:"allowed,omitempty"` // the call may run
	Answers []reply   `json:"answers,omitempty"`
	Until   time.Time `json:"until"`
}

type reply struct {
	Text string          `json:"text,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
}

// call carries out a call of a client.
func (s *Server) call(ctx context.Context, t openmanus.Tool, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	input := string(r.Params.Arguments)
	if input == "" {
		input = "{}"
	}
	fixed, err := s.schemas[r.Params.Name].Check(input)
	if err != nil {
		return failed(nil, fmt.Sprintf("%s did not run: %v", r.Params.Name, err)), nil
	}
	v := &visit{Call: newCall(), Tool: r.Params.Name, Input: fixed}
	if r.Params.RequestState != "" {
		if v, err = s.opened(r.Params.RequestState); err != nil || v.Tool != r.Params.Name || v.Input != fixed {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid requestState"}
		}
		got, ok := r.Params.InputResponses[asked].(*sdk.ElicitResult)
		if ok {
			if done := v.take(got); done != nil {
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
			return failed(nil, "this needs a person, and this client cannot ask one: "+ask.Message), nil
		}
		if r.ProtocolVersion() > legacy {
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{asked: ask}, RequestState: s.sealed(v)}, nil
		}
		got, err := r.Session.Elicit(ctx, ask)
		if err != nil {
			return failed(nil, "a person was to be asked, and that failed: "+err.Error()), nil
		}
		if done := v.take(got); done != nil {
			return done, nil
		}
	}
}

// asked is the name of the one question that is asked at a time.
const asked = "question"

func newCall() string {
	return time.Now().Format("20060102-1504-") + strings.ToLower(rand.Text()[:8])
}

type askKey struct{}

// CanAsk reports whether the client of the call that ctx belongs to can put
// questions to a person.
func CanAsk(ctx context.Context) bool {
	can, _ := ctx.Value(askKey{}).(bool)
	return can
}

func canElicit(r *sdk.CallToolRequest) bool {
	caps := r.ClientCapabilities()
	return caps != nil && caps.Elicitation != nil
}

// attempt goes on with a visit until there is a result, or a question.
func (s *Server) attempt(ctx context.Context, t openmanus.Tool, r *sdk.CallToolRequest, v *visit) (*sdk.ElicitParams, *sdk.CallToolResult) {
	call := openmanus.Call{Call: llm.Call{ID: v.Call, Name: v.Tool, Input: v.Input}, Session: s.session(r), Blobs: s.opts.Secrets.Blobs(s.opts.Blobs), Live: s.progress(ctx, r)}
	for _, a := range v.Answers {
		call.Answers = append(call.Answers, openmanus.Answer{Text: a.Text, Data: a.Data})
	}
	key := [2]string{call.Session, v.Tool}
	s.mu.Lock()
	call.Last = s.last[key]
	s.mu.Unlock()
	if !v.Allowed {
		ask, res := s.rule(ctx, t, call, v)
		if ask != nil || res != nil {
			return ask, res
		}
	}
	res, err := drive(ctx, t, call)
	var ask *openmanus.Ask
	if errors.As(err, &ask) {
		return question1(ask), nil
	}
	if detail, e := json.Marshal(res.Detail); err == nil && e == nil && res.Detail != nil {
		s.mu.Lock()
		s.last[key] = detail
		s.mu.Unlock()
	}
	return nil, s.result(res, err)
}

// session is under which name tools keep what they remember of a client.
func (s *Server) session(r *sdk.CallToolRequest) string {
	if id := r.Session.ID(); id != "" {
		return "mcp-" + id
	}
	return "mcp"
}

// rule puts the call before the gate. It returns neither if it may run.
func (s *Server) rule(ctx context.Context, t openmanus.Tool, call openmanus.Call, v *visit) (*sdk.ElicitParams, *sdk.CallToolResult) {
	spec := t.Spec()
	if h, ok := t.(openmanus.CallHinter); ok {
		spec.Hints = h.Hints(call)
	}
	verdict, err := s.opts.Gate.Rule(ctx, call, spec)
	switch {
	case err != nil:
		return nil, failed(nil, "this could not be ruled on: "+err.Error())
	case verdict.Ask:
		v.Asking = true
		return &sdk.ElicitParams{Mode: "form", Message: verdict.Reason + "\n" + call.Name + " " + cut(call.Input, 8000), RequestedSchema: rulingSchema}, nil
	case !verdict.Allow:
		return nil, failed(nil, "not allowed: "+cmp.Or(verdict.Reason, "by the rules of this server"))
	}
	v.Allowed = true
	return nil, nil
}

var rulingSchema = json.RawMessage(`{"type":"object","properties":{"decision":{"type":"string","enum":["allow","deny"],"description":"May this run?"},"reason":{"type":"string","description":"Why not, or what to do instead."}},"required":["decision"]}`)

// take notes what the person said. It returns the result if that ends the
// call.
func (v *visit) take(got *sdk.ElicitResult) *sdk.CallToolResult {
	if v.Asking {
		v.Asking = false
		if v.Allowed = got.Action == "accept" && got.Content["decision"] == "allow"; v.Allowed {
			return nil
		}
		reason, _ := got.Content["reason"].(string)
		return failed(nil, "not allowed: "+cmp.Or(reason, "the person said no"))
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

// question1 is a tool's question in the form in which clients can put it: an
// object of plain values, or one text.
func question1(ask *openmanus.Ask) *sdk.ElicitParams {
	p := &sdk.ElicitParams{Mode: "form", Message: ask.Question, RequestedSchema: ask.Schema}
	if !flat(ask.Schema) {
		text := `{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"]}`
		if p.RequestedSchema = json.RawMessage(text); len(ask.Schema) > 0 {
			p.Message += "\nThe answer is JSON that fits " + string(ask.Schema)
		}
	}
	return p
}

// flat reports whether schema is that of an object of plain values, and of
// choices among them, which is what clients can put.
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

// run runs a tool. A panic in it is an error.
func drive(ctx context.Context, t openmanus.Tool, call openmanus.Call) (res openmanus.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res, err = openmanus.Result{Detail: map[string]string{"stack": string(debug.Stack())}}, fmt.Errorf("%s crashed: %v", call.Name, p)
		}
	}()
	return t.Run(ctx, call)
}

// maxOutput is how many bytes of a text a client gets.
const maxOutput = 1 << 20

// result is what a client reads of a result.
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

// hidden is text without secrets.
func (s *Server) hidden(text string) string { return s.opts.Secrets.Replace(text) }

func content(b llm.Blob) sdk.Content {
	switch major, _, _ := strings.Cut(b.MIME, "/"); {
	case major == "image":
		return &sdk.ImageContent{MIMEType: b.MIME, Data: b.Data}
	case major == "audio":
		return &sdk.AudioContent{MIMEType: b.MIME, Data: b.Data}
	case major == "text" && utf8.Valid(b.Data):
		return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: cmp.Or(b.Name, "openmanus://text"), MIMEType: b.MIME, Text: string(b.Data)}}
	}
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: cmp.Or(b.Name, "openmanus://file"), MIMEType: b.MIME, Blob: b.Data}}
}

func failed(content []sdk.Content, why string) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: append(content, &sdk.TextContent{Text: why})}
}

// middle is text with its middle cut out, if it has more than n bytes.
func middle(text string, n int) string {
	if len(text) <= n {
		return text
	}
	head, tail := text[:n/2], text[len(text)-n/2:]
	return strings.ToValidUTF8(head, "") + fmt.Sprintf("\n[… %d bytes …]\n", len(text)-n) + strings.ToValidUTF8(tail, "")
}

// progress is where a tool says what it does: the client hears of it, if it
// asked for that.
func (s *Server) progress(ctx context.Context, r *sdk.CallToolRequest) io.Writer {
	token := r.Params.GetProgressToken()
	if token == nil {
		return io.Discard
	}
	return &reporter{s: s, ctx: ctx, session: r.Session, token: token}
}

type reporter struct {
	s       *Server
	ctx     context.Context
	session *sdk.ServerSession
	token   any

	mu sync.Mutex
	n  float64
}

// Write implements [io.Writer]. Who does not hear it misses nothing that is
// not in the result.
func (p *reporter) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	p.session.NotifyProgress(p.ctx, &sdk.ProgressNotificationParams{ProgressToken: p.token, Progress: p.n, Message: line(p.s.hidden(string(data)), 500)})
	return len(data), nil
}
