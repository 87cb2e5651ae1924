package llm

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A textPiece is a piece of a reply in text: text, or a call.
type textPiece struct {
	call bool
	name string
	text string // the text, or the input of the call as the model wrote it
}

// openings returns how calls begin in the notations that models use: tags (Hermes,
// Qwen, and the one that the instructions ask for), tags with the name in them
// (Llama, Qwen Coder), Mistral's and Llama's tokens, and code fences.
func openings() []string {
	return []string{"<tool_call", "<function_call", "<function=", "[TOOL_CALLS]", "<|python_tag|>", "```"}
}

// callMayBegin returns the offset in s at which the first call may begin, or -1. At
// the end of s an incomplete opening counts, and at the beginning of a reply
// (first), JSON does.
func callMayBegin(s string, first bool) int {
	if trimmed := strings.TrimLeft(s, " \t\r\n"); first && trimmed != "" && (trimmed[0] == '{' || trimmed[0] == '[') {
		return len(s) - len(trimmed)
	}
	at := -1
	for _, o := range openings() {
		i := strings.Index(s, o)
		for n := len(o) - 1; i < 0 && n > 0; n-- {
			if strings.HasSuffix(s, o[:n]) {
				i = len(s) - n
			}
		}
		if i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	return at
}

// beginsCall reports whether s begins with a whole opening.
func beginsCall(s string, first bool) bool {
	if first && s != "" && (s[0] == '{' || s[0] == '[' && !strings.HasPrefix("[TOOL_CALLS]", s)) {
		return true
	}
	return slices.ContainsFunc(openings(), func(o string) bool { return strings.HasPrefix(s, o) })
}

// notation matches complete calls. The groups are: 1 the JSON in a tag; 2 and 3 the
// name and the inside of a named tag; 4 a list of Mistral's; 5 JSON of Llama's; 6
// the inside of a fence. The end of the text ends each of them as well.
var notation = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)<(?:tool_call|function_call)>(.*?)(?:</(?:tool_call|function_call)>|$)` +
		`|<function=([^>\s]+)>(.*?)(?:</function>|$)` +
		`|\[TOOL_CALLS\]\s*(.*)$` +
		`|<\|python_tag\|>(.*?)(?:<\|eom_id\|>|<\|eot_id\|>|$)` +
		"|```[a-zA-Z_]*[ \t]*\r?\n(.*?)(?:```|$)")
})

// parseCalls splits s into text and calls. A fence, or JSON that is the whole reply
// (first), is a call only if it names one of the tools. The inside of a tag is
// always a call.
func parseCalls(s string, tools []ToolSpec, first bool) (pieces []textPiece) {
	known := func(name string) bool {
		return slices.ContainsFunc(tools, func(t ToolSpec) bool { return t.Name == name })
	}
	if trimmed := strings.TrimSpace(s); first && trimmed != "" && (trimmed[0] == '{' || trimmed[0] == '[') && !strings.HasPrefix(trimmed, "[TOOL_CALLS]") {
		if calls, ok := readCalls(trimmed); ok && !slices.ContainsFunc(calls, func(c textPiece) bool { return !known(c.name) }) {
			return calls
		}
	}
	from := 0
	for _, at := range notation().FindAllStringSubmatchIndex(s, -1) {
		group := func(n int) (string, bool) {
			if at[2*n] < 0 {
				return "", false
			}
			return s[at[2*n]:at[2*n+1]], true
		}
		var calls []textPiece
		if inside, ok := group(6); ok {
			var read bool
			if calls, read = readCalls(inside); !read || slices.ContainsFunc(calls, func(c textPiece) bool { return !known(c.name) }) {
				continue // it remains text
			}
		} else if name, ok := group(2); ok {
			inside, _ := group(3)
			calls = []textPiece{{true, name, namedInput(inside)}}
		} else {
			for _, n := range []int{1, 4, 5} {
				if inside, ok := group(n); ok {
					calls = tagged(inside)
				}
			}
		}
		pieces = append(append(pieces, textPiece{text: s[from:at[0]]}), calls...)
		from = at[1]
	}
	return append(pieces, textPiece{text: s[from:]})
}

// wireCall is a call in JSON, with the field names that models use.
type wireCall struct {
	Name      string          `json:"name"`
	Tool      string          `json:"tool"`
	ToolName  string          `json:"tool_name"`
	Function  json.RawMessage `json:"function"` // the name, or the call
	Arguments json.RawMessage `json:"arguments"`
	Params    json.RawMessage `json:"parameters"`
	Args      json.RawMessage `json:"args"`
	Input     json.RawMessage `json:"input"`
}

// readCalls reads a call, or a list of them.
func readCalls(s string) ([]textPiece, bool) {
	var list []json.RawMessage
	if json.Unmarshal([]byte(s), &list) != nil {
		list = nil
		for dec := json.NewDecoder(strings.NewReader(s)); dec.More(); { // one after the other
			var one json.RawMessage
			if dec.Decode(&one) != nil {
				return nil, false
			}
			list = append(list, one)
		}
	}
	var calls []textPiece
	for _, raw := range list {
		c, ok := readCall(raw)
		if !ok {
			return nil, false
		}
		calls = append(calls, c)
	}
	return calls, len(calls) > 0
}

// readCall returns the call in a JSON object; ok is false if it names no tool.
func readCall(raw json.RawMessage) (textPiece, bool) {
	var w wireCall
	if json.Unmarshal(raw, &w) != nil {
		return textPiece{}, false
	}
	var function string
	if json.Unmarshal(w.Function, &function) != nil && len(w.Function) > 0 {
		return readCall(w.Function)
	}
	name := cmp.Or(w.Name, w.Tool, w.ToolName, function)
	input := json.RawMessage("{}")
	for _, in := range []json.RawMessage{w.Arguments, w.Params, w.Args, w.Input} {
		if len(in) > 0 && string(in) != "null" {
			input = in
			break
		}
	}
	var s string
	if json.Unmarshal(input, &s) == nil { // arguments that were encoded twice
		input = json.RawMessage(s)
	}
	return textPiece{true, name, string(input)}, name != ""
}

// tagged returns the calls in a tag. Text that cannot be parsed is a call, too, so
// that its result tells the model what is wrong.
func tagged(inside string) []textPiece {
	inside = strings.TrimSpace(inside)
	inside = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(inside, "```json"), "```"), "```"))
	if calls, ok := readCalls(inside); ok {
		return calls
	}
	if name := regexp.MustCompile(`^<function=([^>\s]+)>`).FindStringSubmatch(inside); name != nil {
		return []textPiece{{true, name[1], namedInput(strings.TrimSuffix(strings.TrimSpace(inside[len(name[0]):]), "</function>"))}}
	}
	name := regexp.MustCompile(`"(?:name|tool|tool_name)"\s*:\s*"([^"]*)"`).FindStringSubmatch(inside)
	input := regexp.MustCompile(`(?s)"(?:arguments|parameters|args|input)"\s*:\s*(.*)$`).FindStringSubmatch(inside)
	switch {
	case name != nil && input != nil:
		return []textPiece{{true, name[1], strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(input[1]), "}"))}}
	case name != nil:
		return []textPiece{{true, name[1], inside}}
	}
	return []textPiece{{true, "tool_call", inside}}
}

// parameter is an argument in Qwen Coder's notation.
var parameter = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)<parameter=([^>\s]+)>\n?(.*?)\n?(?:</parameter>|$)`)
})

// namedInput returns the input of a call whose tag has its name: JSON, or a tag for
// each argument.
func namedInput(inside string) string {
	inside = strings.TrimSpace(inside)
	all := parameter().FindAllStringSubmatch(inside, -1)
	if all == nil {
		return cmp.Or(inside, "{}")
	}
	args := map[string]any{}
	for _, m := range all {
		var v any
		if json.Unmarshal([]byte(m[2]), &v) != nil {
			v = m[2]
		} else if _, isText := v.(string); isText {
			v = m[2]
		}
		args[m[1]] = v
	}
	b, err := json.Marshal(args)
	if err != nil {
		return inside
	}
	return string(b)
}
