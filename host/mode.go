package host

import (
	"encoding/json"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
)

// commandsLook reports whether commands of sessions with the spec can change nothing.
func commandsLook(spec openmanus.Spec) bool {
	return spec.SandboxReadOnly || openmanus.Mode(spec.Approve).LooksOnly()
}

// Changes returns the events by which a session in state s goes on as c says, all or none.
// They hold from the next request to the model on. Without a mode, a session that was
// imported or whose client asks for something else gets its tools anew. The error is an
// [*act.Error] of model, tools or approve.
func (h *Host) Changes(s *openmanus.State, c act.Change) (bodies []openmanus.Body, err error) {
	field, spec := "model", SpecOf(s)
	defer func() {
		if err != nil {
			bodies, err = nil, &act.Error{Field: field, Err: err}
		}
	}()
	spec.Limits = s.Limits
	if c.Model != "" {
		chosen, err := h.SpecWith(c.Model)
		if err != nil {
			return nil, err
		}
		spec.Model, spec.Endpoint = chosen.Model, chosen.Endpoint
	}
	if c.Client != nil {
		field, spec.Client, spec.Answer = "tools", c.Client, c.Answer
		if encoded, err := json.Marshal(c.Client); err == nil && string(encoded) == "{}" {
			spec.Client = nil
		}
		if spec, err = h.Complete(spec); err != nil {
			return nil, err
		}
	}
	if c.Model != "" || c.Client != nil || c.Approve == "" {
		next, changed, err := h.Reconfigure(s, spec)
		if err != nil {
			return nil, err
		}
		if changed {
			bodies = append(bodies, next)
		}
	}
	if c.Approve != "" {
		field = "approve"
		set, err := act.Mode(s, c.Approve, c.By)
		return append(bodies, set...), err
	}
	return bodies, nil
}
