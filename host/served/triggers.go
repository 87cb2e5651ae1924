package served

import (
	"cmp"
	"fmt"

	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/server"
	"github.com/openmanus-go/openmanus/server/triggers"
)

// Triggers returns the configured triggers, by name. A trigger whose secret is missing, or
// whose template is wrong, is an error that names it: the server does not start without
// it.
func (h Host) Triggers() (map[string]server.Trigger, error) {
	all := make(map[string]server.Trigger)
	for _, name := range h.Config.TriggerNames() {
		c := h.Config.Triggers[name]
		wrong := func(err error) error { return &act.Error{Err: fmt.Errorf("triggers.%s.%w", name, err)} }
		secret := ""
		if c.SecretEnv != "" {
			if secret = h.Getenv(c.SecretEnv); secret == "" {
				return nil, wrong(fmt.Errorf("secret_env: %s is not set", c.SecretEnv))
			}
		}
		t, err := triggers.New(c.Signature, secret, c.Template, c.When)
		if err != nil {
			return nil, wrong(err)
		}
		all[name] = server.Trigger{Trigger: t, Owner: cmp.Or(c.User, localUser), Agent: c.Agent, Model: c.Model, Workspace: c.Workspace, Approve: c.Approve}
	}
	return all, nil
}
