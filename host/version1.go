package host

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/tools"
)

// specOfVersion1 works out what a session was made from whose journal has the
// format version 1: its flow's name has the settings as the query of a URL,
// and its tools show the schema of the answer and the agents that it delegates
// to. Nothing else reads these any more.
func specOfVersion1(s *openmanus.State) openmanus.Spec {
	name, query, _ := strings.Cut(s.Opened.Flow, "?")
	params, err := url.ParseQuery(query)
	if err != nil {
		params = url.Values{} // the settings keep their defaults
	}
	spec := s.Config.Spec
	spec.Agent, spec.SandboxKind = name, kindOfVersion1(s.Config.Sandbox)
	for _, t := range s.Config.Tools {
		if t.Name == tools.CompletionName {
			spec.Answer = slices.Clone(t.Input)
		}
		if names := tools.Assistants(t); names != nil {
			spec.Delegates = names
		}
	}
	number := func(name string, or int) int {
		if n, err := strconv.Atoi(params.Get(name)); err == nil {
			return n
		}
		return or
	}
	switch name {
	case PlanFlow:
		p := Plan{
			Agents: strings.Split(params.Get("agents"), ","), Parallel: number("parallel", 0), Replans: number("replans", 0),
			Only: params.Get("only") != "", Model: params.Get("steps"), Endpoint: params.Get("at"),
		}
		spec = WithPlan(spec, p)
		spec.Agent = p.Agents[0]
	case EvaluateFlow:
		spec.Agent = params.Get("agent")
		spec = WithEvaluation(spec, Evaluation{
			Attempts: Attempts(min(number("attempts", 0), MaxAttempts+1), spec.Agent, params["model"], params["hint"]),
			Parallel: number("parallel", 0), MaxMiB: number("mib", 0),
		})
	}
	return spec
}

// kindOfVersion1 returns the kind of sandbox with which a session goes on that
// recorded what its commands ran in: the recorded one, but for Bubblewrap, which
// stands for whichever of the first two this machine has.
func kindOfVersion1(recorded string) string {
	switch sandbox.Kind(recorded) {
	case sandbox.None, sandbox.Landlock, sandbox.Docker, sandbox.GVisor:
		return recorded
	}
	return string(sandbox.Auto)
}

// FlowName returns the name in an [openmanus.Opened].Flow, for display: in
// sessions of version 1 the settings of a flow, or of an attempt, follow it.
func FlowName(flow string) string {
	name, _, _ := strings.Cut(flow, "?")
	return name
}
