// Package gist says in a few words what a tool call does and how it ended, for the
// surfaces that show calls to people.
//
// A gist has a verb in the tense that fits the state of the call, and a target, such as a
// path, a command or a host. Both come from the call's arguments and from what its tool
// declares about them, so a tool of an MCP server is described like one of ours. Texts are
// harmless to show, and cut to one line.
package gist

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/tools"
)

// Call returns what a call works on, on one line: a command, a path, a query. If no
// argument says that, it is all of them. The text is the model's: whoever shows it
// passes it through [clip.Visible].
func Call(c llm.Call) string {
	var args map[string]any
	if json.Unmarshal([]byte(c.Input), &args) != nil {
		return clip.OneLine(c.Input)
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
		return clip.OneLine(s)
	}
	if s, ok := args["input"].(string); ok {
		if does := tools.DescribePatch(s); does != "" {
			return clip.OneLine(does)
		}
	}
	all := strings.ReplaceAll(Arguments(c.Input), "\n", ", ")
	return clip.OneLine(strings.TrimPrefix(all, "action: "))
}

// Arguments returns the JSON arguments of a call for people: a line for
// each, in their order, with texts not quoted. The lines of a text that has
// several stand below its name, indented, so that none of them looks like another
// argument. Input that is no JSON object is returned unchanged.
func Arguments(input string) string {
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
