package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/run"
)

// Tasks say how clients give tasks to an agent.
type Tasks struct {
	Journal openmanus.Journal
	Runtime run.Runtime
	// as [run.Local.Watch]
	Watch func(ctx context.Context, session string, after int64) iter.Seq2[openmanus.Event, error]

	// Open opens the session with the id, with prompt as its first request.
	// Opening it twice opens it once. [CanAsk] says of ctx whether a person
	// can be asked.
	Open func(ctx context.Context, session, prompt string) error

	// Files are the files that the session changed. Nil: none are named.
	Files func(ctx context.Context, session string) []File
}

// A File is a file that a task made or changed.
type File struct {
	Path   string `json:"path"`
	Change string `json:"change"`
	Bytes  int64  `json:"bytes"`
	URI    string `json:"uri"`
}

// A TaskResult is the structured result of a task.
type TaskResult struct {
	Session string `json:"session"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Answer  string `json:"answer"`
	Steps   int    `json:"steps"`
	Files   []File `json:"files"`
}

type taskArgs struct {
	Prompt string `json:"prompt" jsonschema:"The task: what is to be done, and all that is known of it."`
}

// NewTask returns the tool run_task, with which a client gives an agent a task.
// The agent works in a session of its own, whose gate decides on its calls one
// by one.
func NewTask(t Tasks) openmanus.Tool {
	spec := openmanus.ToolSpec{Hints: openmanus.Hints{Internal: true}, ToolSpec: llm.ToolSpec{Name: "run_task",
		Description: "Have an agent do a task: it plans, uses tools and files on its machine, and answers " +
			"when it is done. This may take minutes. The result has the answer and links to the files that it made."}}
	return openmanus.Func(spec, func(
		ctx context.Context, call openmanus.Call, in taskArgs,
	) (openmanus.Result, error) {
		if strings.TrimSpace(in.Prompt) == "" {
			return openmanus.Result{}, errors.New("the prompt is empty: say what is to be done")
		}
		return t.run(ctx, call, in.Prompt)
	})
}

// byClient is [openmanus.Ruled].By if the person at a client decided.
const byClient = "mcp client"

// run carries out a call: it opens the session, or passes on the answer of the
// person, and drives it.
func (t Tasks) run(ctx context.Context, call openmanus.Call, prompt string) (openmanus.Result, error) {
	id := call.ID
	var err error
	if len(call.Answers) == 0 {
		err = t.Open(ctx, id, prompt)
	} else {
		err = t.answer(ctx, id, call.Answers)
	}
	if err != nil {
		return openmanus.Result{}, err
	}
	if err := t.drive(ctx, id, call); err != nil {
		return openmanus.Result{}, err
	}
	s, err := openmanus.Load(ctx, t.Journal, id)
	if err != nil {
		return openmanus.Result{}, err
	}
	if s.Status() == openmanus.Waiting {
		return openmanus.Result{}, t.question(ctx, id, s.Pending()[0])
	}
	return t.result(ctx, id, s)
}

// drive drives the session, and shows its progress. If the client gives up, it
// interrupts the session.
func (t Tasks) drive(ctx context.Context, id string, call openmanus.Call) error {
	before, err := openmanus.Load(ctx, t.Journal, id)
	if err != nil {
		return err
	}
	last := before.Seq
	tell := func(events iter.Seq2[openmanus.Event, error]) {
		for ev, err := range events {
			if err != nil {
				return // what is shown of progress is not all that matters
			}
			if text := headline(ev.Body); text != "" {
				fmt.Fprintln(call.Live, text)
			}
			last = max(last, ev.Seq)
		}
	}
	watch, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { tell(t.Watch(watch, id, before.Seq)) })
	err = t.Runtime.Wake(ctx, id)
	stop()
	watching.Wait()
	tell(t.Journal.Events(ctx, id, last)) // what came too late to be watched
	if ctx.Err() != nil {
		late := context.WithoutCancel(ctx)
		_, ierr := t.Journal.Append(late, id, openmanus.Interrupted{ID: "client " + ids.New()})
		return errors.Join(ctx.Err(), ierr)
	}
	return err
}

// headline returns an event in a few words, or "".
func headline(b openmanus.Body) string {
	switch b := b.(type) {
	case openmanus.ModelSaid:
		var lines []string
		if text := strings.TrimSpace(b.Message.Text()); text != "" {
			lines = append(lines, line(text, 200))
		}
		for _, c := range openmanus.CallsOf(b) {
			lines = append(lines, line(c.Name+" "+c.Input, 200))
		}
		return strings.Join(lines, "; ")
	case openmanus.Called:
		return line(b.Name+" "+b.Input, 200)
	case openmanus.ModelFailed:
		return "the model failed: " + b.Error
	}
	return ""
}

// question returns the question for which the session waits, as an
// [openmanus.Ask].
func (t Tasks) question(ctx context.Context, id string, c *openmanus.CallState) error {
	if !CanAsk(ctx) {
		return fmt.Errorf("the session %s waits for a person, and this client cannot ask one: openmanus "+
			"sessions show %s", id, id)
	}
	q := c.Question()
	if q.Kind == openmanus.AskText {
		return &openmanus.Ask{Question: q.Question, Schema: q.Schema}
	}
	return &openmanus.Ask{Question: q.Question + "\n" + c.Name + " " + clip.Text(c.Arguments(), 8000),
		Schema: rulingSchema}
}

// answer passes on the last of the answers, unless the session has it already.
func (t Tasks) answer(ctx context.Context, id string, answers []openmanus.Answer) error {
	had := 0
	for ev, err := range t.Journal.Events(ctx, id, 0) {
		if err != nil {
			return err
		}
		switch b := ev.Body.(type) {
		case openmanus.Ruled:
			if b.By == byClient {
				had++
			}
		case openmanus.Answered:
			if b.By == byClient {
				had++
			}
		}
	}
	s, err := openmanus.Load(ctx, t.Journal, id)
	if err != nil {
		return err
	}
	pending := s.Pending()
	if had >= len(answers) || len(pending) == 0 {
		return nil
	}
	c, a := pending[0], answers[len(answers)-1]
	var body openmanus.Body
	if q := c.Question(); q.Kind == openmanus.AskText {
		body = openmanus.Answered{Call: c.ID, N: q.N, Text: a.Text, Data: a.Data, By: byClient}
	} else {
		var said struct{ Decision, Reason string }
		if err := json.Unmarshal(a.Data, &said); err != nil {
			return fmt.Errorf("the answer cannot be read: %w", err)
		}
		r := openmanus.Ruled{Call: c.ID, Allow: said.Decision == "allow", By: byClient, Hash: c.Ruling.Hash}
		if !r.Allow {
			if r.Reason = "the person said no"; said.Reason != "" {
				r.Reason = "the person said: " + said.Reason
			}
		}
		body = r
	}
	_, err = t.Journal.Append(ctx, id, body)
	if errors.Is(err, openmanus.ErrExists) {
		return nil // another surface was faster
	}
	return err
}

// result returns the result of the session. It is an error if the session did
// not finish.
func (t Tasks) result(ctx context.Context, id string, s *openmanus.State) (openmanus.Result, error) {
	d := &TaskResult{Session: id, Status: string(s.Status()), Reason: string(s.Outcome.Reason),
		Answer: s.Answer, Steps: s.Steps, Files: []File{}}
	if t.Files != nil {
		d.Files = append(d.Files, t.Files(ctx, id)...)
	}
	if s.Status() != openmanus.Finished {
		return openmanus.Result{Detail: d}, fmt.Errorf("the task did not finish: %s (%s). The session is "+
			"kept: openmanus sessions resume %s", s.Outcome.Error, d.Reason, id)
	}
	return openmanus.Result{Parts: llm.Parts{llm.Text{Text: s.Answer}}, Detail: d}, nil
}
