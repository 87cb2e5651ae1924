package served

import (
	"fmt"

	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/server"
)

// Webhooks returns the configured webhooks, by name. One whose secret is missing or has
// the wrong form is an error that names its place in the configuration.
func (h Host) Webhooks() (map[string]server.Webhook, error) {
	all := make(map[string]server.Webhook)
	for _, c := range h.Config.Webhooks {
		wrong := func(err error) error {
			return &act.Error{Err: fmt.Errorf("%s: webhooks.secret_env: %w", c.Source, err)}
		}
		secret := h.Getenv(c.SecretEnv)
		if secret == "" {
			return nil, wrong(fmt.Errorf("%s is not set", c.SecretEnv))
		}
		key, err := server.ParseWebhookSecret(secret)
		if err != nil {
			return nil, wrong(err)
		}
		events := c.Events
		if len(events) == 0 {
			events = config.WebhookEvents
		}
		all[c.Name] = server.Webhook{URL: c.URL, Events: events, Key: key}
	}
	return all, nil
}
