package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/sandbox"
)

// SpecOf returns what a session in state s is made from. It is the spec of its
// last [openmanus.Configured]; for sessions of format version 1, which recorded
// none, it is worked out from what they did record. For every spec that
// [Host.Complete] returns, SpecOf of the session that is opened with it is an
// equal one.
func SpecOf(s *openmanus.State) openmanus.Spec {
	if s.Config.Agent == "" {
		return specOfVersion1(s)
	}
	return s.Config.Spec
}

// Spec returns the spec of a session as the configuration describes it: agent,
// model, workspace, approval mode, sandbox and limits. The caller changes it to
// what the user asks for besides and passes it to [Host.Complete].
func (h *Host) Spec(ctx context.Context) (openmanus.Spec, error) {
	name, m, err := h.Choose(ctx)
	if err != nil {
		return openmanus.Spec{}, err
	}
	return h.specWith(name, m), nil
}

// NewSpec returns the spec of a session that a user begins: as the configuration
// says, changed by change, and completed. change may be nil.
func (h *Host) NewSpec(ctx context.Context, change func(*openmanus.Spec)) (openmanus.Spec, error) {
	spec, err := h.Spec(ctx)
	if err != nil {
		return spec, err
	}
	if change != nil {
		change(&spec)
	}
	return h.Complete(spec)
}

// SpecWith is Spec with the model of the given name, PROVIDER/NAME or a
// profile, in place of the configured one.
func (h *Host) SpecWith(model string) (openmanus.Spec, error) {
	m, err := h.Config.Model(model)
	if err != nil {
		return openmanus.Spec{}, mistake(err)
	}
	return h.specWith(model, m), nil
}

// specWith returns the configured spec with the model m, recorded as name.
func (h *Host) specWith(name string, m config.Model) openmanus.Spec {
	run := h.Config.Run
	return openmanus.Spec{
		Agent: run.Agent, Model: name, Endpoint: m.BaseURL, Workspace: run.Workspace, Approve: run.Approve,
		SandboxKind: h.Config.Sandbox.Kind, Limits: h.Config.Limits(m),
		// only agents with files of their own can work on several machines
		Copies: run.Copies || h.Config.Temporal.Address != "" && !h.Config.Set("run.copies"),
	}
}

// Complete returns spec as a session is opened with it that a user begins. It
// checks the names in it, gives agents their full names, adds what the agent's
// file says, and brings JSON into the form in which it comes back from a journal.
// Completing a spec twice changes nothing. The error is an [*act.Error] that names
// what cannot be used.
func (h *Host) Complete(spec openmanus.Spec) (openmanus.Spec, error) {
	kind, err := h.Team(spec.Workspace).Choose(spec.Agent)
	if err != nil {
		return spec, err
	}
	if len(spec.Answer) > 0 {
		if spec.Answer, err = canonical(spec.Answer); err != nil {
			return spec, mistake(fmt.Errorf("the schema of the answer: %w", err))
		}
	}
	if err := act.CheckMode(spec); err != nil {
		return spec, mistake(err)
	}
	if spec.Flow != nil {
		return h.completeFlow(spec)
	}
	if kind.File != nil {
		if spec, err = h.applyFile(spec, kind.File); err != nil {
			return spec, err
		}
		spec.Limits = spec.Limits.Within(kind.File.Limits)
	}
	helpers, err := delegates(h.Team(spec.Workspace), spec.Delegates)
	if err != nil {
		return spec, err
	}
	spec.Delegates = nil
	for _, d := range helpers {
		spec.Delegates = append(spec.Delegates, d.Name)
	}
	return spec, nil
}

// childSpec is the [run.Worker].Child. It returns what a session is made from
// that the session id, in state parent, opens for t: what the parent is made from,
// with
//
//   - the agent of t, and no flow, answer schema, client or limits of the parent's,
//     whose share the runtime gives;
//   - the model that t names, or the profile with the agent's name, if there is
//     one;
//   - what the agent's own file says;
//   - read-only approval, a sandbox whose commands change nothing, and no
//     delegates, if the agent only checks the work of others; the first two, too, if
//     the parent is in plan mode: it looks, and the parent writes the plan;
//   - never a mode that allows more than the parent's;
//   - a copy of the workspace, if t is an attempt, or if the session may change
//     files while others do and the spec says Copies; it is made if it is not there.
func (h *Host) childSpec(ctx context.Context, id string, parent *openmanus.State, t openmanus.Task) (openmanus.Spec, error) {
	spec := SpecOf(parent)
	if err := h.stepModel(&spec); err != nil {
		return spec, err
	}
	spec.Agent, spec.Flow, spec.Answer, spec.Client, spec.Limits = FlowName(t.Flow), nil, nil, nil, openmanus.Limits{}
	for _, own := range []string{h.ownModel(spec.Agent), t.Model} {
		if own != "" && own != spec.Model {
			spec.Model, spec.Endpoint = own, ""
		}
	}
	kind, ok := h.Team(spec.Workspace).Find(spec.Agent)
	switch {
	case !ok:
		return spec, h.Team(spec.Workspace).NoAgent(spec.Agent)
	case kind.Hidden: // it checks the work of others
		spec.Approve, spec.Delegates, spec.SandboxReadOnly = openmanus.ApproveReadOnly, nil, !kind.Bare
		if kind.Bare {
			spec.SandboxKind = string(sandbox.None)
		}
	case kind.File != nil:
		var err error
		if spec, err = h.applyFile(spec, kind.File); err != nil {
			return spec, err
		}
		spec.Limits = kind.File.Limits
	}
	if spec.Approve = openmanus.Stricter(spec.Approve, parent.Config.Approve); parent.Config.Approve == openmanus.ApprovePlan {
		spec.Approve, spec.SandboxReadOnly = openmanus.ApproveReadOnly, true
	}
	if t.Copy == nil {
		return h.placeBeside(ctx, id, parent, t, spec)
	}
	if err := checkDir(h.Config, spec.Workspace); err != nil {
		return spec, err
	}
	c, err := h.copies(spec.Workspace, 0), error(nil)
	if t.Copy.Attempt > 0 {
		spec.Workspace, err = c.Place(ctx, id, t.Copy.Round, t.Copy.Attempt)
	} else {
		spec.Workspace, err = c.Compare(ctx, id, t.Copy.Round)
	}
	if err != nil {
		return spec, fmt.Errorf("the copy of the workspace: %w", err)
	}
	return spec, nil
}

// applyFile returns spec with what the file of its agent says. Settings on the
// command line or in the environment take precedence over the file. The file of
// a workspace, which may come from anyone, never allows more than spec does: its
// approval mode can only be stricter, and its model must be of the same provider
// at the same address, because the prompt goes there.
func (h *Host) applyFile(spec openmanus.Spec, f *agents.File) (openmanus.Spec, error) {
	if len(f.Agents) > 0 && len(spec.Delegates) == 0 {
		spec.Delegates = slices.Clone(f.Agents)
	}
	if f.Approve != "" && spec.Approve != openmanus.ApprovePlan { // plan mode denies as much as any
		if f.From == "workspace" || h.Config.Set("run.approve") {
			spec.Approve = openmanus.Stricter(spec.Approve, f.Approve)
		} else {
			spec.Approve = f.Approve
		}
	}
	if f.Model == "" || h.Config.Set("run.model") {
		return spec, nil
	}
	m, err := h.Config.ModelAt(f.Model, "")
	if err != nil {
		return spec, mistake(fmt.Errorf("%s: %w", f.Path, err))
	}
	if f.From == "workspace" {
		was, err := h.Config.ModelAt(spec.Model, spec.Endpoint)
		if err == nil && (was.Provider != m.Provider || was.BaseURL != m.BaseURL) || m.Provider.Script {
			return spec, mistake(fmt.Errorf("%s: a file in a workspace may not choose another provider (%s): choose it with --model, or keep the agent in your own configuration", f.Path, f.Model))
		}
	}
	spec.Model, spec.Endpoint = f.Model, m.BaseURL
	return spec, nil
}

// Reconfigure returns the configuration with which a session in state s goes on
// as spec says, for the caller to append. spec has all limits, such as those in
// force. System prompt and tools stay what they were, so that every request still
// begins with what the model has read; a session that was imported without, or whose
// client asks for something else, gets them now. ok is false if nothing changes. The error is that of [Host.Flow]: if there
// is one, the session cannot go on, and nothing should be appended to it.
func (h *Host) Reconfigure(s *openmanus.State, spec openmanus.Spec) (c openmanus.Configured, ok bool, err error) {
	was := SpecOf(s)
	was.Limits = s.Limits
	f, err := h.Flow(spec)
	if err != nil || Equal(spec, was) && !imported(s) {
		return c, false, err
	}
	next := f.Agent().Configured(s.Config.N + 1)
	asks := spec
	asks.Client, asks.Answer = was.Client, was.Answer
	if imported(s) || !Equal(asks, spec) {
		return next, true, nil
	}
	c = s.Config // what the model has read of the session stays the beginning of every request
	c.N, c.Spec, c.Sandbox, c.Prices, c.Settings, c.Window = next.N, next.Spec, next.Sandbox, next.Prices, next.Settings, next.Window
	return c, true, nil
}

// Equal reports whether two specs are equal.
func Equal(a, b openmanus.Spec) bool { return bytes.Equal(encode(a), encode(b)) }

// encode returns spec in JSON: equal specs have equal encodings.
func encode(spec openmanus.Spec) []byte {
	data, err := json.Marshal(spec)
	if err == nil {
		data, err = canonical(data)
	}
	if err != nil {
		panic("host: " + err.Error()) // only raw JSON in it can fail, and was decoded or checked before
	}
	return data
}

// canonical returns JSON in the one form that it keeps in every journal: a store
// may sort the names of objects, and leaves out spaces.
func canonical(data []byte) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// checkKind returns an error that names the kind of sandbox of spec if there is
// no such kind.
func checkKind(spec openmanus.Spec) error {
	if spec.SandboxKind == "" || slices.Contains(sandbox.Kinds(), spec.SandboxKind) {
		return nil
	}
	return mistake(fmt.Errorf("there is no sandbox %q; there are %v", spec.SandboxKind, sandbox.Kinds()))
}
