package acp

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// Version2 is the draft of the protocol that a client can ask for where Options.V2 is set:
// see https://agentclientprotocol.com/protocol/v2/draft/overview. This file has everything
// that differs from version 1; a session and its story are the same.
const Version2 = 2

// methods2 returns the table of what a client of version 2 can call.
func methods2() map[string]method {
	one := []string{"sessionId"}
	return map[string]method{
		"initialize":                {call: (*agent).initialize},
		"session/new":               {needs: []string{"cwd"}, session: (*agent).newSession},
		"session/resume":            {needs: []string{"sessionId", "cwd"}, session: (*agent).resume2},
		"session/list":              {session: (*agent).list},
		"session/close":             {needs: one, session: (*agent).closeSession},
		"session/delete":            {needs: one, session: (*agent).deleteSession, ability: "delete"},
		"session/prompt":            {needs: []string{"sessionId", "prompt"}, session: (*agent).prompt2},
		"session/cancel":            {notification: true},
		"session/set_config_option": {needs: []string{"sessionId", "configId"}, session: (*agent).setOption},
	}
}

// initialized2 answers who this is, and what it can.
func (a *agent) initialized2() object {
	able := object{
		"prompt": object{"image": object{}, "embeddedContext": object{}},
		"mcp":    object{"stdio": object{}, "http": object{}},
	}
	for _, m := range a.methods {
		if m.ability != "" {
			able[m.ability] = object{}
		}
	}
	return object{
		"protocolVersion": Version2,
		"info":            object{"name": "openmanus", "title": "OpenManus", "version": a.o.Version},
		"capabilities":    object{"session": able},
	}
}

// resume2 opens an existing session. It tells the client the whole story if replayFrom says
// so, and otherwise what came after the frame that the client names.
func (a *agent) resume2(ctx context.Context, p sessionParams) (any, error) {
	switch {
	case p.ReplayFrom == nil:
		return a.resume(ctx, p)
	case p.ReplayFrom.Type != "start":
		return nil, wrong("replayFrom.type", "%q is none of: start", clip.Text(p.ReplayFrom.Type, 40))
	}
	return a.load(ctx, p)
}

// MarshalJSON implements [json.Marshaler].
func (s settings) MarshalJSON() ([]byte, error) {
	if s.second {
		out := object{"configOptions": options2(s.ConfigOptions), "availableCommands": commands2(s.commands)}
		if s.SessionID != "" {
			out["sessionId"] = s.SessionID
		}
		return json.Marshal(out)
	}
	type plain settings
	return json.Marshal(plain(s))
}

func commands2(all []command) []object {
	list := []object{}
	for _, c := range all {
		one := object{"type": "command", "name": c.Name, "description": c.Description}
		if c.Input != nil {
			one["input"] = object{"type": "text", "hint": c.Input.Hint}
		}
		list = append(list, one)
	}
	return list
}

func options2(all []configOption) []object {
	list := []object{}
	for _, o := range all {
		list = append(list, object{
			"type": o.Type, "configId": o.ID, "name": o.Name, "category": o.Category, "currentValue": o.CurrentValue, "options": o.Options,
		})
	}
	return list
}

// update2 returns an update in the words of version 2, or nil if it has none.
func update2(u update) any {
	switch u.SessionUpdate {
	case "tool_call", "tool_call_update":
		return call2(u)
	case "plan":
		return object{"sessionUpdate": "plan_update", "plan": object{"type": "items", "planId": "plan", "entries": u.Entries}}
	case "current_mode_update":
		return nil // an update of the settings comes with it
	case "config_option_update":
		return object{"sessionUpdate": u.SessionUpdate, "configOptions": options2(u.ConfigOptions)}
	}
	return u
}

// call2 returns a tool call in the words of version 2.
func call2(u update) update {
	u.SessionUpdate = "tool_call_update"
	content, ok := u.Content.([]toolContent)
	if !ok {
		return u
	}
	list := []any{}
	for _, c := range content {
		if c.Type == "diff" {
			list = append(list, diff2(c))
		} else {
			list = append(list, c)
		}
	}
	u.Content = list
	return u
}

// diff2 returns the change of a file in the words of version 2.
func diff2(c toolContent) object {
	operation := "modify"
	switch {
	case c.OldText == nil:
		operation = "add"
	case c.gone:
		operation = "delete"
	}
	name := filepath.ToSlash(strings.TrimPrefix(c.Path, string(filepath.Separator)))
	from, to := "a/"+name, "b/"+name
	patch := "diff --git " + from + " " + to + "\n"
	switch operation {
	case "add":
		patch += "new file mode 100644\n"
		from = "/dev/null"
	case "delete":
		patch += "deleted file mode 100644\n"
		to = "/dev/null"
	}
	patch += "--- " + from + "\n+++ " + to + "\n" + c.hunk
	return object{
		"type": "diff", "changes": []object{{"operation": operation, "path": c.Path, "fileType": "text"}},
		"patch": object{"format": "git_patch", "text": patch},
	}
}

// permission2 asks whether something may be done, in the words of version 2.
func permission2(session string, call update, options []permissionOption) object {
	title := call.Title
	if title == "" {
		title = "May this be done?"
	}
	call.Title = "" // that of the call stays
	return object{"sessionId": session, "title": title, "subject": object{"type": "tool_call", "toolCall": call2(call)}, "options": options}
}

// prompt2 stores a message, also while the session works: the model hears it at the next
// step. It answers with the id of the message; updates of the state tell how the work goes on.
func (a *agent) prompt2(ctx context.Context, p sessionParams) (any, error) {
	s, m, err := a.prompted(p)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	t, first := s.turn, s.turn == nil
	if first {
		t = &turn{done: make(chan result, 1)}
		s.turn = t
		s.works++
	}
	message, seq := t.message, t.seq
	t.seq = 0 // it does not end before it has heard this
	s.mu.Unlock()
	s.stands("running", nil)
	id, err := s.say(ctx, t, m)
	if err == nil && first {
		s.followers.Go(func() { s.work2(t) })
	}
	if err != nil {
		s.mu.Lock()
		t.message, t.seq = message, seq
		if first {
			s.turn = nil
			s.works--
		}
		s.mu.Unlock()
		s.settle()
		return nil, err
	}
	return object{"messageId": id}, nil
}

// work2 waits until a turn has ended, and tells how.
func (s *session) work2(t *turn) {
	r, err := s.wait(s.ctx, t)
	if err == nil && r.stop == "end_turn" {
		r, err = s.afterPlan(s.ctx, r)
	}
	more := object{"stopReason": r.stop}
	if err != nil {
		more = object{"stopReason": "error", "error": errorOf(err)}
	}
	s.stands("idle", more)
	s.mu.Lock()
	s.works--
	s.mu.Unlock()
	s.settle()
}

// stands tells how the session stands, if it stands otherwise than before.
func (s *session) stands(state string, more object) {
	s.telling.Lock()
	defer s.telling.Unlock()
	if s.told == state {
		return
	}
	s.told = state
	u := object{"sessionUpdate": "state_update", "state": state}
	maps.Copy(u, more)
	_ = s.a.notify("session/update", object{"sessionId": s.id, "update": u}) // the client is gone
}

// settle2 tells how the session stands. waits says that it waits for the next prompt. The
// caller holds the lock.
func (s *session) settle2(top *openmanus.State, waits bool) {
	asking := false
	for _, q := range s.asked {
		asking = asking || q.open && !q.typed
	}
	runs := top.Status() == openmanus.Running
	switch {
	case s.turn != nil && s.turn.seq == 0: // it has just begun
	case s.turn != nil && asking && (!runs || s.idle()):
		s.stands("requires_action", nil)
	case s.turn != nil || s.works == 0 && runs && !waits:
		s.stands("running", nil)
	case s.works == 0:
		s.stands("idle", nil)
	}
}

// decode2 reads the capabilities of a client of version 2.
func (a *agent) decode2(params json.RawMessage) error {
	var p struct {
		Capabilities struct{ Elicitation *elicitation } `json:"capabilities"`
		Info         *struct{ Name string }             `json:"info"`
	}
	if err := decode(params, &p); err != nil {
		return err
	}
	if p.Info == nil {
		return wrong("info", "it is missing")
	}
	if p.Capabilities.Elicitation != nil {
		a.client.Elicitation = *p.Capabilities.Elicitation
	}
	return nil
}
