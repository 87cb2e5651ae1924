package host

import (
	"cmp"
	"fmt"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/run"
)

// LocalUser is the user of a server without [users.NAME]: whoever runs the server.
const LocalUser = "local"

// Ceiling returns the most that sessions of a user may do, however they were opened. It is the
// [run.Worker].Ceiling. The sessions of whoever runs this program have none: those of the
// command line, and those of a server without [users.NAME]. Among the users of a server,
// administrators alone have the rights of the machine's owner.
func (h *Host) Ceiling(owner string) run.Ceiling {
	u := h.Config.Users[owner]
	switch {
	case u != nil:
		return run.Ceiling{Approve: cmp.Or(u.Approve, openmanus.ApproveAsk), Guest: !u.Admin}
	case owner == "" || owner == LocalUser || len(h.Config.Users) == 0:
		return run.Ceiling{}
	}
	return run.Ceiling{Guest: true} // the user is not configured any more
}

// checkCeiling returns an error if a session of a user would be opened in a wider mode than
// the user's.
func (h *Host) checkCeiling(owner string, spec openmanus.Spec) error {
	most := h.Ceiling(owner).Approve
	if spec.Approve == "" || openmanus.Stricter(spec.Approve, most) == spec.Approve {
		return nil
	}
	return mistake(fmt.Errorf("sessions of the user %s have the mode %s at most, and this one asks for %s: choose a stricter mode, "+
		"or have an administrator raise users.%s.approve in the server's configuration", owner, most, spec.Approve, owner))
}
