package agents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/a2aclient"
	"github.com/openmanus-go/openmanus/internal/a2awire"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/tools"
	"github.com/openmanus-go/openmanus/workspace"
)

// RemotePrefix begins the names of agents elsewhere. The name that the configuration has
// for them follows.
const RemotePrefix = "a2a:"

// Remote returns an agent that is elsewhere and speaks A2A: its sessions are of a
// [RemoteFlow]. makeTools makes the tools of [a2aclient.Tools].
func Remote(name, description string, makeTools func(workspace.Workspace) ([]openmanus.Tool, error)) Kind {
	full := RemotePrefix + name
	return Kind{
		Name:        full,
		Description: description + " It works elsewhere and sees no files: write @PATH in the task for each file to send along.",
		Wrap:        func(a *openmanus.Agent) openmanus.Flow { return &RemoteFlow{Remote: a, Name: name} },
		Make: func(o Options) (*openmanus.Agent, io.Closer, error) {
			ts, err := makeTools(o.Workspace)
			if err != nil {
				return nil, nil, err
			}
			ts = append(ts, tools.NewAskHuman())
			return &openmanus.Agent{
				Name: full, Description: description, Tools: ts, FlowEnds: true,
				Spec: openmanus.Spec{Workspace: o.Workspace.Dir()},
			}, closer(ts), nil
		},
	}
}

// A RemoteFlow has an agent elsewhere do the work. It asks no model: it sends each
// message of the user to the agent, follows the task that comes of it, asks the user
// what the agent asks, and saves the files that the agent makes. Each of these is a call
// of the session, so that a session which was interrupted or killed goes on with the same
// task.
type RemoteFlow struct {
	Remote *openmanus.Agent // made by the kind that [Remote] returns
	Name   string           // of the agent, in the configuration
}

// Agent implements [openmanus.Flow].
func (f *RemoteFlow) Agent() *openmanus.Agent { return f.Remote }

// Next implements [openmanus.Flow]. It sends the user's messages to the agent elsewhere,
// follows its task, passes its questions on to the user, and saves its files, each by a
// call that the gate rules on. A call that failed because the connection broke is made
// again when the session is resumed, with the same id of the message.
func (f *RemoteFlow) Next(s *openmanus.State) []openmanus.Task {
	if todo, rests := resting(s); rests {
		return todo
	}
	if heard(s) {
		return f.send(s, news(s))
	}
	if len(s.Calls) == 0 {
		return nil
	}
	c, st := s.Calls[len(s.Calls)-1], f.standing(s)
	failed := c.Done.IsError
	switch c.Name {
	case a2aclient.SaveTool(f.Name):
		if failed && s.Moves > 0 {
			return f.end(s, st, "its files were not saved: "+c.Done.Parts.Text())
		}
	case a2aclient.SendTool(f.Name), a2aclient.FollowTool(f.Name), tools.AskHumanName:
		switch {
		case failed && s.Moves > 0:
			return f.fail(s, c.Done.Parts.Text())
		case failed && c.Name == a2aclient.SendTool(f.Name): // resumed
			return f.call(s, c.Name, json.RawMessage(c.Arguments()))
		case !failed && c.Name == tools.AskHumanName:
			return f.send(s, c.Done.Parts.Text())
		}
	}
	return f.goOn(s, st)
}

// goOn returns what the state of the task calls for.
func (f *RemoteFlow) goOn(s *openmanus.State, st a2aclient.Standing) []openmanus.Task {
	if st.Waiting > 0 && st.State.Rests() {
		return f.call(s, a2aclient.SaveTool(f.Name), struct{}{})
	}
	said := cmp.Or(st.Text, "it says nothing more")
	switch st.State {
	case a2awire.Completed:
		return f.end(s, st, "")
	case a2awire.InputRequired:
		asked := fmt.Sprintf("The agent %s asks:\n%s", f.Name, clip.Text(said, 8000))
		return f.call(s, tools.AskHumanName, map[string]string{"inquire": asked})
	case a2awire.AuthRequired:
		return f.fail(s, "it needs a person to sign in: "+said)
	case a2awire.Failed, a2awire.Canceled, a2awire.Rejected:
		state := strings.ToLower(strings.TrimPrefix(string(st.State), "TASK_STATE_"))
		return f.fail(s, "the task is "+state+": "+said)
	}
	return f.call(s, a2aclient.FollowTool(f.Name), struct{}{})
}

// standing returns how the task stands, as the last call left it.
func (f *RemoteFlow) standing(s *openmanus.State) (st a2aclient.Standing) {
	n := f.Name
	_ = json.Unmarshal(s.Last(a2aclient.SendTool(n), a2aclient.FollowTool(n), a2aclient.SaveTool(n)), &st) // none: nothing was sent
	return st
}

// news returns the messages that the agent has not got.
func news(s *openmanus.State) string {
	n := 0
	for _, m := range s.Inbox {
		if m.Child == "" {
			n++
		}
	}
	return strings.Join(s.Requests[len(s.Requests)-min(n, len(s.Requests)):], "\n\n")
}

// send sends a text to the agent, with the files that it names.
func (f *RemoteFlow) send(s *openmanus.State, text string) []openmanus.Task {
	in := map[string]any{"message": text}
	if files := attached(text); len(files) > 0 {
		in["files"] = files
	}
	return f.call(s, a2aclient.SendTool(f.Name), in)
}

// mention is a file that a text names: @ and a path with a dot or a slash in it, after
// white space or a bracket.
var mention = regexp.MustCompile(`(?:^|[\s("'\x60])@([\pL\pN_./-]*[./][\pL\pN_./-]*)`)

// attached returns the files that a text names, each once.
func attached(text string) (files []string) {
	for _, m := range mention.FindAllStringSubmatch(text, -1) {
		name := path.Clean(strings.TrimRight(m[1], ".,"))
		if name != "." && !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	return files
}

// call returns the task that makes a call.
func (f *RemoteFlow) call(s *openmanus.State, tool string, input any) []openmanus.Task {
	if stop := spent(s); stop != nil {
		return stop
	}
	data, err := json.Marshal(input)
	if err != nil {
		return f.fail(s, err.Error())
	}
	return []openmanus.Task{{Do: openmanus.MakeCall, Turn: s.Turn, Re: s.Seq, Name: tool, Input: string(data)}}
}

// end ends the session with what the agent says. but says what went wrong, if anything
// did.
func (f *RemoteFlow) end(s *openmanus.State, st a2aclient.Standing, but string) []openmanus.Task {
	text := cmp.Or(st.Text, "Done.")
	if len(st.Files) > 0 {
		text += "\n\nFiles: " + strings.Join(st.Files, ", ")
	}
	if but != "" {
		text += "\n\n(" + clip.OneLine(but) + ")"
	}
	return []openmanus.Task{{Do: openmanus.End, Turn: s.Turn, Re: s.Seq, Status: openmanus.Finished, Text: text}}
}

// fail ends the session as failed.
func (f *RemoteFlow) fail(s *openmanus.State, why string) []openmanus.Task {
	why = clip.Text(strings.TrimSpace(why), 8000)
	return []openmanus.Task{{
		Do: openmanus.End, Turn: s.Turn, Re: s.Seq, Status: openmanus.Failed, Reason: openmanus.ByAgent,
		Error: clip.Text(clip.OneLine(why), 500), Text: why,
	}}
}
