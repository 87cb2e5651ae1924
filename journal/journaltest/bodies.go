package journaltest

import (
	"encoding/json"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// Bodies returns a session that has every type of body that is stored, with
// every field set at least once, in an order in which it could have happened.
func Bodies() []openmanus.Body {
	var all []openmanus.Body
	for _, some := range [][]openmanus.Body{openingBodies(), turnBodies(), callBodies(), otherBodies()} {
		all = append(all, some...)
	}
	return all
}

func openingBodies() []openmanus.Body {
	warm := 0.7
	return []openmanus.Body{
		openmanus.Opened{
			Flow: "manus", Parent: "parent", Owner: "ann", Depth: 1, Version: openmanus.FormatVersion,
			From: &openmanus.Origin{Session: "origin", Seq: 12},
		},
		openmanus.Configured{
			N: 0, System: "You are terse.", Sandbox: "bubblewrap", FlowEnds: true,
			Spec: openmanus.Spec{
				Agent: "manus", Flow: &openmanus.FlowSpec{Name: "plan", Settings: json.RawMessage(`{"agents":["manus"]}`)},
				Model: "openai/gpt", Endpoint: "https://llm.example.com/v1", Workspace: "/home/me/project",
				Approve: openmanus.ApproveAsk, SandboxKind: "auto", SandboxReadOnly: true, Answer: json.RawMessage(`{"type":"object"}`),
				Delegates: []string{"swe"}, Copies: true, Limits: everyLimit(),
				Client: &openmanus.Client{
					Instructions: "Be kind.", Tools: []llm.ToolSpec{{Name: "weather", Description: "Tells it.", Input: json.RawMessage(`{"type":"object"}`)}},
					OneByOne: true, MustCall: true, Temperature: &warm, Effort: "low",
				},
				Worktree: &openmanus.Worktree{
					Repository: "/home/me/project", Branch: "openmanus/7k2", Base: "8c5e1b7d0f0e4b0f9a0c3d7e1a2b3c4d5e6f7a8b",
					Within: "cmd", Objects: "/home/me/project/.git/objects",
				},
			},
			Tools: []openmanus.ToolSpec{{
				ToolSpec:  llm.ToolSpec{Name: "bash", Description: "Runs a command.", Input: json.RawMessage(`{"type":"object"}`)},
				Hints:     everyHint(),
				Arguments: []openmanus.Argument{{Name: "command", Kind: openmanus.CommandArgument, Does: openmanus.Runs, Value: "true", Local: true}},
				Deferred:  true,
			}},
			Settings: llm.Settings{MaxTokens: 4096, Temperature: &warm, Effort: "high", ToolChoice: "auto", Schema: json.RawMessage(`{"type":"object"}`)},
			Prices:   openmanus.Prices{Input: 2500, Output: 10_000, Cached: 1250, CacheWrite: 3125, Free: true},
			Window:   openmanus.Window{Tokens: 400_000, Reply: 128_000, Share: 75},
			Sources:  everySource(), CopyOf: "/home/me/project",
		},
		openmanus.UserSaid{
			Whole: []openmanus.Ref{openmanus.RefOf([]byte("a log"))},
			ID:    "u1",
			Message: llm.Message{Role: llm.User, Parts: llm.Parts{
				llm.Text{Text: "Which months are best?"},
				llm.Blob{MIME: "image/png", Name: "sales.png", Data: []byte("\x89PNG\r\n\x1a\n\x00\xff")},
			}},
			Note:        llm.Parts{llm.Text{Text: "Today is Tuesday."}},
			Sources:     everySource(),
			NoteSources: everySource(),
			Trace:       "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		},
	}
}

func everySource() []openmanus.Source {
	return []openmanus.Source{{From: "https://example.org/a", Trusted: true, Private: true, Words: []string{"sales"}}}
}

func everyArgumentSource() []openmanus.ArgumentSource {
	return []openmanus.ArgumentSource{{
		Argument: "url", From: "file:.env", Trusted: true, Private: true, Text: "c2FsZXM=", As: "base64",
	}}
}

func everyHint() openmanus.Hints {
	return openmanus.Hints{ReadOnly: true, Idempotent: true, Destructive: true, Edits: true, Internal: true, Sandboxed: true, Keep: true, Final: true, Delegates: true, Ordered: true, Reach: openmanus.ReachOutside}
}

func everyLimit() openmanus.Limits {
	return openmanus.Limits{Steps: 50, Tokens: 1_000_000, Money: 2 * openmanus.Dollar, Time: time.Hour, Depth: 3, FanOut: 8, Stuck: 3, Attempts: 5}
}

func everyChange() []openmanus.FileChange {
	return []openmanus.FileChange{{Path: "report.md", Change: openmanus.FileCreated}}
}

func everyLeft() []openmanus.Left {
	return []openmanus.Left{{Name: "disk.img", Why: "too large"}}
}

func everyUse() []openmanus.ModelUse {
	return []openmanus.ModelUse{{By: "openai/gpt", Usage: llm.Usage{Input: 7, Output: 3}, Cost: 9, Free: true}}
}

func everySent() llm.Sent {
	return llm.Sent{System: "0123456789abcdef", Tools: "123456789abcdef0", Settings: "23456789abcdef01", Messages: 2,
		All: "3456789abcdef012", Last: "456789abcdef0123 56789abcdef01234"}
}

func turnBodies() []openmanus.Body {
	usage := llm.Usage{Input: 1200, Output: 80, Cached: 1000, CacheWrite: 100, Reasoning: 30, Estimated: 80}
	return []openmanus.Body{
		openmanus.ModelSaid{
			Turn: 0, Re: 3, Stop: llm.ToolUse, Usage: usage, Cost: 1_500_000, Free: true, By: "openai/gpt", Aside: everyUse(), Sent: everySent(),
			Message: llm.Message{Role: llm.Assistant, Parts: llm.Parts{
				llm.Thinking{Text: "Let me look.", Opaque: json.RawMessage(`{"signature":"c2ln"}`), By: "openai/gpt"},
				llm.Text{Text: "I will look at the file.", By: "openai/gpt"},
				llm.Call{ID: "c0-0", Name: "bash", Input: `{"command":"head <sales.csv && echo \"ok\""}`, Opaque: json.RawMessage(`{"id":"call_1"}`), By: "openai/gpt"},
				llm.Call{ID: "c0-1", Name: "ask_human", Input: "{broken \xff"},
				llm.Unknown{Raw: json.RawMessage(`{"type":"hologram","depth":3}`)},
			}},
		},
		openmanus.ModelFailed{Turn: 1, Re: 4, Kind: llm.RateLimit, Status: 429, Error: "out of credit", Usage: usage, Cost: 7, Free: true,
			By: "openai/gpt", Aside: everyUse(), Sent: everySent()},
		openmanus.Resumed{ID: "r1", Limits: everyLimit()},
		openmanus.Stopped{Turn: 2, Re: 6, Reason: openmanus.NoSteps, Error: "50 steps are used up"},
		openmanus.Called{Turn: 4, Re: 6, Call: "c4-1", Name: "copy_workspace", Input: `{"round":1}`},
		openmanus.Ended{Turn: 3, Re: 6, Status: openmanus.Failed, Reason: openmanus.ByAgent, Error: "a step is blocked", Text: "Half of it is done."},
	}
}

func callBodies() []openmanus.Body {
	ref := openmanus.RefOf([]byte("the whole output"))
	return []openmanus.Body{
		openmanus.Asked{
			Call: "c0-1", N: 0, Kind: openmanus.AskText, Question: "Which year?", Shown: "+2025\n", Hash: "sha256:00", Scope: "https://example.org",
			Schema: json.RawMessage(`{"type":"integer"}`), Input: `{"question":"Which year?"}`, ChangedBy: "hook year", Hints: everyHint(),
			Rule: "provenance", Sources: everyArgumentSource(), Leads: map[string]string{"a": "b"}, Picture: openmanus.RefOf([]byte("a picture")),
		},
		openmanus.Answered{Call: "c0-1", N: 0, Text: "2025", Data: json.RawMessage(`2025`), By: "me", Message: "m2"},
		openmanus.Ruled{
			Call: "c0-0", Allow: true, By: "me", Rule: "mode ask", Reason: "it only reads", Scope: "https://example.org",
			Input: `{"command":"head -n 3 sales.csv"}`, ChangedBy: "hook short", Hash: "sha256:00", Hints: everyHint(),
			Sources: everyArgumentSource(), Leads: map[string]string{"a": "b"}, Message: "m3",
		},
		openmanus.CallStarted{Call: "c0-0", Attempt: 1, Worker: "host/42"},
		openmanus.CallDone{Wrote: []string{"a.txt"}, Seen: []openmanus.SeenFile{{Path: "a.txt", Sum: "00"}},
			Call: "c0-0", IsError: true, Failed: true, Partial: true,
			Files: everyChange(), Meanwhile: everyChange(), Source: "https://example.com/", Whole: ref,
			Detail: json.RawMessage(`{"exit":1}`), Sources: everySource(), Picture: openmanus.RefOf([]byte("a picture")),
			Parts: llm.Parts{llm.Text{Text: "month,sales\n… cut; the whole is " + string(ref)}, llm.Result{ID: "inner", Parts: llm.Parts{llm.Text{Text: "x"}}, IsError: true}},
		},
		openmanus.CallLate{Call: "c0-1", Parts: llm.Parts{llm.Text{Text: "it was 2025"}}, Sources: everySource()},
	}
}

func otherBodies() []openmanus.Body {
	usage := llm.Usage{Input: 10, Output: 4, Cached: 5, CacheWrite: 2, Reasoning: 3, Estimated: 4}
	return []openmanus.Body{
		openmanus.ChildOpened{Call: "c0-0", Child: "child", Label: "step 1", Limits: everyLimit()},
		openmanus.ChildDone{Call: "c0-0", Child: "child", Status: openmanus.Halted, Reason: openmanus.NoMoney, Text: "half of it", Files: []string{"report.md"}, Meanwhile: []string{"big.pdf"}, Usage: usage, Cost: 3, Free: true, Unpriced: 5, Sources: everySource()},
		openmanus.Elided{N: 1, Calls: []openmanus.Elision{{Call: "c0-1", Text: "[left out]", Whole: openmanus.RefOf([]byte("gone"))}}},
		openmanus.Compacted{N: 1, UpTo: 4, Keep: []int64{3}, Summary: "<summary>", Whole: openmanus.RefOf([]byte("gone")), Refused: "too large",
			Usage: usage, Cost: 9, Free: true, By: "openai/gpt", Aside: everyUse(), Sent: everySent()},
		openmanus.TakenOver{N: 0, Worker: "host/43"},
		openmanus.Snapped{
			ID: "c0-0", Call: "c0-0", Before: "s1 before", Tree: "s1 tree", Packs: []openmanus.Ref{openmanus.RefOf([]byte("a pack"))},
			Names: []string{"report.md"}, With: []string{"other"}, Broken: true, Rewound: "w0", Kept: everyLeft(), LeftOut: 2, Left: everyLeft(), Error: "too many files",
		},
		openmanus.Rewound{
			ID: "w1", To: 3, Files: true, Talk: true, Redo: "w0", By: "me", Before: "s1 tree",
			Packs: []openmanus.Ref{openmanus.RefOf([]byte("a pack"))}, Changes: everyChange(), Kept: everyLeft(),
		},
		openmanus.ModeSet{ID: "o1", Mode: openmanus.ApproveEdits, By: "person", Note: "(You may change files now.)"},
		openmanus.Titled{ID: "t1", Title: "The best months"},
		openmanus.Noted{ID: "n1", Text: "kept for the report"},
		openmanus.Interrupted{ID: "i1", Said: "The best month is"},
	}
}
