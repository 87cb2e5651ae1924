// Package served makes a [server.Host] of a [host.Host]: it lets an HTTP server
// open sessions with the agents, flows and models of a host.
//
// It adds what only a server needs to a host: which user may use which model and mode,
// settings that an administrator changes while the server runs, and errors that name the
// field of a request ([server.FieldError]). The methods are those of the optional
// interfaces of package server; each is in the file of its subject.
//
// A Host is safe for concurrent use. Changes of the configuration are written to its file
// first, and hold for sessions that begin afterwards.
package served

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/sandbox/egress"
	"github.com/openmanus-go/openmanus/server"
)

// A Host serves the sessions of a [host.Host]. It implements [server.Host], [server.Viewer], [server.Administrator],
// [server.Holder], [act.Memory], [server.Reconfigurer], [server.Planner], [server.Forker] and
// [server.Cleaner]. It is safe for concurrent use, and the caller closes the
// [host.Host] after the server.
type Host struct {
	*host.Host

	// File is the user's configuration file, into which administrators save models, and From says
	// where the configuration comes from, to read it again then. Without File none is saved.
	File string
	From config.Sources
}

// Open implements [server.Host]. The session records the user as its owner, and
// everything that a request left open as it was configured then: a later change of
// the configuration does not change sessions.
func (h Host) Open(ctx context.Context, id string, n server.NewSession) error {
	spec, err := h.spec(ctx, n)
	if err != nil {
		return err
	}
	_, err = h.Host.Open(ctx, id, host.Opening{Spec: spec, Owner: n.Owner})
	return err
}

// spec returns what a new session is made from. The configuration fills in what
// the request leaves open, except for the approval mode: a server's sessions
// ask unless the request says otherwise. Errors that the user can mend are a
// [*server.FieldError].
func (h Host) spec(ctx context.Context, n server.NewSession) (spec openmanus.Spec, err error) {
	if err := h.CheckWorkspace(h.Config, n.Workspace, false); err != nil {
		return spec, &server.FieldError{Field: "workspace", Err: err}
	}
	agent := cmp.Or(n.Agent, h.Config.Run.Agent)
	if _, err := h.Team(n.Workspace).Choose(agent); err != nil {
		return spec, &server.FieldError{Field: "agent", Err: err}
	}
	if n.Model == "" {
		spec, err = h.Spec(ctx)
	} else if err = h.MayChoose(n.Model); err == nil {
		spec, err = h.SpecWith(n.Model)
	}
	if errors.Is(err, config.ErrNoModel) {
		err = errNoModel
	}
	if err != nil {
		return spec, &server.FieldError{Field: "model", Err: err}
	}
	spec.Agent, spec.Workspace, spec.Approve = agent, n.Workspace, cmp.Or(n.Approve, openmanus.ApproveAsk)
	field := "agent"
	switch {
	case n.Flow != nil:
		p := host.Plan{Agents: n.Flow.Agents, Parallel: cmp.Or(n.Flow.Parallel, 4), Replans: agents.DefaultReplans, Only: n.Flow.Only}
		if n.Flow.Replans != nil {
			p.Replans = *n.Flow.Replans
		}
		field, spec = "body.flow.agents", host.WithPlan(spec, p)
	case n.Evaluate != nil:
		e, err := h.evaluation(agent, n.Evaluate)
		if err != nil {
			return spec, err
		}
		spec = host.WithEvaluation(spec, e)
	}
	spec.Client, spec.Answer = n.Client, n.Answer
	if spec, err = h.Complete(spec); err == nil && n.Client != nil {
		_, err = h.Flow(spec)
	}
	if errors.Is(err, host.ErrClientTool) {
		field = "tools"
	}
	if err != nil {
		return spec, &server.FieldError{Field: field, Err: err}
	}
	if err := h.checkLimits(n.Owner, n.Limits, spec.Limits); err != nil {
		return spec, err
	}
	spec.Limits = n.Limits.Or(spec.Limits)
	return spec, nil
}

// errNoModel is [config.ErrNoModel] for users, to whom the files and the environment of
// the server mean nothing.
var errNoModel = fmt.Errorf("%w yet: set one up on the page, or run openmanus setup", config.ErrNoModel)

// evaluation checks the settings of an evaluation, and fills in the defaults: as many
// attempts as there are models or hints, or three. Its errors name the field.
func (h Host) evaluation(agent string, e *server.Evaluation) (host.Evaluation, error) {
	most := max(len(e.Models), len(e.Hints))
	attempts := cmp.Or(e.Attempts, most, 3)
	if most > attempts {
		return host.Evaluation{}, &server.FieldError{Field: "body.evaluate.attempts", Err: fmt.Errorf("%d are too few to try %d models or hints", attempts, most)}
	}
	for i, name := range e.Models {
		if err := h.MayChoose(name); err != nil {
			return host.Evaluation{}, &server.FieldError{Field: fmt.Sprintf("body.evaluate.models[%d]", i), Err: err}
		}
	}
	for i, hint := range e.Hints {
		if len(hint) > host.MaxHint {
			return host.Evaluation{}, &server.FieldError{Field: fmt.Sprintf("body.evaluate.hints[%d]", i),
				Err: fmt.Errorf("it has %d bytes, more than %d: put it into a file of the workspace and name that", len(hint), host.MaxHint)}
		}
	}
	return host.Evaluation{Attempts: host.Attempts(attempts, agent, e.Models, e.Hints), Parallel: cmp.Or(e.Parallel, 4)}, nil
}

// MayChoose returns an error unless users may choose a model by this name. Scripts
// are files of this machine: only the configuration chooses one.
func (h Host) MayChoose(name string) error {
	m, err := h.Config.Model(name)
	if err != nil || !m.Provider.Script || m.Profile != "" {
		return err
	}
	configured, err := h.Config.Model("")
	if err != nil || m.String() != configured.String() {
		return server.ErrLocalModel
	}
	return nil
}

// Fork implements [server.Forker]. Files that cannot be copied are an error of the
// field by which the request could do without.
func (h Host) Fork(ctx context.Context, from string, at int64, to, root string) error {
	_, err := h.Host.Fork(ctx, host.Fork{From: from, At: at, To: to, Within: root})
	if errors.As(err, new(*act.Error)) {
		return &server.FieldError{Field: "share", Err: err}
	}
	return err
}

// Reconfigure implements [server.Reconfigurer].
func (h Host) Reconfigure(ctx context.Context, session string, c act.Change) error {
	if c.Model != "" {
		if err := h.MayChoose(c.Model); err != nil {
			return &server.FieldError{Field: "model", Err: err}
		}
	}
	s, err := openmanus.Load(ctx, h.Store, session)
	if err != nil {
		return err
	}
	bodies, err := h.Changes(s, c)
	if e := (*act.Error)(nil); errors.As(err, &e) {
		return &server.FieldError{Field: e.Field, Err: e.Err}
	}
	if len(bodies) > 0 {
		_, err = h.Store.Append(ctx, session, bodies...)
	}
	return err
}

// Fetch implements [server.Fetcher]. The address obeys the rules of [web]: nothing on this
// machine or its networks is reached.
func (h Host) Fetch(ctx context.Context, url string) (mime string, data []byte, err error) {
	dialer, err := egress.New(egress.Policy{Mode: egress.Allow, Hosts: h.Config.Web.Hosts, Section: "[web]"})
	if err != nil {
		return "", nil, err
	}
	client := dialer.Client()
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", nil, err
	}
	defer resp.Body.Close()
	data, err = io.ReadAll(io.LimitReader(resp.Body, maxFetched+1))
	switch {
	case err != nil:
		return "", nil, err
	case resp.StatusCode != http.StatusOK:
		return "", nil, fmt.Errorf("the answer was %s", resp.Status)
	case len(data) > maxFetched:
		return "", nil, fmt.Errorf("it has more than %d bytes", maxFetched)
	}
	return resp.Header.Get("Content-Type"), data, nil
}

// maxFetched is the most bytes of what a client refers to by an address.
const maxFetched = 20 << 20

// Plan implements [server.Planner]. The plan is that of a flow that plans or
// evaluates; the plan that an agent makes with its own tool is in the events.
func (h Host) Plan(s *openmanus.State) *server.Plan {
	p := agents.Progress(s)
	if p == nil {
		return nil
	}
	plan := &server.Plan{Title: p.Title}
	for _, st := range p.Steps {
		step := server.Step{Text: st.Text, Status: string(st.Status), Notes: st.Notes, Agent: st.Agent}
		for _, c := range s.Children {
			if of, ok := agents.StepOf(c.Child); ok && of == st.ID {
				step.Session = c.Child
			}
		}
		plan.Steps = append(plan.Steps, step)
	}
	return plan
}

// Catalogue implements [server.Host]. Hidden agents, which only flows use, are left
// out. That no model is configured is no error: the list is empty then.
func (h Host) Catalogue(ctx context.Context) (c server.Catalogue, err error) {
	seen := make(map[string]bool)
	for _, k := range h.OwnTeam().Kinds {
		if k.Hidden {
			continue
		}
		in := server.AgentInfo{Name: k.Name, Description: k.Description, Default: k.Name == h.Config.Run.Agent}
		a, err := h.Shown(h.Config, k)
		if err != nil && k.File != nil {
			continue // the settings say what is wrong with the user's file
		}
		if err != nil {
			return c, err
		}
		for _, tool := range a.Tools {
			spec := tool.Spec()
			in.Tools = append(in.Tools, spec.Name)
			if !seen[spec.Name] {
				seen[spec.Name] = true
				c.Tools = append(c.Tools, server.ToolInfo{Name: spec.Name, Description: spec.Description, Hints: spec.Hints})
			}
		}
		c.Agents = append(c.Agents, in)
	}
	list, _ := host.ListModels(ctx, h.Config) // an empty list says that there is no model
	for _, m := range list {
		name := m.Name
		if m.Default {
			name = m.Model.String()
		}
		c.Models = append(c.Models, server.ModelInfo{Name: name, Default: m.Default})
	}
	return c, nil
}
