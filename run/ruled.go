package run

import (
	"context"
	"fmt"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/protected"
)

// changedByPerson reports whether the arguments of c are those of a person, who did not see
// what they lead to.
func changedByPerson(c *openmanus.CallState) bool { return c.Ruling != nil && c.Ruled.Input != "" }

// leadsOf returns where names of a call lead by links.
func leadsOf(places []openmanus.Place) map[string]string {
	var leads map[string]string
	for _, p := range places {
		if p.Name == p.Real {
			continue
		}
		if leads == nil {
			leads = make(map[string]string)
		}
		leads[p.Name] = p.Real
	}
	return leads
}

// elsewhere returns an error for the model if a name of a call leads somewhere by a link, and
// did not when the call was ruled on. A link that is gone does no harm: the name itself was
// ruled on, too.
func elsewhere(c *openmanus.CallState, places []openmanus.Place) error {
	then := c.Ruled.Leads
	if c.Ruling != nil {
		then = c.Ruling.Leads
	}
	if changedByPerson(c) {
		return nil
	}
	for _, p := range places {
		if p.Name != p.Real && then[p.Name] != p.Real {
			return fmt.Errorf("%s did not run: %s leads to %s now, and did not when the call was ruled on. "+
				"Make the call again if it is still right", c.Name, p.Name, p.Real)
		}
	}
	return nil
}

// withRuled returns the context of a call that may change what was ruled on, and nothing
// else that is protected: see [protected.Refuse].
func withRuled(ctx context.Context, c *openmanus.CallState, places []openmanus.Place) context.Context {
	var r protected.Ruled
	for _, p := range places {
		if !p.Changes {
			continue
		}
		r.Names, r.Real = append(r.Names, p.Name), append(r.Real, p.Name)
		if !changedByPerson(c) {
			r.Real = append(r.Real, p.Real)
		}
	}
	return protected.WithRuled(ctx, r)
}
