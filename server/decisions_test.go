package server_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// A deciding is a surface on which a person decides about the call c0-1 of a session. It
// returns what the surface answers if it refuses the decision, or "". A surface without
// some part of a decision, such as other arguments, has no say in those that need it.
type deciding struct {
	decide func(x *site, p *phone, id string, d act.Decision) string
	cannot func(d act.Decision) bool
}

// decidings are the surfaces of the server, by name.
var decidings = map[string]deciding{
	"the API": {decide: func(x *site, _ *phone, id string, d act.Decision) string {
		status, body := x.send(annsToken, "POST", "/api/v1/sessions/"+id+"/rulings", payloadOf(d, map[string]any{"call": d.Call, "allow": d.Allow}))
		return refusal(status, 202, string(body))
	}},
	"a link": {decide: func(x *site, p *phone, _ string, d act.Decision) string {
		form := url.Values{"allow": {map[bool]string{true: "true", false: "false"}[d.Allow]}, "reason": {d.Reason}}
		status, _, body := x.raw(wrong{method: "POST", path: p.next().Path, body: form.Encode(),
			header: map[string]string{"Authorization": "", "Accept": "text/html", "Content-Type": "application/x-www-form-urlencoded"}})
		return refusal(status, 200, body)
	}, cannot: func(d act.Decision) bool { return d.Input != "" || d.Scope != "" || d.Remember || d.Call != "c0-1" }},
	"AG-UI": {decide: func(x *site, _ *phone, id string, d act.Decision) string {
		frames := x.agui(whole, "", aguiInput(id, nil))
		status, body := x.send(annsToken, "POST", "/api/v1/agui", aguiInput(id, map[string]any{"runId": "r2", "resume": []any{map[string]any{
			"interruptId": frames[len(frames)-1].Outcome.Interrupts[0].ID, "status": "resolved", "payload": payloadOf(d, map[string]any{"approved": d.Allow})}}}))
		return refusal(status, 200, string(body))
	}, cannot: func(d act.Decision) bool { return d.Call != "c0-1" }},
	"A2A": {decide: func(x *site, _ *phone, id string, d act.Decision) string {
		status, out, _ := x.rest("POST", "/a2a/v1/message:send", map[string]any{"message": map[string]any{
			"messageId": "m1", "role": "ROLE_USER", "taskId": id + "-3",
			"parts": []any{map[string]any{"data": payloadOf(d, map[string]any{"call": d.Call, "approved": d.Allow})}}}})
		data, err := json.Marshal(out)
		if err != nil {
			x.t.Error(err)
		}
		return refusal(status, 200, string(data))
	}, cannot: func(d act.Decision) bool { return d.Call != "c0-1" }},
}

// payloadOf adds the rest of a decision to what says yes or no.
func payloadOf(d act.Decision, m map[string]any) map[string]any {
	if d.Input != "" {
		m["input"] = json.RawMessage(d.Input)
	}
	if d.Reason != "" {
		m["reason"] = d.Reason
	}
	if d.Scope != "" {
		m["scope"] = d.Scope
	}
	if d.Remember {
		m["remember"] = true
	}
	return m
}

// refusal returns the body of a response, unless it has the status of success.
func refusal(status, ok int, body string) string {
	if status == ok {
		return ""
	}
	return body
}

// The same decision is the same event on every surface, and what one refuses, no other one
// takes, for the same reason.
func TestTheSameDecisionIsTheSameEvent(t *testing.T) {
	for what, d := range map[string]act.Decision{
		"yes":                {Allow: true},
		"no":                 {},
		"no, why":            {Reason: "  not <now>\nplease "},
		"other arguments":    {Allow: true, Input: `{"content":"other","file_path":"b.txt"}`},
		"the same arguments": {Allow: true, Input: `{ "file_path":"a.txt", "content":"a" }`},
		"wrong arguments":    {Allow: true, Input: `{"file_path":7}`},
		"arguments for no":   {Input: `{"content":"other","file_path":"b.txt"}`},
		"reason for yes":     {Allow: true, Reason: "fine"},
		"another scope":      {Allow: true, Scope: "the disk"},
		"to remember":        {Allow: true, Remember: true},
		"another call":       {Call: "c0-9", Allow: true},
	} {
		t.Run(what, func(t *testing.T) {
			if d.Call == "" {
				d.Call = "c0-1"
			}
			for name, s := range decidings {
				if s.cannot != nil && s.cannot(d) {
					continue
				}
				x := open(t, t.TempDir(), llmtest.Script(
					llmtest.Use("", "file_saver", map[string]any{"file_path": "a.txt", "content": "a"}), llmtest.Say("It is done.")))
				p := newPhone(t, 201) // for the link
				if name == "a link" {
					x.call("POST", "/api/v1/push", p.subscription(), 204)
				}
				id := x.session(map[string]any{"workspace": "w"})
				x.call("POST", "/api/v1/sessions/"+id+"/messages", say("write it"), 202)
				x.until(id, "waiting")
				st, err := openmanus.Load(t.Context(), x.db, id)
				if err != nil {
					t.Fatal(err)
				}
				want, err := act.Rule(st, d)
				if err == nil && d.Remember {
					_, err = act.Sessions{}.Lasting(id, st, st.Call(d.Call)) // the host of these tests keeps nothing
				}
				said := s.decide(x, p, id, d)
				var refused *act.Error
				if errors.As(err, &refused) {
					if text, _ := json.Marshal(refused.Err.Error()); !strings.Contains(said, strings.Trim(string(text), `"`)) && !strings.Contains(said, refused.Err.Error()) {
						t.Errorf("%s says %s, and not %q", name, said, refused.Err)
					}
					if s := x.call("GET", "/api/v1/sessions/"+id, nil, 200); s["status"] != "waiting" {
						t.Errorf("%s refused it, and the session is %v", name, s["status"])
					}
					continue
				}
				if err != nil || said != "" {
					t.Errorf("%s: %v, %s", name, err, said)
					continue
				}
				x.until(id, "finished")
				if name == "a link" {
					p.next() // that it has ended
				}
				var got openmanus.Ruled
				for ev, err := range x.db.Events(t.Context(), id, st.Seq) {
					if r, ok := ev.Body.(openmanus.Ruled); ok && err == nil {
						got = r
					}
				}
				if !strings.HasPrefix(got.By, "ann") {
					t.Errorf("%s: it was %s", name, got.By)
				}
				got.By, got.Message = "", ""
				g, err1 := json.Marshal(got)
				w, err2 := json.Marshal(want)
				if string(g) != string(w) || err1 != nil || err2 != nil {
					t.Errorf("%s records %s, and not %s", name, g, w)
				}
			}
		})
	}
}
