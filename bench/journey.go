package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus/bench/server"
)

// The files that the journey finds in its workspace, and leaves there.
const (
	journeyMark  = "started" // the call that is to be killed runs
	journeyImage = "map.png"
)

// journey knows the models "journey-N", for B7: N tool results of the
// product's own tools, with whatever is said to break a cached prefix.
func journey(model string) (server.Script, error) {
	var n int
	if _, err := fmt.Sscanf(model, "journey-%d", &n); err != nil || model != fmt.Sprintf("journey-%d", n) {
		return nil, fmt.Errorf("no such model: %q", model)
	}
	return func(step int) server.Reply {
		if step >= n {
			return server.Reply{Text: "The journey is over."}
		}
		return server.Reply{Text: fmt.Sprintf("On the way, step %d.", step), Calls: journeyCalls(step, n)}
	}, nil
}

// journeyCalls is what the model asks for at a step. The calls differ from
// step to step, save for three in a row, which earn a nudge: a message of the
// moment.
func journeyCalls(step, n int) []server.Call {
	bash := func(format string, a ...any) server.Call {
		return call("bash", map[string]any{"command": fmt.Sprintf(format, a...)})
	}
	view := func(path string) server.Call {
		return call("str_replace_editor", map[string]any{"command": "view", "path": path})
	}
	if c, ok := journeyLate(step); ok {
		return []server.Call{c}
	}
	switch {
	case step == 0:
		return []server.Call{call("planning", map[string]any{"command": "create", "plan_id": "p", "title": "The journey",
			"steps": []string{"set out", "travel", "arrive"}})}
	case step == n/2:
		return []server.Call{call("planning", map[string]any{"command": "mark_step", "plan_id": "p", "step_index": 0, "step_status": "completed"})}
	case step == journeySlow(n):
		return []server.Call{bash("touch %s; sleep 20; echo late", journeyMark)}
	case step == 12:
		return []server.Call{view(journeyImage)}
	case 30 <= step && step < 33: // large ones, that give way to references later
		return []server.Call{bash("seq %d000 %d999", step, step+1)}
	case 40 <= step && step < 43:
		return []server.Call{bash("echo the same again")}
	case step%10 == 3:
		return []server.Call{view(fmt.Sprintf("missing-%d.txt", step))}
	case step%10 == 6:
		return []server.Call{bash("echo step %d failed >&2; exit 3", step)}
	case step%25 == 7:
		return []server.Call{{Name: "no_such_tool", Arguments: fmt.Sprintf(`{"step":%d}`, step)}}
	case step%25 == 13:
		return []server.Call{{Name: "bash", Arguments: fmt.Sprintf(`{"command": %d %d <`, step, step)}}
	case step%25 == 18 && step+1 < n:
		return []server.Call{view(fmt.Sprintf("gone-%d.txt", step)), view(fmt.Sprintf("lost-%d.txt", step))}
	}
	return []server.Call{bash("seq %d %d", step, step+150)}
}

// journeyLate are the steps in which tools come late: the server learns one
// while it is used, which is found and called, and another after it was
// killed and started again. It says so after a moment, that a model which
// answers at once would not wait.
func journeyLate(step int) (c server.Call, ok bool) {
	switch step {
	case 20, 150:
		return call("mcp_school_learn", map[string]any{"name": fmt.Sprintf("late-%d", step)}), true
	case 21, 151:
		return call("bash", map[string]any{"command": fmt.Sprintf("sleep 0.2; echo %d", step)}), true
	case 22, 152:
		return call("find_tools", map[string]any{"query": "late"}), true
	case 24, 154:
		return call("use_tool", map[string]any{"name": fmt.Sprintf("mcp_school_late-%d", step-4), "arguments": map[string]any{}}), true
	}
	return c, false
}

// journeySlow is the step whose call runs until it is killed.
func journeySlow(n int) int { return n * 13 / 20 }

func call(name string, input map[string]any) server.Call {
	data, err := json.Marshal(input)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return server.Call{Name: name, Arguments: string(data)}
}

// requests counts how often the model is asked if nothing goes wrong.
func requests(script server.Script) int {
	for n, step := 1, 0; ; n++ {
		calls := len(script(step).Calls)
		if calls == 0 {
			return n
		}
		step += calls
	}
}

// journeyErrors counts the calls of the script that fail.
func journeyErrors(n int) int {
	count := 0
	for step := 0; step < n; {
		calls := journeyCalls(step, n)
		step += len(calls)
		for _, c := range calls {
			if c.Name == "str_replace_editor" || c.Name == "no_such_tool" || !json.Valid([]byte(c.Arguments)) || strings.Contains(c.Arguments, "exit 3") {
				count++
			}
		}
	}
	return count
}
