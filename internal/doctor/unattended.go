package doctor

import (
	"context"
	"maps"
	"slices"
)

// unattended checks that the variables are set in which triggers, webhooks and the mail of schedules
// have their secrets: without them openmanus serve does not start, or mail is not taken.
func (c *checker) unattended(context.Context) (found []Finding) {
	if c.Config == nil {
		return nil
	}
	needs := func(name, variable string) {
		f := Finding{Name: name, State: OK, Detail: "its secret is in " + variable}
		if v, _ := c.Env(variable); v == "" {
			f.State, f.Detail, f.Remedy = Warn, variable+", which has its secret, is not set", "set it where openmanus serve runs"
		}
		found = append(found, f)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Config.Triggers)) {
		needs("trigger "+name, c.Config.Triggers[name].SecretEnv)
	}
	for _, w := range c.Config.Webhooks {
		needs("webhook "+w.Name, w.SecretEnv)
	}
	if m := c.Config.Mail; m.Server != "" && m.User != "" && m.Password == "" {
		needs("mail "+m.Server, m.PasswordEnv)
	}
	return found
}
