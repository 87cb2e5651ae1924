package host

import (
	"cmp"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/tools"
)

// essential are the tools that an agent keeps in the smallest window, besides its first
// one and those that end its work: a shell, files, and the results that were left out.
var essential = []string{tools.BashName, tools.EditorName, tools.ReadOutputName}

// finding is about how many tokens find_tools and use_tool have.
const finding = 300

// spare returns the tools of an agent that requests leave out, besides rare, because its
// instructions and tools would take more than half of a small window: the largest ones,
// as many as it takes.
func spare(agent *openmanus.Agent, rare []agents.Rare) []agents.Rare {
	room := agent.Window.RequestBudget()
	if room == 0 {
		return nil
	}
	out := func(name string) bool {
		return slices.ContainsFunc(rare, func(r agents.Rare) bool { return r.Tool == name })
	}
	size := func(of ...llm.ToolSpec) int { return llm.CountHead(agent.Counter, "", of) }
	head := llm.CountHead(agent.Counter, agent.Instructions, nil) + finding
	keep := essential
	if c := agent.Spec.Client; c != nil {
		for _, t := range c.Tools {
			keep = append(slices.Clip(keep), t.Name)
		}
	}
	var candidates []llm.ToolSpec
	for i, t := range agent.Tools {
		spec := t.Spec()
		if out(spec.Name) {
			continue
		}
		head += size(spec.ToolSpec)
		if i > 0 && !spec.Hints.Final && !slices.Contains(keep, spec.Name) {
			candidates = append(candidates, spec.ToolSpec)
		}
	}
	slices.SortStableFunc(candidates, func(a, b llm.ToolSpec) int { return cmp.Compare(size(b), size(a)) })
	var left []agents.Rare
	for _, spec := range candidates {
		if head <= room/2 {
			break
		}
		head -= size(spec)
		left = append(left, agents.Rare{Tool: spec.Name, For: purpose(spec)})
	}
	return left
}

// purpose says in a few words what a tool is for: the beginning of its description.
func purpose(spec llm.ToolSpec) string {
	first, _, _ := strings.Cut(spec.Description, ".")
	first, _, _ = strings.Cut(first, "\n")
	first, _, _ = strings.Cut(first, ": ")
	return strings.ToLower(clip.Text(strings.TrimSpace(first), 48))
}
