package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/internal/near"
)

// A Webhook is one of [[webhooks]]: an address that a server posts to when something has
// happened in its sessions.
type Webhook struct {
	Name      string
	URL       string
	Events    []string // of WebhookEvents; none: all
	SecretEnv string   // the environment variable that holds the secret of Standard Webhooks
	Source    Source
}

// WebhookEvents are the events that are posted.
var WebhookEvents = []string{"waiting", "finished", "failed", "budget", "files"}

var webhookKeys = []string{"name", "url", "events", "secret_env"}

// readWebhooks takes [[webhooks]] out of the document of a file, and adds the webhooks.
func (l *loader) readWebhooks(file string, doc *document, refused bool) {
	l.readSections(file, doc, "webhooks", refused, "a webhook tells others what you do", l.webhook)
}

// webhook reads one webhook.
func (l *loader) webhook(table map[string]any, src Source) {
	w := Webhook{Source: src}
	before := len(l.errs)
	wrong := func(key, text string) { l.fail(&Error{Source: src, Key: "webhooks." + key, Text: text}) }
	for _, name := range slices.Sorted(maps.Keys(table)) {
		v := table[name]
		into := map[string]*string{"name": &w.Name, "url": &w.URL, "secret_env": &w.SecretEnv}[name]
		switch {
		case into != nil:
			s, ok := v.(string)
			if *into = strings.TrimSpace(s); !ok {
				wrong(name, "allowed: text")
			}
		case name == "events":
			list, ok := v.([]any)
			for _, e := range list {
				s, isText := e.(string)
				w.Events, ok = append(w.Events, s), ok && isText && slices.Contains(WebhookEvents, s)
			}
			if !ok {
				wrong(name, "allowed: a list of "+strings.Join(WebhookEvents, ", "))
			}
		default:
			l.fail(&Error{Source: src, Key: "webhooks." + quotedName(name), Text: "unknown key", Hint: didYouMean(near.Nearest(name, webhookKeys))})
		}
	}
	if w.Name == "" {
		w.Name = fmt.Sprintf("%d", len(l.cfg.Webhooks)+1)
	}
	u, err := url.Parse(w.URL)
	switch {
	case !profileName().MatchString(w.Name):
		wrong("name", "allowed: letters, digits, _, . and -")
	case slices.ContainsFunc(l.cfg.Webhooks, func(o Webhook) bool { return o.Name == w.Name }):
		wrong("name", "another webhook is called "+w.Name)
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		wrong("url", "allowed: an address that begins with https:// or http://")
	case !variableName.MatchString(w.SecretEnv):
		wrong("secret_env", "the name of the environment variable that holds the secret, whsec_ and base64")
	}
	if len(l.errs) == before {
		l.cfg.Webhooks = append(l.cfg.Webhooks, w)
	}
}
