package agents

import (
	"bytes"
	"embed"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/data/analysis"
	"github.com/openmanus-go/openmanus/data/document"
	"github.com/openmanus-go/openmanus/tools"
	"github.com/openmanus-go/openmanus/workspace"
)

// A Kind is an agent that can be made.
type Kind struct {
	Name        string
	Description string // for users, and for agents that delegate
	Hidden      bool   // made by flows and tools only, not offered to users
	Bare        bool   // has no tools that work anywhere, so it needs no sandbox and no web
	File        *File  // where a user's agent comes from; nil for a built-in one

	// Rare are tools of the agent that few tasks need. Whoever makes the agent may
	// have requests leave them out: see [openmanus.Agent].Deferred.
	Rare []Rare

	// Wrap makes what decides in sessions of the agent; nil: the agent itself does.
	Wrap func(*openmanus.Agent) openmanus.Flow

	// Refused says why the agent cannot be used, and what to do; nil: it can be.
	Refused error

	// Make makes an agent, without a model, a gate and limits. The closer
	// ends what its tools keep running.
	Make func(Options) (*openmanus.Agent, io.Closer, error)
}

// A Rare names a tool that few tasks need, and says in a few words what it is for.
type Rare struct{ Tool, For string }

// rare are the tools of the general agent that few tasks need. Without them its
// first request has less than 5,000 tokens, of which it would have 7,000.
var rare = []Rare{
	{"apply_patch", "edits of several files"},
	{"browser_use", "pages that need clicks, forms, scripts, logins, downloads"},
	{"crawl", "many pages of a site"},
	{"data_visualization", "profile, charts and insights of a table"},
	{"data_report", "a report in HTML and PDF"},
	{"read_untrusted", "facts from a text of unknown origin"},
}

// Kinds returns the built-in agents.
func Kinds() []Kind {
	manus := builtIn("manus", "The general agent: shell, Python, files, search in files, plans, and questions to you.", general)
	manus.Rare = rare
	return []Kind{
		manus,
		builtIn("swe", "The programmer: shell, editor and search; runs the tests before and after a change.", programming),
		builtIn("data_analysis", "The analyst: tables, charts, insights, and reports in HTML and PDF.", analysing),
		builtIn("browser", "Uses a web browser as a person would: pages, forms, downloads.", browsing),
		builtIn("research", "Deep research: searches, reads, and writes a report whose quotations are checked against the pages.", researching),
		builtIn("mcp", "Works only with the tools of MCP servers.", basic),
		answering("critic", "Checks a claim about files, and changes nothing.", "verdict.json"),
		answering("judge", "Compares attempts at a task, and changes nothing.", "judgement.json"),
		readerKind(),
	}
}

// Find returns the built-in agent with the given name, and whether there is
// one.
func Find(name string) (Kind, bool) {
	for _, k := range Kinds() {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// prompts are the instructions of the built-in agents, NAME.md, and the
// schemas of those that answer in JSON. The instructions are the head of every
// request: they contain nothing that changes. The date, the system and the
// files come with the first message.
//
//go:embed prompts
var prompts embed.FS

// prompt returns a file of prompts, without the white space around it.
func prompt(file string) string {
	data, err := prompts.ReadFile("prompts/" + file)
	if err != nil {
		panic("agents: " + err.Error()) // the file is part of the program
	}
	return strings.TrimSpace(string(data))
}

// builtIn returns an agent with the tools that toolsOf returns, in the order
// in which the model sees them.
func builtIn(name, description string, toolsOf func(Options) []openmanus.Tool) Kind {
	makeAgent := func(o Options) (*openmanus.Agent, io.Closer, error) {
		return o.agent(name, description, prompt(name+".md"), toolsOf(o))
	}
	return Kind{Name: name, Description: description, Make: makeAgent}
}

// answering returns an agent that looks at files and answers by a schema: the
// critic with a [Verdict], the judge with a [Judgement]. Its tools include the
// editor, for its view command: the caller must give it a gate that denies all
// changes. It has a shell only in a workspace in which commands run and can change
// nothing ([workspace.ReadOnly]), and its instructions say what there is.
func answering(name, description, schema string) Kind {
	k := Kind{Name: name, Description: description, Hidden: true}
	makeAgent := func(o Options) (*openmanus.Agent, io.Closer, error) {
		ts := slices.Concat(editing(o), search(o), reading(),
			[]openmanus.Tool{document.NewTool(o.Workspace), analysis.NewVisualization(o.Workspace)})
		caged := workspace.Confines(o.Workspace, workspace.OutsideCage)
		runs := caged && workspace.ReadOnly(o.Workspace)
		if runs {
			ts = append([]openmanus.Tool{o.bash()}, ts...)
		}
		return o.agent(name, description, withShell(prompt(name+".md"), runs), ts)
	}
	k.Make = func(o Options) (*openmanus.Agent, io.Closer, error) {
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(prompt(schema))); err != nil {
			return nil, nil, err
		}
		o.Answer, o.Delegates, o.Skills, o.Extra = compact.Bytes(), nil, nil, nil
		a, closer, err := makeAgent(o)
		if err == nil && schema == "verdict.json" {
			for i, t := range a.Tools {
				if t.Spec().Name == verdictName {
					a.Tools[i] = verdictTool{t}
				}
			}
		}
		return a, closer, err
	}
	return k
}

// withShell returns instructions in which lines that begin with "- with bash: " or
// "- without bash: " are kept for agents with a shell, or for those without one.
func withShell(text string, has bool) string {
	keep, drop := "- with bash: ", "- without bash: "
	if !has {
		keep, drop = drop, keep
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if rest, ok := strings.CutPrefix(line, keep); ok {
			line = "- " + rest
		}
		if !strings.HasPrefix(line, drop) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// The tools of agents, and the groups that they consist of.

func general(o Options) []openmanus.Tool {
	edit, patch := tools.NewEditors(o.Workspace)
	return slices.Concat(
		[]openmanus.Tool{o.bash(), o.python(), edit, patch, tools.NewFileSaver(o.Workspace)},
		search(o), reading(), dataTools(o), o.web("web_search", "web_fetch", "crawl", "browser_use"),
		o.untrusted(), []openmanus.Tool{tools.NewPlanning()}, ending())
}

func programming(o Options) []openmanus.Tool {
	edit, patch := tools.NewEditors(o.Workspace)
	return slices.Concat([]openmanus.Tool{o.bash(), edit, patch}, search(o), basic(o))
}

func analysing(o Options) []openmanus.Tool {
	python := o.python()
	return slices.Concat(
		dataTools(o), []openmanus.Tool{analysis.NewPreparation(python), python, o.bash()},
		editing(o), []openmanus.Tool{tools.NewFileSaver(o.Workspace)},
		search(o), reading(), []openmanus.Tool{tools.NewPlanning()}, ending())
}

func browsing(o Options) []openmanus.Tool {
	return slices.Concat(
		o.web("browser_use", "web_search", "web_fetch"),
		editing(o), []openmanus.Tool{tools.NewFileSaver(o.Workspace)},
		reading(), o.untrusted(), []openmanus.Tool{tools.NewPlanning()}, ending())
}

func researching(o Options) []openmanus.Tool {
	return slices.Concat(o.web("research", "web_search", "web_fetch", "crawl", "browser_use"), o.untrusted(), basic(o))
}

// untrusted returns the tool that has texts read by an agent without tools.
func (o Options) untrusted() []openmanus.Tool {
	var fetch openmanus.Tool
	if web := o.web("web_fetch"); len(web) > 0 {
		fetch = web[0]
	}
	return []openmanus.Tool{NewReadUntrusted(fetch, document.NewTool(o.Workspace), tools.NewReadOutput())}
}

// basic returns the tools that every agent has.
func basic(Options) []openmanus.Tool { return slices.Concat(reading(), ending()) }

func editing(o Options) []openmanus.Tool { return []openmanus.Tool{tools.NewEditor(o.Workspace)} }

func search(o Options) []openmanus.Tool {
	return []openmanus.Tool{tools.NewGrep(o.Workspace), tools.NewGlob(o.Workspace)}
}

// reading returns the tool that reads results which are too long for one reply.
func reading() []openmanus.Tool { return []openmanus.Tool{tools.NewReadOutput()} }

// ending returns the tools that ask the user and that end the work.
func ending() []openmanus.Tool { return []openmanus.Tool{tools.NewAskHuman(), tools.NewTerminate()} }

// dataTools returns the tools for documents and data of agents for general
// use.
func dataTools(o Options) []openmanus.Tool {
	return []openmanus.Tool{
		document.NewTool(o.Workspace), analysis.NewVisualization(o.Workspace), analysis.NewReport(o.Workspace, o.Chromium),
	}
}
