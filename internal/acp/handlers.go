package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/internal/surface"
	"github.com/openmanus-go/openmanus/llm"
)

// methods returns the table of what a client can call. The capabilities that
// initialize announces follow from it.
func methods() map[string]method {
	one := []string{"sessionId"}
	in := []string{"sessionId", "cwd"}
	return map[string]method{
		"initialize":                {call: (*agent).initialize},
		"authenticate":              {call: (*agent).authenticate},
		"session/new":               {needs: []string{"cwd"}, session: (*agent).newSession},
		"session/load":              {needs: in, session: (*agent).load},
		"session/resume":            {needs: in, session: (*agent).resume, ability: "resume"},
		"session/fork":              {needs: in, session: (*agent).fork, ability: "fork"},
		"session/list":              {session: (*agent).list, ability: "list"},
		"session/close":             {needs: one, session: (*agent).closeSession, ability: "close"},
		"session/delete":            {needs: one, session: (*agent).deleteSession, ability: "delete"},
		"session/prompt":            {needs: []string{"sessionId", "prompt"}, later: (*agent).prompt},
		"session/cancel":            {notification: true},
		"session/set_mode":          {needs: []string{"sessionId", "modeId"}, session: (*agent).setMode},
		"session/set_config_option": {needs: []string{"sessionId", "configId"}, session: (*agent).setOption},
	}
}

// initialize answers with the program's name, version and capabilities. It may be called
// once on a connection. A client of a newer protocol gets the newest version that this
// program speaks.
func (a *agent) initialize(_ context.Context, params json.RawMessage) (any, error) {
	var p struct {
		ProtocolVersion    *json.Number       `json:"protocolVersion"`
		ClientCapabilities clientCapabilities `json:"clientCapabilities"`
	}
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	if p.ProtocolVersion == nil {
		return nil, wrong("protocolVersion", "it is missing")
	}
	if v, err := strconv.ParseUint(p.ProtocolVersion.String(), 10, 16); err != nil {
		return nil, wrong("protocolVersion", "%s is no version: this program speaks %d", p.ProtocolVersion, Version)
	} else if v < Version {
		a.log("the client asks for version %d of the protocol; this program speaks %d", v, Version)
	}
	if a.ready {
		return nil, &Error{codeRequest, "initialize was called already: begin another connection", object{"field": "method", "reason": "it was called already"}}
	}
	if v, _ := p.ProtocolVersion.Int64(); a.o.V2 && v >= Version2 {
		if err := a.decode2(params); err != nil {
			return nil, err
		}
		a.second, a.ready, a.methods = true, true, methods2()
		return a.initialized2(), nil
	}
	a.client, a.ready = p.ClientCapabilities, true
	able := make(object)
	for _, m := range a.methods {
		if m.ability != "" {
			able[m.ability] = object{}
		}
	}
	_, loads := a.methods["session/load"]
	return object{
		"protocolVersion": Version,
		"agentInfo":       object{"name": "openmanus", "title": "OpenManus", "version": a.o.Version},
		"agentCapabilities": object{
			"loadSession":         loads,
			"promptCapabilities":  object{"image": true, "audio": false, "embeddedContext": true},
			"mcpCapabilities":     object{"http": true, "sse": true},
			"sessionCapabilities": able,
		},
		"authMethods": []object{{
			"id": "setup", "name": "openmanus setup",
			"description": "Run openmanus setup in a terminal: it asks for a provider, a key and a model.",
		}},
	}, nil
}

// authenticate checks whether a model is configured by now: the person sets one up in a
// terminal, and no key goes through the editor.
func (a *agent) authenticate(ctx context.Context, params json.RawMessage) (any, error) {
	var p struct {
		MethodID string `json:"methodId"`
	}
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	if p.MethodID != "setup" {
		return nil, wrong("methodId", "%q is none of: setup", clip.Text(p.MethodID, 40))
	}
	return object{}, a.authed(ctx)
}

// authed returns an error if no model can be asked.
func (a *agent) authed(ctx context.Context) error {
	if err := a.plain.Ready(ctx); err != nil {
		return &Error{codeAuth, clip.Clean(err.Error()), object{"authMethods": []string{"setup"}}}
	}
	return nil
}

// newSession opens a session in a directory. It has no message yet.
func (a *agent) newSession(ctx context.Context, p sessionParams) (any, error) {
	if err := a.authed(ctx); err != nil {
		return nil, err
	}
	src, err := a.source(p.MCPServers)
	if err != nil {
		return nil, err
	}
	id, err := src.Open(ctx, *p.Cwd)
	if err != nil {
		return nil, wrong("cwd", "%v", err)
	}
	return a.enter(src, id, place{}, true, true)
}

// notFound is the error of a session that there is not.
func notFound(id string) error {
	return &Error{codeNotFound, fmt.Sprintf("there is no session %q", clip.Text(id, 80)), object{"field": "sessionId", "reason": "there is no such session"}}
}

// known returns the sessions that have the session id, with the MCP servers of p. A child
// session cannot be opened by itself. If p has servers, the session records its new tools.
func (a *agent) known(ctx context.Context, p sessionParams) (Source, error) {
	if strings.Contains(p.SessionID, ".") {
		return nil, notFound(p.SessionID) // below another one
	}
	if _, err := a.plain.Session(ctx, p.SessionID); err != nil {
		return nil, notFound(p.SessionID)
	}
	src, err := a.source(p.MCPServers)
	if err == nil && len(p.MCPServers) > 0 {
		err = src.Change(ctx, p.SessionID, surface.Setting{}) // its tools are those of now
	}
	return src, err
}

// load opens a session that exists, and sends everything that happened in it.
func (a *agent) load(ctx context.Context, p sessionParams) (any, error) {
	src, err := a.known(ctx, p)
	if err != nil {
		return nil, err
	}
	return a.enter(src, p.SessionID, place{}, false, false)
}

// resume opens a session that exists without sending what happened in it, or, after a
// frame that the client names, only what came later.
func (a *agent) resume(ctx context.Context, p sessionParams) (any, error) {
	at, quiet := place{}, p.Meta.After == ""
	if !quiet {
		var err error
		if at, err = readPlace(p.Meta.After); err != nil {
			return nil, wrong("_meta.openmanus/after", "%v", err)
		}
	}
	src, err := a.known(ctx, p)
	if err != nil {
		return nil, err
	}
	return a.enter(src, p.SessionID, at, quiet, false)
}

// fork opens a copy of a session, with its files if the host copies these. The original
// stays as it is.
func (a *agent) fork(ctx context.Context, p sessionParams) (any, error) {
	src, err := a.known(ctx, p)
	if err != nil {
		return nil, err
	}
	id, err := src.Fork(ctx, p.SessionID, 0)
	if err != nil {
		return nil, err
	}
	return a.enter(src, id, place{}, true, true)
}

// listed is how many sessions a page of the list has, and maxListed how many there are.
const listed, maxListed = 50, 5000

// list answers a page of the sessions, the newest first, and the cursor of the next page.
// Sessions without a workspace or without a message are left out, because an editor can do
// nothing with them.
func (a *agent) list(ctx context.Context, p sessionParams) (any, error) {
	from := 0
	if p.Cursor != nil {
		var err error
		if from, err = strconv.Atoi(*p.Cursor); err != nil || from < 0 {
			return nil, wrong("cursor", "it is none that session/list has given")
		}
	}
	all, err := a.plain.Sessions(ctx, maxListed)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(s surface.Session) bool {
		return s.Status == string(openmanus.Idle) || s.Workspace == "" || p.Cwd != nil && s.Workspace != *p.Cwd
	})
	page := []object{}
	for _, s := range all[min(from, len(all)):min(from+listed, len(all))] {
		page = append(page, object{
			"sessionId": s.ID, "cwd": s.Workspace, "title": clip.OneLine(clip.Clean(s.Title)), "updatedAt": s.Updated.UTC().Format(time.RFC3339),
		})
	}
	out := object{"sessions": page}
	if from+listed < len(all) {
		out["nextCursor"] = strconv.Itoa(from + listed)
	}
	return out, nil
}

// leave interrupts the work in a session that is open here, and closes it. The session
// itself stays.
func (a *agent) leave(id string) {
	s := a.session(id)
	if s == nil {
		return
	}
	s.cancel()
	a.mu.Lock()
	delete(a.sessions, id)
	a.mu.Unlock()
	s.shut()
}

func (a *agent) closeSession(_ context.Context, p sessionParams) (any, error) {
	if _, err := a.find(p.SessionID); err != nil {
		return nil, err
	}
	a.leave(p.SessionID)
	return object{}, nil
}

func (a *agent) deleteSession(ctx context.Context, p sessionParams) (any, error) {
	if _, err := a.plain.Session(ctx, p.SessionID); err != nil {
		return object{}, nil // it is gone, as the protocol wants it
	}
	a.leave(p.SessionID)
	return object{}, a.plain.Delete(ctx, p.SessionID)
}

func (a *agent) setMode(ctx context.Context, p sessionParams) (any, error) {
	s, err := a.find(p.SessionID)
	if err != nil {
		return nil, err
	}
	return object{}, s.setMode(ctx, "modeId", p.ModeID)
}

func (s *session) setMode(ctx context.Context, field, mode string) error {
	if !slices.Contains(openmanus.Modes, mode) {
		return wrong(field, "%q is none of %s", clip.Text(mode, 40), strings.Join(openmanus.Modes, ", "))
	}
	return s.src.Change(ctx, s.id, surface.Setting{Mode: mode})
}

// setOption changes the mode or the model of a session, and answers with all settings as
// they are then.
func (a *agent) setOption(ctx context.Context, p sessionParams) (any, error) {
	s, err := a.find(p.SessionID)
	if err != nil {
		return nil, err
	}
	value, ok := p.Value.(string)
	if !ok {
		return nil, wrong("value", "it must be a string")
	}
	switch p.ConfigID {
	case "mode":
		err = s.setMode(ctx, "value", value)
	case "model":
		if err = s.src.Change(ctx, s.id, surface.Setting{Model: value, Elsewhere: true}); err != nil {
			err = wrong("value", "%v", err)
		}
	default:
		err = wrong("configId", "%q is none of mode, model", clip.Text(p.ConfigID, 40))
	}
	if err != nil {
		return nil, err
	}
	st := new(openmanus.State) // as it is now, also if its last event was not told yet
	for ev, err := range s.src.Events(ctx, s.id, 0) {
		if err != nil {
			return nil, err
		}
		st.Apply(ev)
	}
	options := a.options(ctx, s.src, st)
	if a.second {
		return object{"configOptions": options2(options)}, nil
	}
	return object{"configOptions": options}, nil
}

// commands returns the commands of the person, as the editor offers them after a slash.
// Commands that cannot be read are logged.
func (s *session) commands() []command {
	all, err := s.src.Commands(s.ctx)
	if err != nil {
		s.a.log("%v", err)
	}
	list := []command{}
	for _, c := range all {
		one := command{Name: c.Name, Description: clip.OneLine(clip.Clean(c.Help))}
		if c.Arguments != "" {
			one.Input = &commandInput{clip.OneLine(clip.Clean(c.Arguments))}
		}
		list = append(list, one)
	}
	return list
}

// tellCommands tells the client of the commands of the person.
func (s *session) tellCommands() {
	list := s.commands()
	_ = s.tell(update{SessionUpdate: "available_commands_update", AvailableCommands: &list}, "") // the client is gone
}

// prompt appends a message, and returns a function that waits until the session has
// answered. A session works on one prompt at a time: a second one is refused.
func (a *agent) prompt(ctx context.Context, p sessionParams) (func() (any, error), error) {
	s, m, err := a.prompted(p)
	if err != nil {
		return nil, err
	}
	t := &turn{done: make(chan result, 1)}
	s.mu.Lock()
	busy := s.turn != nil
	if !busy {
		s.turn = t
	}
	before := s.story.at(s.id).session.State.Usage
	s.mu.Unlock()
	if busy {
		return nil, &Error{codeRequest, "the session works on another prompt: wait for it, or cancel it", object{"field": "sessionId", "reason": "another prompt is under way"}}
	}
	return func() (any, error) {
		if _, err := s.say(ctx, t, m); err != nil {
			s.finish(result{})
			return nil, err
		}
		r, err := s.wait(ctx, t)
		if err == nil && r.stop == "end_turn" {
			r, err = s.afterPlan(ctx, r)
		}
		return object{"stopReason": r.stop, "usage": s.usedSince(before)}, err
	}, nil
}

// usedSince returns what the session used of models, with those below it, since it had
// used before, as harnesses read it.
func (s *session) usedSince(before llm.Usage) object {
	s.mu.Lock()
	now := s.story.at(s.id).session.State.Usage
	s.mu.Unlock()
	in, out := now.Input-before.Input, now.Output-before.Output
	return object{"inputTokens": in, "outputTokens": out, "totalTokens": in + out, "cachedReadTokens": now.Cached - before.Cached,
		"cachedWriteTokens": now.CacheWrite - before.CacheWrite, "thoughtTokens": now.Reasoning - before.Reasoning}
}

// prompted returns the session that a prompt is for, and the message.
func (a *agent) prompted(p sessionParams) (s *session, m surface.Message, err error) {
	if s, err = a.find(p.SessionID); err == nil {
		m, err = messageOf(p.Prompt)
	}
	return s, m, err
}

// afterPlan lets the plan that a turn ended with be carried out, if the person wants that,
// and returns how the work has ended then.
func (s *session) afterPlan(ctx context.Context, r result) (result, error) {
	again := &turn{done: make(chan result, 1)}
	s.mu.Lock()
	plans := s.nodes[s.id].Config.Approve == openmanus.ApprovePlan && s.turn == nil
	if plans {
		s.turn = again
	}
	s.mu.Unlock()
	if !plans {
		return r, nil
	}
	goesOn, err := s.approvePlan(ctx)
	if err != nil || !goesOn {
		s.mu.Lock()
		if s.turn == again {
			s.turn = nil
		}
		s.mu.Unlock()
		return r, err
	}
	s.started(ctx, again)
	return s.wait(ctx, again)
}

// wait waits until a turn has ended. If ctx ends before, the turn is cancelled, and wait
// returns when that has taken effect.
func (s *session) wait(ctx context.Context, t *turn) (result, error) {
	select {
	case r := <-t.done:
		return r, r.err
	case <-ctx.Done():
		s.cancel()
	}
	select {
	case r := <-t.done:
		return r, r.err
	case <-s.ctx.Done():
		return result{stop: "cancelled"}, nil
	}
}

// say appends a message, or the answer to the question that waits, and returns the id that
// it has in updates. The turn counts from there.
func (s *session) say(ctx context.Context, t *turn, m surface.Message) (id string, err error) {
	m.ID = ids.New()
	if id, err = s.answer(ctx, m.Text); id != "" || err != nil {
		if err == nil {
			s.started(ctx, t)
		}
		return id, err
	}
	if err := s.expand(ctx, &m); err != nil {
		return "", err
	}
	s.mu.Lock()
	s.mine[m.ID] = true
	t.message = m.ID
	s.mu.Unlock()
	if err := s.src.Say(ctx, s.id, m); err != nil {
		return "", err
	}
	s.mu.Lock()
	cancelled := t.cancelled // perhaps before there was something to interrupt
	s.mu.Unlock()
	if cancelled {
		s.cancel()
	}
	s.settle()
	return userID(m.ID), nil
}

// started makes a turn count from the events that are stored by now, so that the end of an
// earlier turn does not end it.
func (s *session) started(ctx context.Context, t *turn) {
	v, err := s.src.Session(ctx, s.id)
	if err != nil {
		s.a.log("%v", err)
	}
	s.mu.Lock()
	t.seq = max(1, v.Events)
	s.mu.Unlock()
	s.settle()
}

// expand replaces a command of the person by the text that it stands for, after it has
// changed the model and the mode as the command demands. A command of the workspace can
// only make the mode stricter. Any other text stays.
func (s *session) expand(ctx context.Context, m *surface.Message) error {
	name, arguments, _ := strings.Cut(strings.TrimSpace(m.Text), " ")
	if !strings.HasPrefix(name, "/") {
		return nil
	}
	all, err := s.src.Commands(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(c surface.Custom) bool { return "/"+c.Name == name })
	if i < 0 {
		return nil // such as a path
	}
	c := all[i]
	s.mu.Lock()
	now := s.nodes[s.id].Config.Approve
	s.mu.Unlock()
	if c.Strict && c.Mode != "" {
		c.Mode = openmanus.Stricter(c.Mode, now)
	}
	for _, set := range []surface.Setting{{Model: c.Model}, {Mode: c.Mode}} {
		if set == (surface.Setting{}) {
			continue
		}
		if err := s.src.Change(ctx, s.id, set); err != nil {
			return wrong("prompt", "%s: %v", name, err)
		}
	}
	m.Text = c.Expand(strings.TrimSpace(arguments))
	return nil
}
