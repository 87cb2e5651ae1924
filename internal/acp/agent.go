package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/surface"
	"github.com/openmanus-go/openmanus/workspace"
)

// A Source has the sessions that editors work with.
type Source interface {
	surface.Source

	// Commands returns the commands that the person has written.
	Commands(ctx context.Context) ([]surface.Custom, error)

	// Open opens a session that works in a directory. Nothing is asked of it yet.
	Open(ctx context.Context, dir string) (id string, err error)

	// Delete deletes a session that no driver has the lease of.
	Delete(ctx context.Context, id string) error

	// Ready says why no session can begin, such as that no model is configured.
	Ready(ctx context.Context) error
}

// Options are what an agent is made with.
type Options struct {
	Version string // of this program

	// With returns the sessions whose agents have these MCP servers as well, and read and
	// edit texts as the client has them.
	With func(servers []Server, texts workspace.Buffers) (Source, error)

	Log func(text string) // for the person, not for the client

	V2 bool // a client may ask for version 2 of the protocol, which is a draft
}

// flushing is how long a client that has gone may take to read what is left.
const flushing = 2 * time.Second

// An agent serves one client.
type agent struct {
	*conn
	o     Options
	plain Source // without MCP servers of the client

	methods map[string]method

	queue   chan message
	working sync.WaitGroup
	client  clientCapabilities
	ready   bool // initialize was called
	second  bool // the client speaks version 2

	mu       sync.Mutex
	sessions map[string]*session
}

// clientCapabilities are what of a client's abilities matters here.
type clientCapabilities struct {
	Elicitation elicitation
	FS          fileAbility
}

type elicitation struct{ Form *object }

func (e elicitation) can() bool { return e.Form != nil }

// Serve talks with a client until it is gone or ctx ends. Turns under way are
// interrupted, and can be continued.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	a := &agent{conn: newConn(ctx), o: o, queue: make(chan message, maxQueued), sessions: make(map[string]*session), methods: methods()}
	var err error
	if a.plain, err = o.With(nil, buffers{a}); err != nil {
		return err
	}
	written, read := make(chan error, 1), make(chan error, 1)
	go func() { written <- a.write(out); end() }()
	go func() {
		read <- a.read(bufio.NewReaderSize(in, 64<<10))
		close(a.queue)
	}()
	worked := make(chan struct{})
	a.working.Go(func() { a.work(); close(worked) })
	select {
	case err = <-read:
		select {
		case <-worked: // what was asked before the input ended is answered
		case <-ctx.Done():
		case <-time.After(flushing):
		}
	case <-ctx.Done():
	}
	end()
	a.mu.Lock()
	open := a.sessions
	a.sessions = nil
	a.mu.Unlock()
	for _, s := range open {
		s.shut()
	}
	a.working.Wait()
	select {
	case werr := <-written:
		err = errors.Join(err, werr)
	case <-time.After(flushing): // the client has it open and does not read
	}
	return err
}

// log tells the person something.
func (a *agent) log(format string, args ...any) {
	if a.o.Log != nil {
		a.o.Log(fmt.Sprintf(format, args...))
	}
}

// read takes messages until there are no more. A message that is too long or is not JSON
// gets an error, and the next one is read. A batch is refused, since the protocol has
// none.
func (a *agent) read(r *bufio.Reader) error {
	for {
		line, err := readFrame(r)
		switch {
		case errors.Is(err, errTooLong):
			a.reply(json.RawMessage("null"), nil, &Error{codeRequest, err.Error(), nil})
			continue
		case errors.Is(err, io.ErrUnexpectedEOF):
			a.reply(json.RawMessage("null"), nil, &Error{codeParse, "the last message has no end", nil})
			return nil
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if line[0] == '[' {
			a.reply(json.RawMessage("null"), nil, &Error{codeRequest, "the protocol has no batches: send one message on each line", nil})
			continue
		}
		m, bad := parse(line)
		if bad != nil {
			if m.ID == nil {
				m.ID = json.RawMessage("null")
			}
			a.reply(m.ID, nil, bad)
			continue
		}
		switch {
		case m.Method == "":
			a.take(m)
		case m.Method == "$/cancel_request":
			var p struct {
				RequestID json.RawMessage `json:"requestId"`
			}
			if json.Unmarshal(m.Params, &p) == nil {
				a.cancel(p.RequestID)
			}
		default:
			select {
			case a.queue <- m:
			default:
				if m.ID != nil {
					a.reply(m.ID, nil, &Error{codeInternal, fmt.Sprintf("more than %d requests wait: send fewer at a time", maxQueued), nil})
				}
			}
		}
	}
}

// work handles requests, in the order in which they came, until there are no more.
// Handlers that have to wait, for the end of a turn, do so in goroutines of their own.
func (a *agent) work() {
	for {
		select {
		case m, more := <-a.queue:
			if !more {
				return
			}
			a.handle(m)
		case <-a.ctx.Done():
			return
		}
	}
}

// handle handles a request or a notification. An unknown notification is ignored, as
// JSON-RPC demands; an unknown request is an error.
func (a *agent) handle(m message) {
	h, known := a.methods[m.Method]
	if m.ID == nil {
		if known && h.notification {
			var p sessionParams
			if err := decode(m.Params, &p); err != nil {
				a.log("%s: %v", m.Method, err)
			} else if s := a.session(p.SessionID); s != nil {
				s.cancel()
			}
		}
		return
	}
	ctx, err := a.begin(m.ID)
	if err != nil {
		a.reply(m.ID, nil, err)
		return
	}
	answer := func(value any, err error) {
		if ctx.Err() != nil && a.ctx.Err() == nil && err != nil {
			err = &Error{codeCancelled, "cancelled", nil}
		}
		a.end(m.ID)
		a.reply(m.ID, value, err)
		if o, ok := value.(settings); ok && o.then != nil {
			a.working.Go(o.then)
		}
	}
	switch {
	case !known || h.notification:
		answer(nil, &Error{codeMethod, fmt.Sprintf("there is no method %q", m.Method), object{"method": m.Method}})
	case !a.ready && m.Method != "initialize":
		answer(nil, &Error{codeRequest, "initialize has to be called first", object{"field": "method", "reason": "initialize has to be called first"}})
	case h.call != nil:
		answer(h.call(a, ctx, m.Params))
	default:
		var p sessionParams
		if err := h.check(m.Params, &p); err != nil {
			answer(nil, err)
			return
		}
		if h.later != nil {
			wait, err := h.later(a, ctx, p)
			if err != nil {
				answer(nil, err)
				return
			}
			a.working.Go(func() { answer(wait()) })
			return
		}
		answer(h.session(a, ctx, p))
	}
}

// A method is a row of the table of what a client can call. One of the functions is set.
type method struct {
	needs        []string // fields that must be there
	notification bool
	call         func(a *agent, ctx context.Context, params json.RawMessage) (any, error)
	session      func(a *agent, ctx context.Context, p sessionParams) (any, error)

	// later begins at once, in the order of requests, and returns what waits.
	later func(a *agent, ctx context.Context, p sessionParams) (wait func() (any, error), err error)

	// of the ability that a client reads of, if there is one: sessionCapabilities.NAME
	ability string
}

// check reads the parameters of a method, and returns an error that names the first field
// that is missing or wrong.
func (m method) check(params json.RawMessage, p *sessionParams) error {
	if err := decode(params, p); err != nil {
		return err
	}
	if len(p.AdditionalDirectories) > 0 {
		return wrong("additionalDirectories", "a session works in one directory: leave it out")
	}
	for _, field := range m.needs {
		missing := false
		switch field {
		case "sessionId":
			missing = p.SessionID == ""
		case "cwd":
			if missing = p.Cwd == nil; !missing && !filepath.IsAbs(*p.Cwd) {
				return wrong("cwd", "it must be an absolute path")
			}
		case "prompt":
			missing = len(p.Prompt) == 0
		case "modeId":
			missing = p.ModeID == ""
		case "configId":
			missing = p.ConfigID == ""
		}
		if missing {
			return wrong(field, "it is missing")
		}
	}
	return nil
}

// session returns the open session id, or nil.
func (a *agent) session(id string) *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sessions[id]
}

// find returns the open session that a request is about.
func (a *agent) find(id string) (*session, error) {
	if s := a.session(id); s != nil {
		return s, nil
	}
	return nil, &Error{codeNotFound, fmt.Sprintf("session %q is not open here: session/load or session/resume opens it", id), object{"field": "sessionId", "reason": "it is not open here"}}
}

// source returns the sessions with these MCP servers, which the editor offers. Without any
// it is the one that all such sessions share. A server that cannot be used is an error of
// the request.
func (a *agent) source(servers []Server) (Source, error) {
	if len(servers) == 0 {
		return a.plain, nil
	}
	for i, s := range servers {
		field := "mcpServers." + strconv.Itoa(i)
		switch {
		case s.Name == "":
			return nil, wrong(field+".name", "it is missing")
		case s.Type == "" && s.Command == "":
			return nil, wrong(field+".command", "it is missing")
		case (s.Type == "http" || s.Type == "sse") && s.URL == "":
			return nil, wrong(field+".url", "it is missing")
		case s.Type != "" && s.Type != "http" && s.Type != "sse" && s.Type != "stdio":
			return nil, wrong(field+".type", "%q is none of http, sse, and stdio", s.Type)
		}
	}
	src, err := a.o.With(servers, buffers{a})
	if err != nil {
		return nil, wrong("mcpServers", "%v", err)
	}
	return src, nil
}

// enter opens a session for this client, and returns what the client reads of it. The events
// until now are sent, or folded only if quiet is set; those up to the frame after are folded
// only in either case. The commands, and what happens in the session, follow.
func (a *agent) enter(src Source, id string, after place, quiet, withID bool) (any, error) {
	if old := a.session(id); old != nil {
		old.shut()
	}
	ctx, end := context.WithCancel(a.ctx)
	s := &session{a: a, id: id, src: src, ctx: ctx, end: end, nodes: make(map[string]*openmanus.State), asked: make(map[string]*asking), mine: make(map[string]bool)}
	s.story.at(id)
	if err := s.replay(id, after, quiet); err != nil {
		end()
		return nil, err
	}
	st := s.nodes[id]
	if st != nil {
		s.dir = st.Config.Workspace
	}
	a.mu.Lock()
	if a.sessions != nil {
		a.sessions[id] = s
	}
	a.mu.Unlock()
	if st == nil {
		return nil, notFound(s.id)
	}
	s.mu.Lock()
	out := settings{second: a.second, Modes: modesOf(st), ConfigOptions: a.options(s.ctx, s.src, st)}
	s.mu.Unlock()
	if withID {
		out.SessionID = s.id
	}
	if a.second {
		out.commands = s.commands()
	}
	out.then = func() {
		if !a.second {
			s.tellCommands()
		}
		s.followAll()
	}
	return out, nil
}

// shut ends what goes on here in a session.
func (s *session) shut() {
	s.end()
	s.finish(result{stop: "cancelled"})
	s.followers.Wait()
}

// modesOf returns the approval modes in the protocol's form, with the session's as the
// current one.
func modesOf(st *openmanus.State) *sessionModes {
	about := map[string]string{
		openmanus.ApproveAsk:      "Asks before it changes what is not in the sandbox",
		openmanus.ApproveEdits:    "Edits files without a question, asks before other changes",
		openmanus.ApproveAll:      "Asks about nothing",
		openmanus.ApprovePlan:     "Only looks, and ends with a plan for you to approve",
		openmanus.ApproveReadOnly: "Only looks",
	}
	m := &sessionModes{CurrentModeID: st.Config.Approve}
	if m.CurrentModeID == "" {
		m.CurrentModeID = openmanus.ApproveAsk
	}
	for _, name := range []string{openmanus.ApproveAsk, openmanus.ApproveEdits, openmanus.ApprovePlan, openmanus.ApproveReadOnly, openmanus.ApproveAll} {
		m.AvailableModes = append(m.AvailableModes, sessionMode{name, strings.ToUpper(name[:1]) + name[1:], about[name]})
	}
	return m
}

// options returns the settings that a client can change in a session: the mode and the
// model. The session's model is offered even if the configuration no longer has it.
func (a *agent) options(ctx context.Context, src Source, st *openmanus.State) []configOption {
	modes := modesOf(st)
	mode := configOption{Type: "select", ID: "mode", Name: "Mode", Category: "mode", CurrentValue: modes.CurrentModeID}
	for _, m := range modes.AvailableModes {
		mode.Options = append(mode.Options, configValue{m.ID, m.Name, m.Description})
	}
	model := configOption{Type: "select", ID: "model", Name: "Model", Category: "model", CurrentValue: st.Config.Model}
	list, err := src.Models(ctx)
	if err != nil {
		a.log("%v", err)
	}
	for _, m := range list {
		model.Options = append(model.Options, configValue{m.Name, m.Name, m.About})
	}
	if !slices.ContainsFunc(model.Options, func(v configValue) bool { return v.Value == model.CurrentValue }) {
		model.Options = append(model.Options, configValue{Value: model.CurrentValue, Name: model.CurrentValue})
	}
	return []configOption{mode, model}
}
