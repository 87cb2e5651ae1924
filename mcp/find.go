package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/toolspec"
	"github.com/openmanus-go/openmanus/llm"
)

// Names of the tools by which agents reach everything else of the servers.
const (
	nameFind      = "find_tools"
	nameUse       = openmanus.UseTool
	nameResources = "mcp_resources"
	namePrompts   = "mcp_prompts"
)

type findArgs struct {
	Query string `json:"query" jsonschema:"Words for what the tool is to do, or its name. Empty: the names of all tools."`
	Limit int    `json:"limit,omitempty" jsonschema:"How many tools to describe, at most. Default 5."`
}

// A Deferred is a tool that is not a server's and that requests leave out: see
// [openmanus.ToolSpec].Deferred.
type Deferred struct {
	Spec openmanus.ToolSpec
	For  string // what it is for, in a few words; find_tools says it in every request
}

// findTool returns find_tools, which describes tools by what they do. Its
// description depends only on the names of the servers and on deferred, so that it
// is the same in every session.
func (c *Client) findTool(deferred []Deferred) openmanus.Tool {
	var names, kinds []string
	for _, l := range c.links() {
		names = append(names, line(l.cfg.Name, 40))
	}
	for _, d := range deferred {
		kinds = append(kinds, d.Spec.Name+" ("+d.For+")")
	}
	about := "Find tools of the connected MCP servers (" + some(names) +
		") by what they do, with the schemas of their arguments. Those that are not among your own " +
		"tools are called with " + nameUse + "."
	if len(kinds) > 0 {
		if len(names) > 0 {
			kinds = append(kinds, "and those of the MCP servers "+some(names))
		}
		about = "Find tools that are not listed here, by name or by what they do, with the schemas of their " +
			"arguments; then call them with " + nameUse + ": " + strings.Join(kinds, ", ") + "."
	}
	spec := openmanus.ToolSpec{Hints: openmanus.Hints{ReadOnly: true, Idempotent: true, Internal: len(names) == 0},
		Says:     toolspec.Says(": look for a tool, looking for a tool, looked for a tool | 查找工具, 正在查找工具, 查找了工具 @ query"),
		ToolSpec: llm.ToolSpec{Name: nameFind, Description: about}}
	return openmanus.Func(spec, func(
		ctx context.Context, call openmanus.Call, in findArgs,
	) (openmanus.Result, error) {
		c.freshen(ctx)
		tools, held := c.offered()
		for _, d := range slices.Backward(deferred) {
			tools = slices.Insert(tools, 0, &remote{spec: d.Spec})
		}
		c.toolChanges(ctx, call.Session) // this result has them all
		res := openmanus.Result{Parts: text("%s", describe(in, tools, held, c.missing()))}
		if len(c.links()) > 0 {
			res.Source = "mcp"
		}
		return res, nil
	})
}

// freshen connects to servers that are not connected, unless it is too early to
// try again, and lists tools again where the list has changed. Failures show in
// missing.
func (c *Client) freshen(ctx context.Context) {
	for _, l := range c.links() {
		l.connected(ctx) // one that fails is among the missing
	}
}

// missing returns a line for each server that is not connected.
func (c *Client) missing() []string {
	var names []string
	for _, l := range c.links() {
		if s := l.status(); s.Err != nil {
			names = append(names, fmt.Sprintf("the server %s is not connected: %s", clip.Clean(s.Name),
				line(s.Err.Error(), 200)))
		}
	}
	return names
}

// Limits of what one search shows: tools, and bytes.
const (
	maxFound     = 20
	maxFoundText = 24 << 10
)

// describe returns the result of find_tools: the tools that match the query, or
// the names of all if none does.
func describe(in findArgs, tools, held []*remote, missing []string) string {
	var b strings.Builder
	found, fit := search(in.Query, tools)
	if in.Query == "" || len(found) == 0 {
		found = nil
		if in.Query != "" {
			b.WriteString("No tool fits these words. ")
		}
		fmt.Fprintf(&b, "There are %s:\n", clip.Count(len(tools), "tool"))
		for _, t := range tools {
			if b.Len() > maxFoundText {
				b.WriteString("… and more: search for them\n")
				break
			}
			b.WriteString(t.spec.Name + "\n")
		}
	}
	for i, t := range found {
		entry := fmt.Sprintf("## %s\n%s\nArguments, as JSON Schema: %s\n\n", t.spec.Name, t.spec.Description,
			t.spec.Input)
		if i == min(cmp.Or(max(0, in.Limit), 5), maxFound, fit) || i > 0 && b.Len()+len(entry) > maxFoundText {
			fmt.Fprintf(&b, "%d more fit: %s\n", len(found)-i, some(namesOf(found[i:])))
			break
		}
		b.WriteString(entry)
	}
	for _, t := range held {
		fmt.Fprintf(&b, "%s is held: %s. A person can approve it.\n", t.spec.Name, t.held)
	}
	for _, m := range missing {
		b.WriteString(m + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// namesOf returns the names of the tools for agents.
func namesOf(tools []*remote) []string {
	var names []string
	for _, t := range tools {
		names = append(names, t.spec.Name)
	}
	return names
}

// search returns the tools that match words of query, the best ones first, and how
// many of them fit well: those that are named, or else those that match nearly as
// well as the best. Rare words count more than frequent ones, and words in names
// more than words in descriptions.
func search(query string, tools []*remote) (found []*remote, fit int) {
	words := wordsOf(query)
	named := strings.FieldsFunc(query, func(r rune) bool { return unicode.IsSpace(r) || r == ',' })
	docs := make([][]string, len(tools))
	in := map[string]int{} // word → how many tools contain it
	for i, t := range tools {
		docs[i] = wordsOf(t.spec.Description + " " + string(t.spec.Input))
		seen := map[string]bool{}
		for _, w := range slices.Concat(docs[i], wordsOf(t.spec.Name)) {
			if !seen[w] {
				seen[w] = true
				in[w]++
			}
		}
	}
	type hit struct {
		tool  *remote
		score float64
	}
	var hits []hit
	for i, t := range tools {
		score := 0.0
		name := wordsOf(t.spec.Name)
		for _, w := range words {
			rare := math.Log(1 + float64(len(tools))/float64(max(1, in[w])))
			if slices.Contains(name, w) {
				score += 4 * rare
			}
			n := 0.0
			for _, d := range docs[i] {
				if d == w {
					n++
				}
			}
			score += rare * n / (n + 1.2)
		}
		if slices.ContainsFunc(named, func(n string) bool { return strings.EqualFold(n, t.spec.Name) }) {
			score += 1000
		}
		if score > 0 {
			hits = append(hits, hit{t, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	for _, h := range hits {
		found = append(found, h.tool)
		if h.score >= hits[0].score*2/3 {
			fit++
		}
	}
	return found, fit
}

// wordsOf returns the words of text in lower case, without a plural s and
// without words that only connect others.
func wordsOf(text string) []string {
	var words []string
	lower := false
	var b strings.Builder
	end := func() {
		w := strings.ToLower(b.String())
		if len(w) > 1 && !slices.Contains([]string{"mcp", "the", "to", "of", "and", "in"}, w) {
			if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
				w = w[:len(w)-1]
			}
			words = append(words, w)
		}
		b.Reset()
	}
	for _, r := range text {
		letter := unicode.IsLetter(r) || unicode.IsDigit(r)
		if !letter || lower && unicode.IsUpper(r) { // camelCase is two words
			end()
		}
		if letter {
			b.WriteRune(r)
		}
		lower = unicode.IsLower(r)
	}
	end()
	return words
}

type useArgs struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

var useSchema = json.RawMessage(`{"type":"object","properties":{` +
	`"name":{"type":"string","description":"The tool's name, as find_tools gives it."},` +
	`"arguments":{"type":"object","description":"Its arguments, as its own schema wants them.",` +
	`"additionalProperties":true}` +
	`},"required":["name","arguments"]}`)

// A useTool is use_tool, which calls any tool of the servers by its name.
type useTool struct {
	c    *Client
	spec openmanus.ToolSpec
}

func (c *Client) useTool() openmanus.Tool {
	return &useTool{c, openmanus.ToolSpec{
		Says:     toolspec.Says("uses: use a tool, using a tool, used a tool | 使用工具, 正在使用工具, 使用了工具"),
		ToolSpec: llm.ToolSpec{Name: nameUse, Input: useSchema, Description: "Call a tool that " + nameFind + " has described."}}}
}

// Spec implements [openmanus.Tool].
func (u *useTool) Spec() openmanus.ToolSpec { return u.spec }

// Hints implements [openmanus.CallHinter]. It returns the hints of the tool
// that is called.
func (u *useTool) Hints(call openmanus.Call) openmanus.Hints {
	if t, _, err := u.c.targetOf(call); err == nil {
		return t.spec.Hints
	}
	return openmanus.Hints{Destructive: true}
}

// Reaches implements [openmanus.Reacher], for tools that are held as well: their calls
// say so.
func (u *useTool) Reaches(name string) bool {
	tools, held := u.c.offered()
	is := func(t *remote) bool { return t.spec.Name == name }
	return slices.ContainsFunc(tools, is) || slices.ContainsFunc(held, is)
}

// Preview implements [openmanus.Previewer]. A call that cannot run ends with the reason
// before anybody is asked.
func (u *useTool) Preview(_ context.Context, call openmanus.Call) (string, error) {
	_, _, err := u.c.targetOf(call)
	return "", err
}

// Run implements [openmanus.Tool]. It runs the tool that the arguments name, with its own
// arguments; the result is that of the tool. A name that no server offers is an error that
// suggests similar ones.
func (u *useTool) Run(ctx context.Context, call openmanus.Call) (openmanus.Result, error) {
	t, input, err := u.c.targetOf(call)
	if err != nil {
		return openmanus.Result{}, err
	}
	return t.run(ctx, call, json.RawMessage(input))
}

// targetOf returns the tool that a call of use_tool names, and the arguments,
// checked against its schema. The error is for the model.
func (c *Client) targetOf(call openmanus.Call) (*remote, string, error) {
	var in useArgs
	if err := json.Unmarshal([]byte(call.Input), &in); err != nil {
		return nil, "", fmt.Errorf("arguments: %w", err)
	}
	tools, held := c.offered()
	is := func(t *remote) bool { return t.spec.Name == in.Name }
	if i := slices.IndexFunc(held, is); i >= 0 {
		return nil, "", fmt.Errorf("%s is held: %s. A person can look at it and approve it: "+
			"openmanus mcp approve %s", in.Name, held[i].held, word(held[i].server))
	}
	i := slices.IndexFunc(tools, is)
	if i < 0 {
		near, _ := search(in.Name, tools)
		if len(near) == 0 {
			return nil, "", fmt.Errorf("%s reaches no tool %q; %s lists those that it reaches, and your own "+
				"tools are called by their names", nameUse, line(in.Name, 80), nameFind)
		}
		return nil, "", fmt.Errorf("%s reaches no tool %q; similar are %s", nameUse,
			line(in.Name, 80), some(namesOf(near[:min(3, len(near))])))
	}
	input, err := tools[i].fits(string(in.Arguments))
	if err != nil {
		return nil, "", fmt.Errorf("%s did not run: %w. Its arguments, as JSON Schema: %s",
			in.Name, err, tools[i].spec.Input)
	}
	return tools[i], input, nil
}

// Gate returns a gate that treats a call of use_tool like a call of the tool
// that it names: g decides on that, with its name, arguments and spec. A call
// that could not run ends before anybody is asked. If g is nil, it asks about every call that
// changes something.
func (c *Client) Gate(g openmanus.Gate) openmanus.Gate {
	if g == nil {
		g = openmanus.Mode(openmanus.ApproveAsk)
	}
	return useGate{c, g}
}

// A useGate is what [Client.Gate] returns.
type useGate struct {
	c *Client
	g openmanus.Gate
}

// Rule implements [openmanus.Gate]. The inner gate sees the tool that is meant, with its
// own spec and arguments, so rules for a tool hold however it is called.
func (u useGate) Rule(
	ctx context.Context, call openmanus.Call, spec openmanus.ToolSpec,
) (openmanus.Verdict, error) {
	if call.Name != nameUse {
		return u.g.Rule(ctx, call, spec)
	}
	t, input, err := u.c.targetOf(call)
	if err != nil {
		return openmanus.Verdict{Ask: true, Reason: err.Error()}, nil // nobody is asked: see useTool.Preview
	}
	call.Name, call.Input = t.spec.Name, input
	return u.g.Rule(ctx, call, t.spec)
}

// Places implements [openmanus.Placer]. Nobody knows here what another program does with a name.
func (u useGate) Places(call openmanus.Call, spec openmanus.ToolSpec) ([]openmanus.Place, bool) {
	if call.Name == nameUse {
		return nil, true
	}
	return openmanus.PlacesOf(u.g, call, spec)
}

// In implements [openmanus.ModalGate].
func (u useGate) In(m openmanus.Mode) openmanus.Gate {
	u.g = openmanus.GateIn(u.g, m)
	return u
}
