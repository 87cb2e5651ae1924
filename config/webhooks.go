package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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

// readWebhooks takes [[webhooks]] out of the document of a file, and adds the webhooks.
func (l *loader) readWebhooks(file string, doc *document, refused bool) {
	l.readSections(file, doc, "webhooks", refused, "a webhook tells others what you do", l.webhook)
}

// webhook reads one webhook.
func (l *loader) webhook(table map[string]any, src Source) {
	w := Webhook{Source: src}
	before := len(l.errs)
	wrong := func(key, text string) { l.fail(&Error{Source: src, Key: "webhooks." + key, Text: text}) }
	l.readTable("webhooks", table, src, map[string]*string{"name": &w.Name, "url": &w.URL, "secret_env": &w.SecretEnv},
		map[string]func(any) string{"events": func(v any) string {
			var ok bool
			if w.Events, ok = listOf(v, func(s string) bool { return slices.Contains(WebhookEvents, s) }); !ok {
				return "allowed: a list of " + strings.Join(WebhookEvents, ", ")
			}
			return ""
		}})
	w.Name = cmp.Or(w.Name, fmt.Sprintf("%d", len(l.cfg.Webhooks)+1))
	switch {
	case !profileName().MatchString(w.Name):
		wrong("name", "allowed: letters, digits, _, . and -")
	case slices.ContainsFunc(l.cfg.Webhooks, func(o Webhook) bool { return o.Name == w.Name }):
		wrong("name", "another webhook is called "+w.Name)
	case !isWeb(w.URL):
		wrong("url", "allowed: an address that begins with https:// or http://")
	case !variableName.MatchString(w.SecretEnv):
		wrong("secret_env", "the name of the environment variable that holds the secret, whsec_ and base64")
	}
	if len(l.errs) == before {
		l.cfg.Webhooks = append(l.cfg.Webhooks, w)
	}
}
