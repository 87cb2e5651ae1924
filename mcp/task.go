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
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/clip"
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

// A taskTool is run_task.
type taskTool struct {
	openmanus.Tool
	tasks Tasks

	mu    sync.Mutex
	asked map[string]askedOf // by the task's session: what its client was asked last
}

// An askedOf is a question that was passed on to a client: after how many answers, and
// which call of which session put it.
type askedOf struct {
	answers       int
	session, call string
	n             int
	ruling        bool   // they rule on the call
	hash          string // of what they were shown of it
}

// NewTask returns the tool run_task, with which a client gives an agent a task.
// The agent works in a session of its own, whose gate decides on its calls one
// by one. Questions of sessions below it are the client's, too.
func NewTask(t Tasks) openmanus.Tool {
	spec := openmanus.ToolSpec{Hints: openmanus.Hints{Internal: true}, ToolSpec: llm.ToolSpec{Name: "run_task",
		Description: "Have an agent do a task: it plans, uses tools and files on its machine, and answers " +
			"when it is done. This may take minutes. The result has the answer and links to the files that it made."}}
	task := &taskTool{tasks: t, asked: make(map[string]askedOf)}
	task.Tool = openmanus.Func(spec, func(
		ctx context.Context, call openmanus.Call, in taskArgs,
	) (openmanus.Result, error) {
		if strings.TrimSpace(in.Prompt) == "" {
			return openmanus.Result{}, errors.New("the prompt is empty: say what is to be done")
		}
		return task.run(ctx, call, in.Prompt)
	})
	return task
}

// taskSchema is the JSON Schema of a [TaskResult].
var taskSchema = json.RawMessage(`{"type":"object","properties":{` +
	`"session":{"type":"string","description":"The session that did the task."},` +
	`"status":{"type":"string","description":"How it ended: finished, failed or stopped."},` +
	`"reason":{"type":"string","description":"Why it ended so; empty if it finished."},` +
	`"answer":{"type":"string"},` +
	`"steps":{"type":"integer","description":"The replies of the model."},` +
	`"files":{"type":"array","description":"The files that it made, changed or deleted.","items":{"type":"object","properties":{` +
	`"path":{"type":"string"},"change":{"type":"string"},"bytes":{"type":"integer"},` +
	`"uri":{"type":"string","description":"The resource with the content."}},` +
	`"required":["path","change","bytes","uri"]}}},` +
	`"required":["session","status","reason","answer","steps","files"]}`)

// byClient is [openmanus.Ruled].By if the person at a client decided.
const byClient = "mcp client"

// run carries out a call: it opens the session, or passes on the answer of the
// person, and drives it.
func (t *taskTool) run(ctx context.Context, call openmanus.Call, prompt string) (openmanus.Result, error) {
	id := call.ID
	var err error
	if len(call.Answers) == 0 {
		err = t.tasks.Open(ctx, id, prompt)
	} else {
		err = t.answer(ctx, id, call)
	}
	if err != nil {
		return openmanus.Result{}, err
	}
	if err := t.tasks.drive(ctx, id, call); err != nil {
		return openmanus.Result{}, err
	}
	open, err := run.Questions(ctx, t.tasks.Journal, id)
	if err != nil {
		return openmanus.Result{}, err
	}
	if len(open) > 0 {
		return openmanus.Result{}, t.question(ctx, id, len(call.Answers), open[0])
	}
	s, err := openmanus.Load(ctx, t.tasks.Journal, id)
	if err != nil {
		return openmanus.Result{}, err
	}
	t.mu.Lock()
	delete(t.asked, id)
	t.mu.Unlock()
	return t.tasks.result(ctx, id, s)
}

// drive drives the session, and shows its progress, until nothing is left to do but to ask
// a person. If the client gives up, it interrupts the session.
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
		_, ierr := t.Journal.Append(late, id, act.Stop(""))
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

// question returns a question for which the task waits, as an [openmanus.Ask].
func (t *taskTool) question(ctx context.Context, id string, answers int, open run.Question) error {
	if !CanAsk(ctx) {
		return fmt.Errorf("the session %s waits for a person, and this client cannot ask one: openmanus "+
			"sessions show %s", id, id)
	}
	c, q := open.Call, open.Call.Question()
	asked := askedOf{answers: answers, session: open.Session, call: c.ID, n: q.N}
	ask := &openmanus.Ask{Question: q.Question, Schema: q.Schema}
	if q.Kind != openmanus.AskText {
		asked.ruling, asked.hash = true, c.Ruling.Hash
		ask.Question, ask.Schema = q.Question+"\n"+c.Name+" "+clip.Visible(c.Arguments()), rulingSchema
		if q.Shown != "" {
			ask.Question += "\n" + clip.Visible(q.Shown)
		}
		if len(ask.Question) > maxShown {
			return fmt.Errorf("the session %s waits for a person, and what they would have to read is too long for this "+
				"client: openmanus sessions show %s", id, open.Session)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked[id] = asked
	return ask
}

// answer passes on the last of the answers to the question that the client was asked. An
// answer to a question that this server does not remember is not used: what still waits is
// asked again. So is what the answer does not decide, or another surface was faster: then
// the client reads why.
func (t *taskTool) answer(ctx context.Context, id string, call openmanus.Call) error {
	answers := call.Answers
	t.mu.Lock()
	asked, known := t.asked[id]
	t.mu.Unlock()
	if !known || asked.answers != len(answers)-1 {
		return nil
	}
	a, acts := answers[len(answers)-1], act.Sessions{Journal: t.tasks.Journal}
	var err error
	if asked.ruling {
		var said struct{ Decision, Reason string }
		if err := json.Unmarshal(a.Data, &said); err != nil {
			return fmt.Errorf("the answer cannot be read: %w", err)
		}
		_, err = acts.Rule(ctx, asked.session, act.Decision{
			Call: asked.call, Allow: said.Decision == "allow", By: byClient, Hash: asked.hash, Reason: said.Reason,
		})
	} else {
		_, err = acts.Answer(ctx, asked.session, act.Answer{Call: asked.call, By: byClient, Text: a.Text, Data: a.Data, Nth: asked.n + 1})
	}
	if errors.As(err, new(*act.Error)) {
		fmt.Fprintln(call.Live, err)
		return nil
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
