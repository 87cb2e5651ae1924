package served

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/server"
)

// MayLimit implements [server.Limiter].
func (h Host) MayLimit(ctx context.Context, session string, l openmanus.Limits) error {
	s, err := openmanus.Load(ctx, h.Store, session)
	if err != nil || !h.Ceiling(s.Opened.Owner).Guest || l == (openmanus.Limits{}) {
		return err
	}
	spec := host.SpecOf(s)
	m, err := h.Config.ModelAt(spec.Model, spec.Endpoint)
	if err != nil {
		return &server.FieldError{Field: "limits", Err: err}
	}
	if spec.Limits = h.Config.Limits(m); spec.Flow == nil {
		if spec, err = h.Complete(spec); err != nil {
			return &server.FieldError{Field: "limits", Err: err}
		}
	}
	return h.checkLimits(s.Opened.Owner, l, spec.Limits)
}

// checkLimits returns a [*server.FieldError] if a user who is no administrator asks for a
// limit beyond the configured one. Limits that are 0 are not asked for.
func (h Host) checkLimits(owner string, asked, most openmanus.Limits) error {
	if !h.Ceiling(owner).Guest {
		return nil
	}
	most = most.Or(openmanus.DefaultLimits())
	attempts := cmp.Or(most.Attempts, 5) // that of llm.Retry
	for _, l := range []struct {
		field, key  string
		asked, most int64
		unit        float64 // in which the field is
	}{
		{"steps", "max_steps", int64(asked.Steps), int64(most.Steps), 1},
		{"tokens", "budget_tokens", int64(asked.Tokens), int64(most.Tokens), 1},
		{"cost_usd", "max_cost", int64(asked.Money), int64(most.Money), float64(openmanus.Dollar)},
		{"seconds", "timeout", int64(asked.Time), int64(most.Time), 1e9},
		{"depth", "depth", int64(asked.Depth), int64(most.Depth), 1},
		{"fan_out", "fan_out", int64(asked.FanOut), int64(most.FanOut), 1},
		{"stuck", "stuck", int64(asked.Stuck), int64(most.Stuck), 1},
		{"attempts", "retries", int64(asked.Attempts), int64(attempts), 1},
	} {
		if l.asked == 0 || l.most <= 0 || l.asked > 0 && l.asked <= l.most {
			continue
		}
		return &server.FieldError{Field: "body.limits." + l.field, Err: fmt.Errorf("the limit of this server is %s, and your sessions "+
			"can only have a lower one. An administrator can raise it: [run] %s", strconv.FormatFloat(float64(l.most)/l.unit, 'f', -1, 64), l.key)}
	}
	return nil
}
