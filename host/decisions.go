package host

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/gate"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/tools"
)

// Rememberable reports whether a decision about the call c, in a session with
// the state s, can be remembered.
func Rememberable(s *openmanus.State, c *openmanus.CallState) bool { return gate.CallKey(s, c) != "" }

// Decision returns a decision about the call c of a session that is to be
// remembered. It is bound to a hash of everything that the user was shown: tool,
// arguments, workspace and sandbox. What it shows of the call has no secrets. The
// caller sets what was decided, by whom and when.
func (h *Host) Decision(session string, s *openmanus.State, c *openmanus.CallState) gate.Decision {
	what := []rune(CallSummary(c.Call))
	return gate.Decision{
		Key: gate.CallKey(s, c), Tool: c.Name, What: h.Secrets.Replace(string(what[:min(len(what), 200)])),
		Workspace: s.Config.Workspace, Session: session,
	}
}

// CallSummary returns a line that tells users what a call does: the argument
// that says most, or all of its arguments.
func CallSummary(c llm.Call) string {
	line := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	var args map[string]any
	if json.Unmarshal([]byte(c.Input), &args) != nil {
		return line(c.Input)
	}
	for _, key := range []string{"command", "code", "path", "file_path", "pattern", "inquire", "query", "url", "status"} {
		s, ok := args[key].(string)
		if !ok {
			continue
		}
		if path, ok := args["path"].(string); ok && key == "command" {
			s += " " + path
		}
		if path, ok := args["save_to"].(string); ok && path != "" && key == "url" {
			s += " to " + path
		}
		return line(s)
	}
	if s, ok := args["input"].(string); ok {
		if does := tools.DescribePatch(s); does != "" {
			return line(does)
		}
	}
	return line(c.Input)
}

// RemoveCopies deletes the copies of a workspace in which the attempts of a
// session were made. It is called when the session was deleted.
func (h *Host) RemoveCopies(id string) error {
	if err := h.copies("", 0).Remove(id); err != nil {
		return fmt.Errorf("session %s is deleted, but not all copies of its attempts: %w", id, err)
	}
	return nil
}

// ReadableArguments returns the JSON arguments of a call for people: a line for
// each, in their order, with texts not quoted. The lines of a text that has
// several stand below its name, indented, so that none of them looks like another
// argument. Input that is no JSON object is returned unchanged.
func ReadableArguments(input string) string {
	dec := json.NewDecoder(strings.NewReader(input))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return input
	}
	var b strings.Builder
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return input
		}
		var v any
		if dec.Decode(&v) != nil {
			return input
		}
		text, isText := v.(string)
		if !isText {
			data, _ := json.Marshal(v)
			text = string(data)
		}
		if strings.Contains(text, "\n") {
			text = "\n" + strings.ReplaceAll("  "+text, "\n", "\n  ")
		}
		fmt.Fprintf(&b, "%v: %s\n", key, text)
	}
	return strings.TrimRight(b.String(), "\n")
}
