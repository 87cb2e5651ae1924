package hooks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// ClaudeFiles are the files of a workspace that have hooks of Claude Code.
var ClaudeFiles = []string{".claude/settings.json", ".claude/settings.local.json"}

// claudeEvents are the events of Claude Code that mean the same as one here.
var claudeEvents = map[string]string{
	"PreToolUse": BeforeCall, "PostToolUse": "after_call", "SessionStart": "session_start", "SessionEnd": "session_end",
	"Stop": "finished", "Notification": "waiting",
}

// claudeWhy says why other events are not understood.
var claudeWhy = map[string]string{
	"UserPromptSubmit": "it may stop a message of yours, which nothing does here",
	"SubagentStop":     "it may make an agent go on, which no hook does here",
	"PreCompact":       "it comes before a compaction; compacted comes after it",
}

// ParseClaude reads the hooks in a settings file of Claude Code, called name. It returns
// those that mean the same here, and a remark about each that does not. The error is about
// a file that cannot be read.
func ParseClaude(name string, data []byte) (list []Hook, remarks []string, err error) {
	var file struct {
		Disabled bool `json:"disableAllHooks"`
		Hooks    map[string][]struct {
			Matcher string `json:"matcher"`
			Hooks   []struct {
				Type    string  `json:"type"`
				Command string  `json:"command"`
				URL     string  `json:"url"`
				Timeout float64 `json:"timeout"`
			} `json:"hooks"`
		} `json:"hooks"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, nil, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	if file.Disabled {
		return nil, nil, nil
	}
	remark := func(format string, a ...any) { remarks = append(remarks, name+": "+fmt.Sprintf(format, a...)) }
	for _, event := range slices.Sorted(maps.Keys(file.Hooks)) {
		on := claudeEvents[event]
		if on == "" {
			remark("the hooks on %s are not used: %s", clip.Plain(event), cmp.Or(claudeWhy[event], "the event is not known here"))
			continue
		}
		for _, group := range file.Hooks[event] {
			tools, ok := claudePattern(group.Matcher)
			if !ok {
				remark("a hook on %s has the matcher %q, which is more than names with | and *: it is asked about all tools",
					event, clip.Text(group.Matcher, 60))
			}
			for _, h := range group.Hooks {
				if !(h.Type == "command" && h.Command != "") {
					remark("a hook on %s is of the type %q, and not a command: it is not used", event, clip.Text(h.Type, 40))
					continue
				}
				if on != BeforeCall && on != "after_call" {
					tools = ""
				}
				limit := 60 * time.Second
				if h.Timeout > 0 {
					limit = time.Duration(min(h.Timeout, 600) * float64(time.Second))
				}
				list = append(list, Hook{
					Name: fmt.Sprintf("claude-%d", len(list)+1), On: on, Run: h.Command, Tools: tools, Timeout: limit, Source: name, Claude: true,
				})
			}
		}
	}
	return list, remarks, nil
}

// claudePattern returns a matcher of Claude Code as the Tools of a [Hook], and "" for one
// that is another expression.
func claudePattern(matcher string) (string, bool) {
	matcher = strings.ReplaceAll(matcher, ".*", "*")
	if matcher == "" || matcher == "*" {
		return "", true
	}
	if strings.ContainsAny(matcher, `^$()[]{}+?\.`) {
		return "", false
	}
	return matcher, true
}

// claudeNames returns the names that Claude Code has for a tool that does the same. A tool
// that does one of several things has the names of all. Our names stand here, beside those of
// arguments below: this file translates between two vocabularies.
func claudeNames(tool string) []string {
	switch tool {
	case "bash":
		return []string{"Bash"}
	case "str_replace_editor":
		return []string{"Edit", "MultiEdit", "Write", "Read"}
	case "file_saver":
		return []string{"Write"}
	case "apply_patch":
		return []string{"Edit", "MultiEdit"}
	case "web_search":
		return []string{"WebSearch"}
	case "web_fetch":
		return []string{"WebFetch"}
	case "delegate":
		return []string{"Task"}
	}
	return nil
}

// claudeEvent returns an event as Claude Code's hooks read it.
func claudeEvent(ev Event) map[string]any {
	name := ""
	for theirs, ours := range claudeEvents {
		if ours == ev.Event {
			name = theirs
		}
	}
	v := map[string]any{
		"session_id": ev.Session, "transcript_path": "", "cwd": ev.Workspace, "hook_event_name": name, "permission_mode": claudeMode(ev.Mode),
	}
	if c := ev.Call; c != nil {
		v["tool_name"], v["tool_input"], v["tool_use_id"] = claudeName(c), claudeInput(c), c.ID
		if ev.Event != BeforeCall {
			v["tool_response"] = map[string]any{"text": c.Result, "is_error": c.IsError}
		}
	}
	switch ev.Event {
	case "waiting":
		v["message"] = ev.Question
	case "session_start":
		v["source"] = cmp.Or(ev.Reason, "startup")
	case "session_end":
		v["reason"] = "other"
	case "finished":
		v["stop_hook_active"] = false
	}
	return v
}

// claudeMode returns the name that Claude Code has for a mode.
func claudeMode(mode string) string {
	switch mode {
	case "all":
		return "bypassPermissions"
	case "edits":
		return "acceptEdits"
	case "plan":
		return "plan"
	}
	return "default"
}

// claudeName returns the one name that Claude Code has for what a call does.
func claudeName(c *Call) string {
	names := claudeNames(c.Tool)
	if c.Tool != "str_replace_editor" {
		return cmp.Or(append(names, c.Tool)...)
	}
	var in struct{ Command string }
	_ = json.Unmarshal(c.Input, &in)
	switch in.Command {
	case "view":
		return "Read"
	case "create":
		return "Write"
	}
	return "Edit"
}

// claudeFields are our names of arguments beside those of Claude Code, which are added.
var claudeFields = map[string][][2]string{
	"str_replace_editor": {{"path", "file_path"}, {"file_text", "content"}, {"old_str", "old_string"}, {"new_str", "new_string"}},
	"file_saver":         {{"file_path", "file_path"}, {"content", "content"}},
}

// claudeInput returns the arguments of a call with the names that Claude Code has for them
// beside ours.
func claudeInput(c *Call) any {
	var in map[string]json.RawMessage
	if json.Unmarshal(c.Input, &in) != nil {
		return c.Input
	}
	for _, f := range claudeFields[c.Tool] {
		if v, ok := in[f[0]]; ok {
			in[f[1]] = v
		}
	}
	return in
}

// ourInput returns arguments that claudeInput made and a hook changed, as ours.
func ourInput(changed json.RawMessage, c *Call) (json.RawMessage, error) {
	var in, was map[string]json.RawMessage
	if json.Unmarshal(changed, &in) != nil || json.Unmarshal(c.Input, &was) != nil {
		return nil, errors.New("its updatedInput is no object")
	}
	for _, f := range claudeFields[c.Tool] {
		if v, ok := in[f[1]]; ok && f[0] != f[1] {
			if !bytes.Equal(v, was[f[0]]) {
				in[f[0]] = v
			}
			delete(in, f[1])
		}
	}
	return json.Marshal(in)
}

// claudeAnswer reads what a hook of Claude Code answered with the exit code 0. Nothing, or
// a text that is not meant to be JSON, is no objection there.
func claudeAnswer(data []byte, ev Event) (Answer, error) {
	trimmed := bytes.TrimSpace(data)
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return Answer{Decision: "allow"}, nil
	}
	fields, err := object(trimmed)
	if err != nil {
		return Answer{}, err
	}
	var goesOn *bool
	if v, ok := fields["continue"]; ok && json.Unmarshal(v, &goesOn) != nil {
		return Answer{}, errors.New(`"continue" in its answer is not true or false`)
	}
	old, err := text(fields, "decision")
	if err != nil {
		return Answer{}, err
	}
	why, err := text(fields, "reason")
	if err != nil {
		return Answer{}, err
	}
	if goesOn != nil && !*goesOn {
		stop, err := text(fields, "stopReason")
		return Answer{Decision: "deny", Reason: reason(cmp.Or(stop, why))}, err
	}
	a := Answer{Reason: reason(why)}
	decision := old
	if v, ok := fields["hookSpecificOutput"]; ok {
		inner, err := object(v)
		if err != nil {
			return Answer{}, err
		}
		if decision, err = text(inner, "permissionDecision"); err != nil {
			return Answer{}, err
		}
		said, err := text(inner, "permissionDecisionReason")
		if err != nil {
			return Answer{}, err
		}
		a.Reason, decision = cmp.Or(reason(said), a.Reason), cmp.Or(decision, old)
		if a.Input, err = input(inner, "updatedInput"); err != nil {
			return Answer{}, err
		}
		if a.Input != nil && ev.Call != nil {
			if a.Input, err = ourInput(a.Input, ev.Call); err != nil {
				return Answer{}, err
			}
		}
	}
	switch decision {
	case "", "allow", "approve":
		a.Decision = "allow"
	case "deny", "block":
		a.Decision = "deny"
	case "ask":
		a.Decision = "ask"
	default:
		return Answer{}, fmt.Errorf("its answer has the decision %q, which is not known", clip.Text(decision, 40))
	}
	return a, nil
}
