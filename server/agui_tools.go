package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// offerTools lets a session go on with the tools that the client runs, if they are others
// than before.
func (s *Server) offerTools(ctx context.Context, id string, tools []aguiTool) error {
	var specs []llm.ToolSpec
	for i, t := range tools {
		spec := llm.ToolSpec{Name: t.Name, Description: t.Description}
		if len(t.Parameters) > 0 {
			schema, err := json.Marshal(t.Parameters)
			if err != nil {
				return &FieldError{fmt.Sprintf("body.tools[%d].parameters", i), err}
			}
			spec.Input = schema
		}
		specs = append(specs, spec)
	}
	change := Change{Client: new(openmanus.Client), By: userOf(ctx).Name}
	err := s.states.view(ctx, id, func(st *openmanus.State) error {
		if c := st.Config.Client; c != nil {
			*change.Client = *c
		}
		change.Answer = st.Config.Answer
		return nil
	})
	if err != nil || reflect.DeepEqual(change.Client.Tools, specs) {
		return err
	}
	change.Client.Tools = specs
	r, ok := s.Host.(Reconfigurer)
	if !ok {
		return &FieldError{"body.tools", errors.New("tools of the client cannot be used here: leave it empty")}
	}
	return r.Reconfigure(ctx, id, change)
}

// resultsOf returns what the messages at the end, before what the person said, say of calls
// that the client runs.
func (s *Server) resultsOf(ctx context.Context, id string, msgs []aguiMessage, said bool) (results []openmanus.Body, err error) {
	end := len(msgs)
	if said {
		end--
	}
	first := end
	for first > 0 && msgs[first-1].Role == "tool" {
		first--
	}
	for i, m := range msgs[first:end] {
		field := fmt.Sprintf("body.messages[%d]", first+i)
		runs, err := s.clientRuns(ctx, id, m.Call)
		if err != nil {
			return nil, &FieldError{field + ".toolCallId", err}
		}
		text, files, err := contentOf(m.Content)
		if err == nil && len(files) > 0 {
			err = errors.New("a result is text")
		}
		if err != nil {
			return nil, &FieldError{field + ".content", err}
		}
		if runs {
			results = append(results, openmanus.Answered{Call: m.Call, Text: text, By: userOf(ctx).Name, Message: m.ID})
		}
	}
	return results, nil
}

// missingResults returns the results of calls that the client was to run, for the case that
// the person says something instead.
func (s *Server) missingResults(ctx context.Context, id string) (results []openmanus.Body, err error) {
	err = s.states.view(ctx, id, func(st *openmanus.State) error {
		for _, c := range st.Pending() {
			if st.ClientRuns(c.Name) {
				results = append(results, openmanus.Answered{Call: c.ID, N: c.Question().N, By: userOf(ctx).Name, Text: "The client has not run this call."})
			}
		}
		return nil
	})
	return results, err
}

// clientRuns reports whether the client runs a call of a session. The error says that
// there is no such call.
func (s *Server) clientRuns(ctx context.Context, id, call string) (runs bool, err error) {
	found := false
	err = s.states.view(ctx, id, func(st *openmanus.State) error {
		if c := st.Call(call); c != nil {
			found, runs = true, st.ClientRuns(c.Name)
		}
		return nil
	})
	if err != nil || found {
		return runs, err
	}
	var st openmanus.State // a call of a reply before the last one
	for ev, err := range s.Store.Events(ctx, id, 0) {
		if err != nil {
			return false, err
		}
		st.Apply(ev)
		if b, ok := ev.Body.(openmanus.ModelSaid); ok {
			for _, c := range b.Message.Calls() {
				if c.ID == call {
					return st.ClientRuns(c.Name), nil
				}
			}
		}
	}
	return false, fmt.Errorf("the session has no call %q", call)
}
