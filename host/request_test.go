package host_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/tokens"
)

// mostFirst is the most tokens that the first request of the general agent may
// have, with its system prompt, its tools and a small workspace.
const mostFirst = 5000

func TestTheFirstRequestIsSmall(t *testing.T) {
	p := newPlace(t, justAnswers)
	p.write("ws/sales.csv", "a,b\n")
	h, _, _ := p.open()
	kind, _ := agents.Find("manus")
	a, err := h.Shown(h.Config, kind)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(environment(h, p.path("ws")), p.path("ws"), "/home/ann/sales") // a path as people have it, not one of random digits
	said := llm.Message{Role: llm.User, Parts: llm.Parts{llm.Text{Text: text}, llm.Text{Text: "hi"}}}
	n := host.HeadTokens(a) + llm.Count(tokens.For(false, ""), said)
	t.Logf("%d tokens", n)
	if n > mostFirst {
		t.Errorf("the first request has %d tokens, more than %d: make a tool rare, or its schema shorter", n, mostFirst)
	}
	for _, r := range kind.Rare {
		if i := slices.IndexFunc(a.Configured(0).Tools, func(s openmanus.ToolSpec) bool { return s.Name == r.Tool }); i < 0 {
			t.Errorf("%s is rare, and no tool of the agent", r.Tool)
		} else if !a.Configured(0).Tools[i].Deferred {
			t.Errorf("%s is rare, and not deferred", r.Tool)
		}
	}
}

// toolName matches what looks like the name of a tool in a text that models read:
// words joined by underscores, and those that are names alone.
var toolName = regexp.MustCompile(`[a-z]+(?:_[a-z]+)+|\b(?:bash|grep|glob|crawl)\b`)

// A tool that instructions or descriptions name must be there, offered or to be
// found; else the model calls what it does not have.
func TestNoTextNamesAToolThatIsNotThere(t *testing.T) {
	p := newPlace(t, justAnswers)
	h, _, _ := p.open()
	known := map[string]bool{"create_chat_completion": true, "delegate": true}
	made := map[string]*openmanus.Agent{}
	for _, kind := range agents.Kinds() {
		if kind.Bare || kind.Name == "mcp" { // their tools come with the work
			continue
		}
		a, err := h.Shown(h.Config, kind)
		if err != nil {
			t.Fatal(err)
		}
		made[kind.Name] = a
		for _, tool := range a.Tools {
			known[tool.Spec().Name] = true
		}
	}
	for name, a := range made {
		texts := map[string]string{"instructions": a.Instructions}
		for _, tool := range a.Tools {
			texts[tool.Spec().Name] = tool.Spec().Description + string(tool.Spec().Input)
		}
		for where, text := range texts {
			for _, word := range toolName.FindAllString(text, -1) {
				if known[word] && a.Tool(word) == nil {
					t.Errorf("%s, %s: it names %s, which the agent does not have", name, where, word)
				}
			}
		}
	}
}
