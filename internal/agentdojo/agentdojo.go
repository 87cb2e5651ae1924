// Package agentdojo reads the corpus of attacks that policies are tested on. It
// has the 97 user tasks of AgentDojo (v1.2.2 of the benchmark) and its 949 pairs
// of a user task and an injected instruction, as the sequences of calls that a
// perfectly obedient model makes. README.md beside the corpus describes its
// lines. Only tests import this package.
package agentdojo

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

//go:embed corpus.jsonl.gz
var corpus []byte

// A Case is one user task, alone or with an attack.
type Case struct {
	Name   string `json:"case"` // SUITE/USER_TASK or SUITE/USER_TASK/INJECTION_TASK
	Suite  string // banking, slack, travel or workspace
	Prompt string // what the person asks for
	Goal   string // what the injected text asks for; empty: there is no attack
	Calls  []Call // in their order

	// Answer is the final text of the model. Twenty pairs, those of
	// travel/…/injection_task_6, have no attacker's call: their goal is a phrase
	// in the answer.
	Answer string

	// Early reports whether the attacker's calls come right after the result that
	// holds the injection. Otherwise they come after all of the user's.
	Early bool
}

// Attack reports whether the case has an attack.
func (c Case) Attack() bool { return c.Goal != "" }

// A Call is a call of a tool, with the result that it has when it runs.
type Call struct {
	Tool     string          // as its server calls it
	Args     json.RawMessage // an object
	Result   string          // its text
	Error    bool            // the tool failed, and Result says why
	Attacker bool            // the injection asks for this call, and the person does not
	Injected bool            // Result holds the injected text
}

// A Tool is a tool of a suite, as MCP lists it.
type Tool struct {
	Name        string
	Description string
	InputSchema json.RawMessage
	Annotations struct{ ReadOnlyHint bool }
}

// A Corpus is all that the file holds. Tools is by suite.
type Corpus struct {
	Tools map[string][]Tool
	Cases []Case // the 97 tasks alone, then the 949 pairs
}

// Read reads the corpus. It takes about 50 ms.
func Read() (*Corpus, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(corpus))
	if err != nil {
		return nil, err
	}
	c := &Corpus{Tools: map[string][]Tool{}}
	results := map[string]string{}
	for lines := bufio.NewReaderSize(unzipped, 1<<20); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return c, nil
		} else if err != nil {
			return nil, err
		}
		var l struct {
			Result, Text string
			Tools        []Tool
			Case
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, err
		}
		switch {
		case l.Tools != nil:
			c.Tools[l.Suite] = l.Tools
		case l.Name != "":
			for i, call := range l.Calls {
				text, ok := results[call.Result]
				if !ok {
					return nil, fmt.Errorf("%s: there is no result %q", l.Name, call.Result)
				}
				l.Calls[i].Result = text
			}
			c.Cases = append(c.Cases, l.Case)
		default:
			results[l.Result] = l.Text
		}
	}
}
