package gist

import (
	"encoding/json"
	"strings"

	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/llm"
)

// A verb has the forms for what is to be done, is being done, and was done.
type verb struct{ do, doing, did string }

// verbs say what the built-in tools do. "" is for every other action or command.
var verbs = map[string]map[string]verb{
	"bash":           {"": {"run", "running", "ran"}},
	"python_execute": {"": {"run Python", "running Python", "ran Python"}},
	"file_saver":     {"": {"write", "writing", "wrote"}},
	"apply_patch":    {"": {"edit", "editing", "edited"}},
	"glob":           {"": {"look for", "looking for", "looked for"}},
	"grep":           {"": {"search", "searching", "searched"}},
	"read_document":  {"": {"read", "reading", "read"}},
	"read_output":    {"": {"read on", "reading on", "read on"}},
	"read_untrusted": {"": {"ask of a text", "asking of a text", "asked of a text"}},
	"web_search":     {"": {"search the web", "searching the web", "searched the web"}},
	"web_fetch":      {"": {"fetch", "fetching", "fetched"}},
	"ask_human":      {"": {"ask", "asking", "asked"}},
	"crawl":          {"": {"crawl", "crawling", "crawled"}},
	"keep_attempt":   {"": {"keep an attempt", "keeping an attempt", "kept an attempt"}},
	"find_tools":     {"": {"look for a tool", "looking for a tool", "looked for a tool"}},
	"data_report":    {"": {"make a report", "making a report", "made a report"}},
	"planning": {
		"": {"change the plan", "changing the plan", "changed the plan"}, "create": {"plan", "planning", "planned"},
		"get": {"read the plan", "reading the plan", "read the plan"}, "list": {"list the plans", "listing the plans", "listed the plans"},
	},
	"data_visualization": {"": {"draw a chart", "drawing a chart", "drew a chart"}},
	"terminate":          {"": {"end", "ending", "ended"}},
	"delegate":           {"": {"delegate", "delegating", "delegated"}},
	"str_replace_editor": {
		"": {"edit", "editing", "edited"}, "view": {"read", "reading", "read"}, "create": {"write", "writing", "wrote"},
		"undo_edit": {"take back", "taking back", "took back"},
	},
	"browser_use": {
		"": {"use the browser", "using the browser", "used the browser"}, "go_to_url": {"open", "opening", "opened"},
		"click_element": {"click", "clicking", "clicked"}, "input_text": {"type", "typing", "typed"},
		"extract_content": {"read the page", "reading the page", "read the page"},
		"web_search":      {"search the web", "searching the web", "searched the web"},
	},
}

// A Tense says where a call is.
type Tense int

const (
	Done    Tense = iota // it has ended: "Ran"
	Running              // it runs: "Running"
	Waiting              // it has not begun, and may wait for a person: "Wants to run"
	Never                // it was not allowed: "Wanted to run"
)

// in returns the verb in a tense, as the beginning of a sentence.
func (v verb) in(t Tense) string {
	switch t {
	case Waiting:
		return "Wants to " + v.do
	case Never:
		return "Wanted to " + v.do
	case Running:
		return strings.ToUpper(v.doing[:1]) + v.doing[1:]
	default:
		return strings.ToUpper(v.did[:1]) + v.did[1:]
	}
}

// Phrase returns what a call does as a verb and what it works on, such as "Ran" and "go
// test ./...", in a tense. Tools that are not built in are their own verbs. Both are one line; the
// text is the model's, as that of [Call].
func Phrase(c llm.Call, t Tense) (does, target string) {
	of, known := verbs[c.Name]
	if !known {
		return clip.OneLine(c.Name), Call(c)
	}
	var args struct {
		Action  string `json:"action"`
		Command string `json:"command"`
		Path    string `json:"path"`
		Title   string `json:"title"`
	}
	if json.Unmarshal([]byte(c.Input), &args) != nil {
		return of[""].in(t), Call(c)
	}
	action := args.Action
	if c.Name == "str_replace_editor" || c.Name == "planning" {
		action = args.Command
	}
	v, ok := of[action]
	if !ok {
		v = of[""]
	}
	if c.Name == "str_replace_editor" && args.Path != "" {
		return v.in(t), clip.OneLine(args.Path)
	}
	if c.Name == "planning" {
		return v.in(t), clip.OneLine(args.Title) // its steps are shown as its result
	}
	return v.in(t), Call(c)
}

// Looks reports whether a call only shows the model a file: a person can open it.
func Looks(c llm.Call) bool {
	var args struct {
		Command string `json:"command"`
	}
	return c.Name == "str_replace_editor" && json.Unmarshal([]byte(c.Input), &args) == nil && args.Command == "view"
}
