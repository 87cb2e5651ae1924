package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// An aguiFrame is a frame of AG-UI.
type aguiFrame struct {
	id, data string
	Type     string
	Delta    json.RawMessage
	Result   string
	Message  string
	Thread   string `json:"threadId"`
	Content  any
	Outcome  struct {
		Type       string
		Interrupts []struct {
			ID, Reason, Message string
			Call                string `json:"toolCallId"`
		}
	}
}

// agui runs an agent over AG-UI and returns at most n frames, from the last one on.
func (x *site) agui(n int, last string, body any) (frames []aguiFrame) {
	x.t.Helper()
	ctx, cancel := context.WithCancel(x.t.Context())
	defer cancel()
	data, err := json.Marshal(body)
	if err != nil {
		x.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, "POST", x.url+"/api/v1/agui", strings.NewReader(string(data)))
	if err != nil {
		x.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+annsToken)
	req.Header.Set("Content-Type", "application/json")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := x.http.Client().Do(req)
	if err != nil {
		x.t.Fatal(err)
	}
	defer resp.Body.Close()
	in := bufio.NewScanner(resp.Body)
	in.Buffer(nil, 16<<20)
	if resp.StatusCode != 200 {
		in.Scan()
		x.t.Fatalf("%d %s", resp.StatusCode, in.Text())
	}
	var f aguiFrame
	for len(frames) < n && in.Scan() {
		switch name, value, _ := strings.Cut(in.Text(), ": "); name {
		case "id":
			f = aguiFrame{id: value}
		case "data":
			f.data = value
			if err := json.Unmarshal([]byte(value), &f); err != nil {
				x.t.Fatal(value, err)
			}
			frames = append(frames, f)
		}
	}
	return frames
}

// aguiInput is the input of a run.
func aguiInput(thread string, more map[string]any) map[string]any {
	in := map[string]any{"threadId": thread, "runId": "r1", "messages": []any{}, "tools": []any{}, "context": []any{}, "state": map[string]any{}}
	for name, value := range more {
		in[name] = value
	}
	return in
}

func aguiSays(id, text string) map[string]any {
	return map[string]any{"messages": []any{map[string]any{"id": id, "role": "user", "content": text}}}
}

// types are the types of frames, of which those that carry pieces stand once.
func types(frames []aguiFrame) string {
	var all []string
	for _, f := range frames {
		if n := len(all); n == 0 || f.Type != all[n-1] {
			all = append(all, f.Type)
		}
	}
	return strings.Join(all, " ")
}

const whole = 1000 // more frames than a run has

// A task with an approval in it: the run ends with an interrupt, and the next one
// answers it. A client whose line breaks gets what it has not got, and the message
// is sent once.
func TestAGUIApproval(t *testing.T) {
	x := open(t, t.TempDir(), saves())
	in := aguiInput("thread 1", aguiSays("m1", "write"))
	frames := x.agui(whole, "", in)
	if got := types(frames); !strings.HasPrefix(got, "RUN_STARTED STATE_SNAPSHOT TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END "+
		"TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END") || !strings.HasSuffix(got, "RUN_FINISHED") {
		t.Fatal(got)
	}
	end := frames[len(frames)-1]
	if end.Outcome.Type != "interrupt" || end.Outcome.Interrupts[0].Reason != "approval" || end.Thread != "thread 1" {
		t.Fatal(end.data)
	}
	for i := range frames[:len(frames)-1] {
		again := x.agui(whole, frames[i].id, in)
		if len(again) == 0 || again[len(again)-1].data != end.data {
			t.Fatalf("after %s comes %v", frames[i].id, again)
		}
	}
	if again := x.agui(whole, "", in); types(again) != types(frames) {
		t.Errorf("the same request again is %s", types(again))
	}
	resume := aguiInput("thread 1", map[string]any{"runId": "r2", "resume": []any{
		map[string]any{"interruptId": end.Outcome.Interrupts[0].ID, "status": "resolved", "payload": map[string]any{"approved": true}}}})
	frames = x.agui(whole, "", resume)
	end = frames[len(frames)-1]
	if got := types(frames); end.Outcome.Type != "success" || end.Result != "It is written." || strings.Count(got, "TOOL_CALL_RESULT") != 1 {
		t.Fatal(got, end.data)
	}
	frames = x.agui(whole, "", aguiInput("thread 1", nil)) // a client that opens the thread sees what was said
	if got := types(frames); got != "RUN_STARTED MESSAGES_SNAPSHOT STATE_SNAPSHOT RUN_FINISHED" || strings.Count(frames[1].data, `"role"`) != 4 {
		t.Error(got, frames[1].data)
	}
}

// The question of a session below reaches the client, with the id of its call, and
// the answer reaches the agent there.
func TestAGUIQuestionBelow(t *testing.T) {
	x := open(t, t.TempDir(), giving())
	frames := x.agui(whole, "", aguiInput("t", aguiSays("m1", "have it painted")))
	end := frames[len(frames)-1]
	if got := types(frames); !strings.Contains(got, "SUBAGENT_STARTED SUBAGENT_FINISHED RUN_FINISHED") && !strings.Contains(got, "SUBAGENT_STARTED STATE_DELTA SUBAGENT_FINISHED RUN_FINISHED") {
		t.Error(got)
	}
	if end.Outcome.Type != "interrupt" || end.Outcome.Interrupts[0].Message != "which colour?" || end.Outcome.Interrupts[0].Call != "c0-1" {
		t.Fatal(end.data)
	}
	resume := aguiInput("t", map[string]any{"resume": []any{
		map[string]any{"interruptId": end.Outcome.Interrupts[0].ID, "status": "resolved", "payload": "blue"}}})
	frames = x.agui(whole, "", resume)
	if end := frames[len(frames)-1]; end.Outcome.Type != "success" || end.Result != "It was painted." ||
		!strings.HasPrefix(strings.ReplaceAll(types(frames), "STATE_DELTA ", ""), "RUN_STARTED STATE_SNAPSHOT SUBAGENT_STARTED TOOL_CALL_RESULT SUBAGENT_FINISHED") {
		t.Error(types(frames), end.data)
	}
}

// Tools of the client: a run ends with its calls, beside an approval of another one, and the
// next run brings the results. A run that is sent again tells the same.
func TestAGUIToolsOfTheClient(t *testing.T) {
	calls := llm.Message{Role: llm.Assistant, Parts: llm.Parts{
		llm.Call{ID: "a", Name: "where", Input: `{"of":"me"}`}, llm.Call{ID: "b", Name: "file_saver", Input: `{"file_path":"a.txt","content":"a"}`}}}
	x := open(t, t.TempDir(), llmtest.Script(calls, llmtest.Use("", "where", map[string]any{"of": "you"}), llmtest.Use("", "where", map[string]any{}), llmtest.Say("We are both here.")))
	where := []any{map[string]any{"name": "where", "description": "says where one is", "parameters": map[string]any{"type": "object"}}}
	run := func(more map[string]any) aguiFrame {
		t.Helper()
		more["tools"] = where
		in := aguiInput("t", more)
		frames := x.agui(whole, "", in)
		if more["resume"] == nil {
			if again := x.agui(whole, "", in); types(again) != types(frames) {
				t.Errorf("the same run again is %s and not %s", types(again), types(frames))
			}
		}
		all := ""
		for _, f := range frames {
			all += f.data
		}
		if strings.Contains(all, `"toolCallName":"where"`) && strings.Contains(all, `"content":"here"`) {
			t.Errorf("the client's own result came back: %s", all)
		}
		return frames[len(frames)-1]
	}
	result := func(call, text string) map[string]any {
		return map[string]any{"id": "r-" + call, "role": "tool", "toolCallId": call, "content": text}
	}
	end := run(aguiSays("m1", "where are we?"))
	if end.Outcome.Type != "interrupt" || len(end.Outcome.Interrupts) != 1 || end.Outcome.Interrupts[0].Reason != "approval" {
		t.Fatal(end.data)
	}
	yes := []any{map[string]any{"interruptId": end.Outcome.Interrupts[0].ID, "status": "resolved", "payload": true}}
	if end = run(map[string]any{"resume": yes, "messages": []any{result("c0-1", "here")}}); end.Outcome.Type != "success" || end.Result != "" {
		t.Fatal(end.data)
	}
	if end = run(map[string]any{"messages": []any{result("c1-1", "here")}}); end.Outcome.Type != "success" || end.Result != "" {
		t.Fatal(end.data)
	}
	if end = run(aguiSays("m2", "never mind")); end.Outcome.Type != "success" || end.Result != "We are both here." {
		t.Fatal(end.data)
	}
	for field, msg := range map[string]map[string]any{
		"body.messages[0].toolCallId": result("c9-9", "here"),
		"body.messages[0].content":    {"id": "r", "role": "tool", "toolCallId": "c1-1", "content": 5},
	} {
		status, data := x.send(annsToken, "POST", "/api/v1/agui", aguiInput("t", map[string]any{"messages": []any{msg}}))
		if status != 422 || !strings.Contains(string(data), field) {
			t.Errorf("%s: %d %s", field, status, data)
		}
	}
	status, data := x.send(annsToken, "POST", "/api/v1/agui", aguiInput("t", map[string]any{"messages": []any{result("c1-1", "there")}}))
	if status != 409 {
		t.Errorf("another result than before: %d %s", status, data)
	}
}

// An agent that fails ends the run with an error; to cancel a question is no answer.
func TestAGUIOtherEnds(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script(llmtest.Use("", "ask_human", map[string]any{"inquire": "which?"})))
	frames := x.agui(whole, "", aguiInput("t", aguiSays("m1", "go")))
	resume := aguiInput("t", map[string]any{"resume": []any{
		map[string]any{"interruptId": frames[len(frames)-1].Outcome.Interrupts[0].ID, "status": "cancelled"}}})
	frames = x.agui(whole, "", resume)
	if end := frames[len(frames)-1]; end.Outcome.Type != "success" || !strings.Contains(types(frames), "TOOL_CALL_RESULT") {
		t.Error(types(frames), end.data)
	}
	x = open(t, t.TempDir(), failing{})
	frames = x.agui(whole, "", aguiInput("t", aguiSays("m1", "go")))
	if end := frames[len(frames)-1]; end.Type != "RUN_ERROR" || !strings.Contains(end.Message, "Bad key.") {
		t.Error(end.data)
	}
}

// failing is a model that has no key.
type failing struct{}

func (failing) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		yield(llm.Delta{}, &llm.Error{Kind: llm.Auth, Err: errors.New("Bad key.")})
	}
}

// Each mistake is a problem document that names the field.
func TestAGUIRefuses(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script(llmtest.Use("", "ask_human", map[string]any{"inquire": "which?"}), llmtest.Say("Done.")))
	x.agui(whole, "", aguiInput("t", aguiSays("m1", "go")))
	resume := func(id string, payload any) map[string]any {
		return map[string]any{"resume": []any{map[string]any{"interruptId": id, "status": "resolved", "payload": payload}}}
	}
	for name, c := range map[string]struct {
		in   any
		want int
		says string
	}{
		"no JSON":      {`{"threadId":`, 400, "unexpected"},
		"no thread":    {map[string]any{"runId": "r", "messages": []any{}}, 422, "threadId"},
		"no messages":  {aguiInput("new", nil), 404, "no such session"},
		"audio":        {aguiInput("t", map[string]any{"messages": []any{map[string]any{"id": "m2", "role": "user", "content": []any{map[string]any{"type": "audio", "source": map[string]any{"type": "data", "value": "", "mimeType": "audio/wav"}}}}}}), 422, "body.messages[0].content"},
		"tools":        {aguiInput("t", map[string]any{"tools": []any{map[string]any{"name": "", "description": "y"}}}), 422, "body.tools[0].name"},
		"no interrupt": {aguiInput("t", resume("none", true)), 422, "body.resume[0].interruptId"},
		"no agent":     {aguiInput("t2", map[string]any{"messages": aguiSays("m", "go")["messages"], "forwardedProps": map[string]any{"agent": "none"}}), 422, "body.forwardedProps.agent"},
	} {
		if status, data := x.send(annsToken, "POST", "/api/v1/agui", c.in); status != c.want || !strings.Contains(string(data), c.says) {
			t.Errorf("%s: %d %s", name, status, data)
		}
	}
	if status, data := x.send(bobsToken, "POST", "/api/v1/agui", aguiInput("t", nil)); status != 404 {
		t.Errorf("bob sees ann's thread: %d %s", status, data)
	}
}
