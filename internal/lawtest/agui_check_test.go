package lawtest_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus/server/agui"
)

// An aguiEvent is an event of AG-UI as a client reads it.
type aguiEvent struct {
	Type       string
	MessageID  string `json:"messageId"`
	ToolCallID string `json:"toolCallId"`
	Subagent   string `json:"subagentRunId"`
	Thread     string `json:"threadId"`
	Run        string `json:"runId"`
	Delta      json.RawMessage
	Snapshot   map[string]json.RawMessage
	Message    string
	Name       string
	Outcome    *struct {
		Type       string
		Interrupts []struct{ ID, Reason string }
		Pending    []string `json:"pendingToolCallIds"`
	}
}

// An aguiCheck checks a run more strictly than the protocol's own client: everything
// that was opened is closed by name, nothing is opened twice, ids only grow, deltas
// fit the state, and a run ends.
type aguiCheck struct {
	last  string
	open  map[string]bool // "message/ID", "call/ID", …
	seen  map[string]bool // of those that may exist once
	state map[string]json.RawMessage
	ended bool
	n     int
}

// checkAGUI checks the frames of one run, which has to be whole.
func checkAGUI(frames []agui.Frame) error {
	c := aguiCheck{open: make(map[string]bool), seen: make(map[string]bool)}
	for _, f := range frames {
		if err := c.frame(f); err != nil {
			return fmt.Errorf("%s %s: %w", f.ID, f.Data, err)
		}
	}
	if !c.ended {
		return fmt.Errorf("the run has no end after %d frames", len(frames))
	}
	return nil
}

func (c *aguiCheck) frame(f agui.Frame) error {
	pos, err := agui.ParsePosition(f.ID)
	if err != nil || pos.String() != f.ID {
		return fmt.Errorf("its id cannot be read: %w", err)
	}
	if f.ID == c.last {
		return fmt.Errorf("it has the id of the frame before")
	}
	c.last = f.ID
	var e aguiEvent
	if err := json.Unmarshal(f.Data, &e); err != nil {
		return err
	}
	if c.n++; (c.n == 1) != (e.Type == "RUN_STARTED") {
		return fmt.Errorf("it is frame %d", c.n)
	}
	if c.ended {
		return fmt.Errorf("it comes after the end")
	}
	return c.event(e)
}

func (c *aguiCheck) event(e aguiEvent) error {
	switch e.Type {
	case "RUN_STARTED":
		return need(e.Thread, e.Run)
	case "TEXT_MESSAGE_START":
		return c.begin("message/"+e.MessageID, true)
	case "REASONING_START":
		return c.begin("span/"+e.MessageID, true)
	case "REASONING_MESSAGE_START":
		return c.begin("thought/"+e.MessageID, true)
	case "TOOL_CALL_START":
		return c.begin("call/"+e.ToolCallID, false) // ids of calls are the model's
	case "SUBAGENT_STARTED":
		return firstError(need(e.Name), c.begin("child/"+e.Subagent, true))
	case "TEXT_MESSAGE_CONTENT":
		return firstError(needText(e.Delta), c.in("message/"+e.MessageID))
	case "REASONING_MESSAGE_CONTENT":
		return firstError(needText(e.Delta), c.in("thought/"+e.MessageID))
	case "TOOL_CALL_ARGS":
		return firstError(needText(e.Delta), c.in("call/"+e.ToolCallID))
	case "TEXT_MESSAGE_END":
		return c.end("message/" + e.MessageID)
	case "REASONING_END":
		return c.end("span/" + e.MessageID)
	case "REASONING_MESSAGE_END":
		return c.end("thought/" + e.MessageID)
	case "TOOL_CALL_END":
		return c.end("call/" + e.ToolCallID)
	case "SUBAGENT_FINISHED":
		return c.end("child/" + e.Subagent)
	case "SUBAGENT_ERROR":
		return firstError(need(e.Message), c.end("child/"+e.Subagent))
	case "TOOL_CALL_RESULT":
		return need(e.MessageID, e.ToolCallID)
	case "MESSAGES_SNAPSHOT":
		return nil
	case "STATE_SNAPSHOT":
		c.state = e.Snapshot
		return need(string(c.state["status"]))
	case "STATE_DELTA":
		return c.patch(e.Delta)
	case "RUN_FINISHED", "RUN_ERROR":
		return c.finish(e)
	}
	return fmt.Errorf("it is of no type that we send")
}

func need(values ...string) error {
	for _, v := range values {
		if v == "" {
			return fmt.Errorf("a member is missing")
		}
	}
	return nil
}

func needText(delta json.RawMessage) error {
	var text string
	if err := json.Unmarshal(delta, &text); err != nil {
		return err
	}
	return need(text)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *aguiCheck) begin(what string, once bool) error {
	if strings.HasSuffix(what, "/") || c.open[what] || once && c.seen[what] {
		return fmt.Errorf("%s has no id, or was there already", what)
	}
	c.open[what], c.seen[what] = true, true
	return nil
}

func (c *aguiCheck) in(what string) error {
	if !c.open[what] {
		return fmt.Errorf("%s has not begun", what)
	}
	return nil
}

func (c *aguiCheck) end(what string) error {
	if err := c.in(what); err != nil {
		return err
	}
	delete(c.open, what)
	return nil
}

// patch applies a delta, which may replace members that change, and add new ones.
func (c *aguiCheck) patch(delta json.RawMessage) error {
	var ops []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if err := json.Unmarshal(delta, &ops); err != nil || len(ops) == 0 {
		return fmt.Errorf("no patch: %w", err)
	}
	for _, op := range ops {
		name := strings.TrimPrefix(op.Path, "/")
		if string(c.state[name]) == string(op.Value) {
			return fmt.Errorf("%s does not change", name)
		}
		if c.state[name] = op.Value; op.Op == "remove" {
			delete(c.state, name)
		}
	}
	return nil
}

func (c *aguiCheck) finish(e aguiEvent) error {
	c.ended = true
	if len(c.open) > 0 {
		return fmt.Errorf("it leaves %v open", c.open)
	}
	if e.Type == "RUN_ERROR" {
		return need(e.Message)
	}
	if e.Outcome == nil {
		return fmt.Errorf("it has no outcome")
	}
	status := strings.Trim(string(c.state["status"]), `"`)
	want := map[string]string{"interrupt": "waiting", "cancelled": "stopped", "success": "finished"}[e.Outcome.Type]
	if len(e.Outcome.Pending) > 0 {
		want = "waiting"
	}
	below := want == "waiting" && status == "running" // the session works, and what it works on waits
	if status != want && status != "idle" && !below {
		return fmt.Errorf("the outcome is %s and the state %s", e.Outcome.Type, status)
	}
	if (e.Outcome.Type == "interrupt") != (len(e.Outcome.Interrupts) > 0) {
		return fmt.Errorf("an interrupt asks for something, and nothing else does")
	}
	return need(e.Thread, e.Run)
}
