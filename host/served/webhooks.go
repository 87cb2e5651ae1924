package served

import (
	"fmt"

	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/server"
)

// Webhooks returns the configured webhooks, by name.
func (h Host) Webhooks() (map[string]server.Webhook, error) {
	all := make(map[string]server.Webhook)
	for _, c := range h.Config.Webhooks {
		wrong := func(err error) error {
			return &host.Error{Err: fmt.Errorf("%s: webhooks.secret_env: %w", c.Source, err)}
		}
		secret := h.Getenv(c.SecretEnv)
		if secret == "" {
			return nil, wrong(fmt.Errorf("%s is not set", c.SecretEnv))
		}
		key, err := server.ParseWebhookSecret(secret)
		if err != nil {
			return nil, wrong(err)
		}
		all[c.Name] = server.Webhook{URL: c.URL, Events: c.Events, Key: key}
	}
	return all, nil
}
