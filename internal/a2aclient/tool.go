package a2aclient

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	wire "github.com/openmanus-go/openmanus/internal/a2awire"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

// A Standing says how a task stands. It is the Detail of the results of all tools, and
// their memory: a session that goes on finds in it which task is its own.
type Standing struct {
	Task    string     `json:"task,omitempty"` // "": the agent answered with a message
	Context string     `json:"context,omitempty"`
	State   wire.State `json:"state"`
	Text    string     `json:"text,omitempty"`    // what the agent says
	Waiting int        `json:"waiting,omitempty"` // how many files it made that are not saved
	Files   []string   `json:"files,omitempty"`   // those that were saved
}

// The limits of what is sent and shown, in bytes.
const (
	maxAttachment = 16 << 20
	maxText       = 1 << 20
	maxLive       = 1 << 20
)

// SendTool, FollowTool and SaveTool return the names of the tools for an agent.
func SendTool(name string) string   { return "a2a_" + name + "_send" }
func FollowTool(name string) string { return "a2a_" + name + "_follow" }
func SaveTool(name string) string   { return "a2a_" + name + "_save" }

// Tools are what a session needs to give work to one agent.
type tools struct {
	c     *Client
	known *Approvals
	ws    workspace.Workspace
}

// Tools returns the tools by which a session gives work to the agent of c, if known has
// its card. They read files of ws, and write into its directory a2a/NAME.
func Tools(c *Client, known *Approvals, ws workspace.Workspace) []openmanus.Tool {
	t := tools{c, known, ws}
	name := c.o.Name
	all := []string{SendTool(name), FollowTool(name), SaveTool(name)}
	spec := func(tool, about string, input string, h openmanus.Hints, args ...openmanus.Argument) openmanus.ToolSpec {
		return openmanus.ToolSpec{
			ToolSpec: llm.ToolSpec{Name: tool, Description: about, Input: json.RawMessage(input)}, Hints: h, Arguments: args,
		}
	}
	const none = `{"type":"object","properties":{},"additionalProperties":false}`
	send := spec(all[0], "Send a message to the agent "+name+".",
		`{"type":"object","properties":{"message":{"type":"string"},"files":{"type":"array","items":{"type":"string"}}},`+
			`"required":["message"],"additionalProperties":false}`, openmanus.Hints{Idempotent: true},
		openmanus.Argument{Name: "message", Kind: openmanus.TextArgument, Does: openmanus.Sends},
		openmanus.Argument{Name: "files", Kind: openmanus.PathArgument, Does: openmanus.Sends})
	send.From = openmanus.FromA2A + name
	any := openmanus.Argument{Name: "*", Kind: openmanus.TextArgument}
	follow := spec(all[1], "Wait for the agent "+name+".", none, openmanus.Hints{ReadOnly: true, Idempotent: true}, any)
	save := spec(all[2], "Save the files of the agent "+name+".", none, openmanus.Hints{Edits: true, Idempotent: true}, any,
		openmanus.Argument{Kind: openmanus.PathArgument, Does: openmanus.Writes, Value: path.Join(filesOf(name), "files")})
	return []openmanus.Tool{
		sharing{openmanus.Func(send, t.send), all}, sharing{openmanus.Func(follow, t.follow), all},
		sharing{openmanus.Func(save, t.save), all},
	}
}

// sharing is a tool that remembers what the others do.
type sharing struct {
	openmanus.Tool
	with []string
}

// SharesLast implements [openmanus.MemorySharer].
func (s sharing) SharesLast() []string { return s.with }

// last returns how the task of a session stands.
func last(call openmanus.Call) (st Standing) {
	_ = json.Unmarshal(call.Last, &st) // without one, there is no task yet
	return st
}

// agent returns the agent, if its card is the one that was approved.
func (t tools) agent(ctx context.Context) (*Agent, error) {
	a, err := t.c.Agent(ctx)
	if err != nil {
		return nil, err
	}
	return a, t.known.Check(t.c.o.Name, t.c.o.URL, &a.Found)
}

// result returns the result of a call. The text is cut to its limit, and its source is the
// agent elsewhere: it is data.
func (t tools) result(st Standing) openmanus.Result {
	text := cut(st.Text)
	if text == "" {
		text = "The task stands as " + short(st.State) + "."
	}
	if len(st.Files) > 0 {
		text += "\nFiles: " + strings.Join(st.Files, ", ")
	}
	return openmanus.Result{
		Parts: llm.Parts{llm.Text{Text: text}}, Detail: st,
		Sources: []openmanus.Source{{From: openmanus.FromA2A + t.c.o.Name, Private: true}},
	}
}

// short returns a state as people write it.
func short(s wire.State) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(clip.Clean(string(s)), "TASK_STATE_"), "_", " "))
}

// cut returns a text that is not too long.
func cut(text string) string {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "\n… (cut: it is longer than 1 MiB)"
	}
	return text
}

// standing returns how a task stands.
func standing(task *wire.Task) Standing {
	text, files := contentOf(task)
	return Standing{Task: task.ID, Context: task.Context, State: task.Status.State, Text: text, Waiting: len(files)}
}

// sendInput are the arguments of the tool that sends.
type sendInput struct {
	Message string   `json:"message"`
	Files   []string `json:"files"`
}

// messageID returns the id of the message of a call: the same one if the call runs again.
func messageID(call openmanus.Call) string {
	return fmt.Sprintf("om-%x", sha256.Sum256([]byte(call.Session+"\x00"+call.ID)))[:35]
}

// send sends a message. If the call was begun before, it looks first whether the agent
// has got it.
func (t tools) send(ctx context.Context, call openmanus.Call, in sendInput) (openmanus.Result, error) {
	was := last(call)
	m := &wire.Message{ID: messageID(call), Role: wire.RoleUser, Context: was.Context, Parts: []wire.Part{wire.Text(in.Message)}}
	if was.State.Rests() && !was.State.Ended() {
		m.Task = was.Task
	}
	for _, name := range in.Files {
		p, err := t.attachment(name)
		if err != nil {
			return openmanus.Result{}, err
		}
		m.Parts = append(m.Parts, p)
	}
	a, err := t.agent(ctx)
	if err != nil {
		return openmanus.Result{}, err
	}
	if call.Attempt > 1 {
		task, err := t.arrived(ctx, a, m)
		if err != nil {
			return openmanus.Result{}, err
		}
		if task != nil {
			return t.result(standing(task)), nil
		}
	}
	e, err := a.Send(ctx, m)
	switch {
	case err != nil:
		return openmanus.Result{}, err
	case e.Task != nil:
		return t.result(standing(e.Task)), nil
	}
	text, _ := content(e.Message.Parts)
	return t.result(Standing{Context: e.Message.Context, State: wire.Completed, Text: text}), nil
}

// arrived returns the task of a message that may have been sent before, or nil if it has
// not arrived.
func (t tools) arrived(ctx context.Context, a *Agent, m *wire.Message) (*wire.Task, error) {
	if m.Task != "" {
		task, err := a.Get(ctx, m.Task)
		if err != nil {
			return nil, err
		}
		for _, h := range task.History {
			if h.ID == m.ID {
				return task, nil
			}
		}
		if task.Status.State.Rests() && !task.Status.State.Ended() {
			return nil, nil // it still waits for the answer
		}
		return task, nil
	}
	task, err := a.With(ctx, m.ID)
	if err != nil {
		return nil, fmt.Errorf("this program ended while the message was being sent, and the agent cannot say whether it has "+
			"arrived: openmanus sessions resume sends it again (%w)", err)
	}
	return task, nil
}

// attachment returns a file of the workspace as a part of a message. Only regular files of
// limited size below the workspace can be sent.
func (t tools) attachment(name string) (wire.Part, error) {
	clean, err := workspace.Name(t.ws.Dir(), name)
	if err != nil {
		return wire.Part{}, err
	}
	info, err := fs.Stat(t.ws.FS(), clean)
	switch {
	case err != nil:
		return wire.Part{}, err
	case !info.Mode().IsRegular():
		return wire.Part{}, fmt.Errorf("%s is no file, and cannot be sent", name)
	case info.Size() > maxAttachment:
		return wire.Part{}, fmt.Errorf("%s has more than %d MiB, and is not sent", name, maxAttachment>>20)
	}
	data, err := fs.ReadFile(t.ws.FS(), clean)
	if err != nil {
		return wire.Part{}, err
	}
	kind, _, _ := strings.Cut(mime.TypeByExtension(path.Ext(clean)), ";")
	switch {
	case kind == "" && utf8.Valid(data):
		kind = "text/plain"
	case kind == "":
		kind = "application/octet-stream"
	}
	return wire.Part{Raw: data, Filename: path.Base(clean), MediaType: kind}, nil
}

// follow waits until the task rests, and shows what happens in it. If the call is given
// up, or takes too long, the task is cancelled.
func (t tools) follow(ctx context.Context, call openmanus.Call, _ struct{}) (openmanus.Result, error) {
	was := last(call)
	if was.Task == "" {
		return openmanus.Result{}, errors.New("there is no task to wait for")
	}
	a, err := t.agent(ctx)
	if err != nil {
		return openmanus.Result{}, err
	}
	limit := t.c.o.Timeout
	limit = cmp.Or(limit, DefaultTimeout)
	late := fmt.Errorf("the task took longer than %s, and was cancelled", limit)
	within, done := context.WithTimeoutCause(ctx, limit, late)
	defer done()
	task, err := a.Follow(within, was.Task, (&progress{out: call.Live, left: maxLive}).show)
	if err == nil {
		return t.result(standing(task)), nil
	}
	if errors.Is(err, late) || errors.Is(context.Cause(ctx), openmanus.ErrGivenUp) {
		rest, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer stop()
		if cerr := a.Cancel(rest, was.Task); cerr != nil {
			err = fmt.Errorf("%w; it could not be cancelled: %w", err, cerr)
		}
	}
	return openmanus.Result{}, err
}

// progress shows people what happens in a task.
type progress struct {
	out  io.Writer
	left int
	said string
}

func (p *progress) show(e wire.Event) {
	var parts []wire.Part
	switch {
	case e.Status != nil && e.Status.Status.Message != nil:
		parts = e.Status.Status.Message.Parts
	case e.Task != nil && e.Task.Status.Message != nil:
		parts = e.Task.Status.Message.Parts
	case e.Artifact != nil:
		parts = e.Artifact.Artifact.Parts
	}
	text, files := content(parts)
	for _, f := range files {
		text += "\n" + f.name
	}
	text = clip.Plain(strings.TrimSpace(text))
	if text == "" || text == p.said || len(text) > p.left {
		return
	}
	p.said = text
	p.left -= len(text)
	fmt.Fprintln(p.out, text) // progress is not kept: an error does no harm
}
