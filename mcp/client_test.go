//go:build unix

package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

func TestATools(t *testing.T) {
	p := programs{"s1": serving(func() *sdk.Server { return newServer(tool("a b.c", "Does it."), tool("plain", "Is plain.")) })}
	c, heard := start(t, p, Options{}, "s1")
	if got := names(c.Tools()); got != "mcp_s1_a_b_c mcp_s1_plain find_tools use_tool" {
		t.Errorf("tools: %s", got)
	}
	says(t, c, "mcp_s1_a_b_c", `{"text":"x"}`, `a b.c {"text":"x"}`)
	res, err := use(t, c, "mcp_s1_plain", `{}`)
	if err != nil || res.Source != "mcp:s1" {
		t.Errorf("the result does not say where it is from: %+v, %v", res, err)
	}
	if heard.String() != "" {
		t.Errorf("heard: %s", heard)
	}
}

// Whatever servers call themselves and their tools, every tool has a name of
// its own that every provider takes, and a call reaches the tool it is for.
func TestNamesNeverCollide(t *testing.T) {
	long := strings.Repeat("very_long_", 20)
	at := func(tools ...string) func(context.Context, *os.File, *os.File) error {
		return serving(func() *sdk.Server {
			s := sdk.NewServer(&sdk.Implementation{Name: "t"}, nil)
			for _, n := range tools {
				s.AddTool(tool(n, ""), echo)
			}
			return s
		})
	}
	p := programs{"a": at("b_c", "x.y", "x_y", long+"1", long+"2", "d"), "a_b": at("c", "d"), "a b": at("d"), "a-b": at("d")}
	var first string
	for range 3 {
		c, _ := start(t, p, Options{}, "a", "a_b", "a b", "a-b")
		tools := c.Tools()
		if first == "" {
			first = names(tools)
		}
		if names(tools) != first {
			t.Errorf("the names differ from start to start:\n%s\n%s", first, names(tools))
		}
		seen := map[string]bool{}
		for _, tool := range tools {
			name := tool.Spec().Name
			if seen[name] || len(name) > 64 || odd.MatchString(name) {
				t.Errorf("the name %q is there twice, or not one that providers take", name)
			}
			seen[name] = true
			r, ok := tool.(*remote)
			if !ok {
				continue
			}
			res, err := tool.Run(t.Context(), call("c", name, `{}`))
			if err != nil || !strings.HasPrefix(res.Parts.Text(), r.tool+" {") || res.Source != "mcp:"+r.server {
				t.Errorf("%s of %s reached %q, %v", r.tool, r.server, res.Parts.Text(), err)
			}
		}
		if len(seen) != 12 {
			t.Errorf("%d tools: %s", len(seen), names(tools))
		}
		if !seen["mcp_a_d"] || !seen["mcp_a-b_d"] {
			t.Error("a name that nobody else wants is changed:", names(tools))
		}
	}
}

func TestResultsInTheirForm(t *testing.T) {
	results := map[string]*sdk.CallToolResult{
		"image":      {Content: []sdk.Content{&sdk.TextContent{Text: "see:"}, &sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")}}},
		"audio":      {Content: []sdk.Content{&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("wav")}}},
		"program":    {Content: []sdk.Content{&sdk.ImageContent{MIMEType: "application/x-sh", Data: []byte("rm")}}},
		"resource":   {Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "x://y", Text: "inside"}}}},
		"link":       {Content: []sdk.Content{&sdk.ResourceLink{URI: "x://y", Name: "why"}}},
		"structured": {Content: []sdk.Content{&sdk.TextContent{Text: "found 1"}}, StructuredContent: map[string]any{"items": []any{"one"}}},
		"twice":      {Content: []sdk.Content{&sdk.TextContent{Text: `{"n":1}`}}, StructuredContent: map[string]any{"n": 1}},
		"only":       {Content: []sdk.Content{}, StructuredContent: map[string]any{"n": 1}},
		"nothing":    {Content: []sdk.Content{}},
		"two":        {Content: []sdk.Content{&sdk.TextContent{Text: "a"}, &sdk.TextContent{Text: "b"}}},
		"error":      {IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "it broke"}, &sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")}}},
		"silent":     {IsError: true, Content: []sdk.Content{}},
	}
	p := programs{"s": serving(func() *sdk.Server {
		s := newServer()
		for name, r := range results {
			s.AddTool(tool(name, ""), func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return r, nil })
		}
		return s
	})}
	c, _ := start(t, p, Options{}, "s")
	show := func(parts llm.Parts) string {
		var out []string
		for _, p := range parts {
			switch p := p.(type) {
			case llm.Text:
				out = append(out, strings.TrimSpace(p.Text))
			case llm.Blob:
				out = append(out, "<"+p.MIME+" "+string(p.Data)+">")
			}
		}
		return strings.Join(out, "|")
	}
	for name, want := range map[string]string{
		"image": "see:|<image/png png>", "audio": "<audio/wav wav>", "program": "[2 bytes of application/x-sh: not shown]",
		"resource": "[resource x://y]\ninside", "link": "[resource x://y (why): mcp_resources reads it from the server s]",
		"structured": `found 1|{"items":["one"]}`, "twice": `{"n":1}`, "only": `{"n":1}`, "nothing": "No output returned.", "two": "a|b",
	} {
		res, err := use(t, c, "mcp_s_"+name, `{}`)
		if got := show(res.Parts); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	res, err := use(t, c, "mcp_s_error", `{}`)
	if err == nil || err.Error() != "it broke" || show(res.Parts) != "<image/png png>" {
		t.Errorf("an error is %q, %v", show(res.Parts), err)
	}
	fails(t, c, "mcp_s_silent", `{}`, "the server s says that the call failed, but not why")
}

func TestListChanges(t *testing.T) {
	server := make(chan *sdk.Server, 1)
	p := programs{"s": serving(func() *sdk.Server {
		s := newServer(tool("old", ""), tool("stays", ""))
		s.AddTool(tool("change", ""), func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			s := <-server
			s.AddTool(tool("new", "Is new."), echo)
			s.RemoveTools("old")
			return &sdk.CallToolResult{}, nil
		})
		server <- s
		return s
	})}
	c, _ := start(t, p, Options{}, "s")
	tools := c.Tools() // of an agent, for good
	run := func(name, input string) (openmanus.Result, error) {
		for _, tool := range tools {
			if tool.Spec().Name == name {
				return tool.Run(t.Context(), call("c", name, input))
			}
		}
		return openmanus.Result{}, fmt.Errorf("no tool %s", name)
	}
	if _, err := run("mcp_s_stays", `{}`); err != nil {
		t.Fatal(err)
	}
	if _, err := run("mcp_s_change", `{}`); err != nil {
		t.Fatal(err)
	}
	l := c.link("s")
	l.mu.Lock()
	for !l.stale && l.list.byName["new"] == nil { // the notice comes beside the result
		l.news.Wait()
	}
	l.mu.Unlock()
	if _, err := run("mcp_s_old", `{}`); err == nil || !strings.Contains(err.Error(), "no longer has this tool") {
		t.Errorf("a tool that is gone: %v", err)
	}
	res, err := run("mcp_s_stays", `{}`)
	if err != nil || !strings.Contains(res.Parts.Text(), "New tools available: mcp_s_new") || !strings.Contains(res.Parts.Text(), "no longer available: mcp_s_old") {
		t.Errorf("the model is not told: %q, %v", res.Parts.Text(), err)
	}
	res, err = run("mcp_s_stays", `{}`)
	if err != nil || strings.Contains(res.Parts.Text(), "available") {
		t.Errorf("the model is told twice: %q, %v", res.Parts.Text(), err)
	}
	res, err = run("use_tool", `{"name":"mcp_s_new","arguments":{"text":"x"}}`)
	if err != nil || res.Parts.Text() != `new {"text":"x"}` {
		t.Errorf("the new tool: %q, %v", res.Parts.Text(), err)
	}
}

// Servers come and go while an agent works: its tools stay, so that its requests begin as
// before, and find_tools and use_tool reach what has come.
func TestServersComeAndGo(t *testing.T) {
	hanging := make(chan struct{})
	var started atomic.Int32
	p := programs{
		"stays": serving(func() *sdk.Server { started.Add(1); return newServer(tool("t", "")) }),
		"comes": serving(func() *sdk.Server { return newServer(tool("weather", "Tells the weather.")) }),
		"goes": serving(func() *sdk.Server {
			s := newServer(tool("t", ""))
			s.AddTool(tool("hang", ""), func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				close(hanging)
				<-ctx.Done()
				return nil, ctx.Err()
			})
			return s
		}),
	}
	c, heard := start(t, p, Options{}, "stays", "goes")
	before := c.Tools()
	in := func(session, name, input string) (string, error) {
		i := slices.IndexFunc(before, func(t openmanus.Tool) bool { return t.Spec().Name == name })
		made := call("c", name, input)
		made.Session = session
		res, err := before[i].Run(t.Context(), made)
		return res.Parts.Text(), err
	}
	run := func(name, input string) (string, error) { return in("s", name, input) }
	if got, err := run("mcp_stays_t", `{}`); err != nil || strings.Contains(got, "available") {
		t.Errorf("at first: %q, %v", got, err)
	}
	hung := make(chan error)
	go func() { _, err := in("other", "mcp_goes_hang", `{}`); hung <- err }()
	<-hanging
	now := []ServerConfig{{Name: "stays", Command: "stays"}, {Name: "comes", Command: "comes"}, {Name: "missing", Command: "missing"}}
	c.Set(t.Context(), now)
	if err := <-hung; err == nil || !strings.Contains(err.Error(), "may or may not have happened") {
		t.Errorf("a call of a server that went: %v", err)
	}
	if !strings.Contains(heard.String(), "missing: it did not start") {
		t.Errorf("heard: %s", heard)
	}
	got, err := run("mcp_stays_t", `{}`)
	if err != nil || !strings.Contains(got, "New tools available: mcp_comes_weather (") || !strings.Contains(got, "no longer available: mcp_goes_hang, mcp_goes_t") {
		t.Errorf("the model is not told: %q, %v", got, err)
	}
	if got, err := run("find_tools", `{"query":"weather"}`); err != nil || !strings.Contains(got, "## mcp_comes_weather") {
		t.Errorf("find_tools: %q, %v", got, err)
	}
	if got, err := run("use_tool", `{"name":"mcp_comes_weather","arguments":{}}`); err != nil || got != "weather {}" {
		t.Errorf("use_tool: %q, %v", got, err)
	}
	if _, err := run("mcp_goes_t", `{}`); err == nil || err.Error() != "the MCP server goes was disconnected, and this tool with it" {
		t.Errorf("a tool of a server that went: %v", err)
	}
	c.Set(t.Context(), append(now, ServerConfig{Name: "goes", Command: "goes"}))
	if got, err := run("mcp_goes_t", `{}`); err != nil || !strings.Contains(got, "t {}") {
		t.Errorf("a tool of a server that came back: %q, %v", got, err)
	}
	if n := started.Load(); n != 1 {
		t.Errorf("the server that stays was started %d times", n)
	}
}

// A server that is a program is offered the workspace as a root.
func TestRoots(t *testing.T) {
	p := programs{"s": serving(func() *sdk.Server {
		s := newServer()
		s.AddTool(tool("roots", ""), func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			//lint:ignore SA1019 it asks for roots
			got, ok := r.Params.InputResponses["roots"].(*sdk.ListRootsResult)
			if !ok {
				//lint:ignore SA1019 as above
				return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"roots": &sdk.ListRootsParams{}}}, nil
			}
			text := ""
			for _, root := range got.Roots {
				text += root.Name + " at " + root.URI
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
		})
		return s
	})}
	c, _ := start(t, p, Options{Root: "/home/me/my work"}, "s")
	says(t, c, "mcp_s_roots", `{}`, "my work at file:///home/me/my%20work")
}

// One process for every server, whoever uses it.
func TestAHundredAgentsShareThreeServers(t *testing.T) {
	var started atomic.Int32
	p := programs{}
	for _, n := range []string{"one", "two", "three"} {
		p[n] = serving(func() *sdk.Server { started.Add(1); return newServer(tool("t", "")) })
	}
	c, _ := start(t, p, Options{}, "one", "two", "three")
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			for _, tool := range c.Tools() {
				if r, ok := tool.(*remote); ok {
					in := call(fmt.Sprint("c", i), r.spec.Name, `{}`)
					in.Session = fmt.Sprint("s", i)
					if _, err := tool.Run(t.Context(), in); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	if n := started.Load(); n != 3 {
		t.Errorf("%d processes", n)
	}
}

func TestAServerThatDies(t *testing.T) {
	var started atomic.Int32
	p := programs{"s": serving(func() *sdk.Server {
		started.Add(1)
		s := newServer(tool("t", ""))
		s.AddTool(tool("die", ""), func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			go r.Session.Close()
			return nil, errors.New("dying")
		})
		return s
	}), "other": serving(func() *sdk.Server { return newServer(tool("t", "")) })}
	c, _ := start(t, p, Options{}, "s", "other")
	_, err := use(t, c, "mcp_s_die", `{}`)
	if err == nil {
		t.Error("the call did not fail")
	}
	l := c.link("s")
	l.mu.Lock()
	for l.nextTry.IsZero() {
		l.news.Wait()
	}
	l.mu.Unlock()
	says(t, c, "mcp_other_t", `{}`, "t {}")
	fails(t, c, "mcp_s_t", `{}`, "the next attempt is in")
	l.mu.Lock()
	if wait := time.Until(l.nextTry); wait <= 0 || wait > firstPause {
		t.Errorf("the next attempt is in %s", wait)
	}
	l.nextTry = time.Time{} // the pause is over
	l.mu.Unlock()
	says(t, c, "mcp_s_t", `{}`, "t {}")
	if n := started.Load(); n != 2 {
		t.Errorf("it was started %d times", n)
	}
}

func TestAServerThatIsNotThere(t *testing.T) {
	p := programs{"other": serving(func() *sdk.Server { return newServer(tool("t", "")) })}
	c, heard := start(t, p, Options{}, "missing", "other")
	if !strings.Contains(heard.String(), `missing: it did not start: there is no program "missing"`) {
		t.Errorf("heard: %s", heard)
	}
	says(t, c, "mcp_other_t", `{}`, "t {}")
	says(t, c, "find_tools", `{"query":""}`, "the server missing is not connected")
}
