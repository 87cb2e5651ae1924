package server

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/hooks"
	"github.com/openmanus-go/openmanus/journal"
)

// A Webhook is an address that receives the events of sessions: that they wait, finish,
// fail, reach a limit or change files. Child sessions are announced only when they wait.
// Posts are signed as Standard Webhooks specifies.
type Webhook struct {
	URL    string
	Events []string // those that it receives: waiting, finished, failed, budget, files
	Key    []byte   // of the signatures
}

// ParseWebhookSecret returns the key of a secret of Standard Webhooks: whsec_ and base64.
func ParseWebhookSecret(secret string) ([]byte, error) {
	text, ok := strings.CutPrefix(secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errors.New("a secret of Standard Webhooks is whsec_ and, in base64, 24 to 64 bytes, which this makes: echo whsec_$(openssl rand -base64 32)")
	}
	return key, nil
}

// sign sets the headers of Standard Webhooks.
func (w Webhook) sign(h http.Header, id string, at time.Time, body []byte) {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, w.Key)
	fmt.Fprintf(mac, "%s.%s.%s", id, stamp, body)
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", stamp)
	h.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

// wants reports whether the webhook receives an event.
func (w Webhook) wants(e hooks.Event) bool {
	return slices.Contains(w.Events, e.Event) && (e.Depth == 0 || e.Event == "waiting")
}

// webhookPrefix begins the ids of receivers that are webhooks; the name follows. Ids of a
// client have no slash.
const webhookPrefix = "webhook/"

// A place is how far a webhook has received a session: up to the nth of the things that
// one event means, counted from 0.
type place struct {
	seq int64
	n   int
}

func (p place) String() string { return fmt.Sprintf("%d.%d", p.seq, p.n) }

// parsePlace reads a place; what is none is the beginning.
func parsePlace(s string) (p place) {
	if _, err := fmt.Sscanf(s, "%d.%d", &p.seq, &p.n); err != nil {
		return place{}
	}
	return p
}

// has reports whether the post at o was delivered.
func (p place) has(o place) bool { return o.seq < p.seq || o.seq == p.seq && o.n <= p.n }

// placeAfter is the place after everything that an event means.
func placeAfter(seq int64) string { return place{seq, 1 << 20}.String() }

// tellWebhooks makes the server post to the webhooks what happens in a session after a
// place, or go on where they were.
func (p *poster) tellWebhooks(ctx context.Context, session, after string) error {
	if p == nil || len(p.s.Webhooks) == 0 {
		return nil
	}
	known, err := p.store.Receivers(ctx, session)
	if err != nil {
		return err
	}
	for name := range p.s.Webhooks {
		id := webhookPrefix + name
		i := slices.IndexFunc(known, func(r journal.Receiver) bool { return r.ID == id })
		switch {
		case i < 0:
			err = p.store.PutReceiver(ctx, journal.Receiver{Session: session, ID: id, Spec: []byte("{}"), At: after, Added: time.Now()})
		case known[i].Done:
			err = p.reopen(ctx, known[i])
		}
		if err != nil {
			return err
		}
	}
	p.look()
	return nil
}

// reopen lets a receiver go on that was done.
func (p *poster) reopen(ctx context.Context, r journal.Receiver) error {
	next := r
	next.Done = false
	_, err := p.store.MoveReceiver(ctx, r, next) // another process may have done so
	return err
}

// dead reports whether a webhook has taken nothing of a session for so long that nothing
// more is posted, until a person says so.
func dead(r journal.Receiver) bool {
	return strings.HasPrefix(r.ID, webhookPrefix) && !r.Failing.IsZero() && time.Since(r.Failing) > giveUpAfter
}

// followWebhook posts the events of a session to a webhook until the session has ended. A
// webhook that the configuration no longer has loses its receiver.
func (p *poster) followWebhook(ctx context.Context, r *journal.Receiver, name string) error {
	w, ok := p.s.Webhooks[name]
	if !ok {
		return p.store.RemoveReceiver(ctx, r.Session, r.ID)
	}
	var of hooks.Projector
	for ev, err := range p.s.Local.Watch(ctx, r.Session, 0) {
		if err != nil {
			return err
		}
		if ev.Seq == 0 {
			continue // of the moment
		}
		for n, e := range of.Events(r.Session, ev) {
			here := place{ev.Seq, n}
			if parsePlace(r.At).has(here) || !w.wants(e) {
				continue
			}
			if err := p.deliver(ctx, r, p.parcel(w, name, here, e)); err != nil {
				return err
			}
		}
		if b, ok := ev.Body.(openmanus.ChildOpened); ok {
			if err := p.tellWebhooks(ctx, b.Child, ""); err != nil && !errors.Is(err, openmanus.ErrNoSession) {
				return err
			}
		}
		if of.Ended() {
			if over, err := p.leaveEnded(ctx, r, ev.Seq); over || err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// leaveEnded ends the following of a session that has ended with the event seq, unless it has
// gone on since. The caller that replays it reopens the receiver.
func (p *poster) leaveEnded(ctx context.Context, r *journal.Receiver, seq int64) (over bool, err error) {
	info, err := p.s.Store.Session(ctx, r.Session)
	if err != nil || info.Events > seq {
		return false, err
	}
	done := *r
	done.Done = true
	if moved, err := p.store.MoveReceiver(ctx, *r, done); err != nil || !moved {
		return true, err // another process follows it
	}
	*r = done
	if info, err = p.s.Store.Session(ctx, r.Session); err != nil || info.Events == seq {
		return true, err
	}
	err = p.reopen(ctx, *r)
	r.Done = false
	return false, err
}

// parcel returns the post about an event, signed as Standard Webhooks specifies. Its id
// follows from the event, so a receiver recognizes a repeated one.
func (p *poster) parcel(w Webhook, name string, here place, e hooks.Event) parcel {
	e.Hook = name
	return parcel{
		what: name + " of " + e.Session, at: here.String(), url: w.URL,
		content: struct {
			Type string      `json:"type"`
			Time *time.Time  `json:"timestamp"`
			Data hooks.Event `json:"data"`
		}{e.Event, e.Time, e},
		had: func(at string) bool { return parsePlace(at).has(here) },
		head: func(h http.Header, body []byte) {
			h.Set("Content-Type", "application/json")
			w.sign(h, e.Session+"."+here.String(), time.Now(), body)
		},
	}
}

// A WebhookState is how a webhook does.
type WebhookState struct {
	Name    string           `json:"name"`
	Events  []string         `json:"events" doc:"The events that the server posts to it."`
	Failing []WebhookFailing `json:"failing" doc:"The sessions of which it did not take the last message."`
}

// A WebhookFailing is a session of which a webhook takes nothing.
type WebhookFailing struct {
	Session string    `json:"session"`
	Since   time.Time `json:"since"`
	GivenUp bool      `json:"given_up,omitempty" doc:"The server posts nothing more of this session until an administrator replays it."`
}

// webhookName names a webhook.
type webhookName struct {
	Name string `path:"name" maxLength:"60"`
}

// failing returns the receivers of a webhook that take nothing.
func (s *Server) failing(ctx context.Context, name string) (all []journal.Receiver, err error) {
	if s.poster == nil {
		return nil, nil
	}
	receivers, err := s.poster.store.Receivers(ctx, "")
	for _, r := range receivers {
		if r.ID == webhookPrefix+name && !r.Failing.IsZero() {
			all = append(all, r)
		}
	}
	return all, err
}

// listWebhooks returns how the webhooks do.
func (s *Server) listWebhooks(ctx context.Context, _ *struct{}) (*list[WebhookState], error) {
	if !userOf(ctx).Admin {
		return nil, huma.Error403Forbidden("webhooks are for administrators of this server")
	}
	var states []WebhookState
	for name, w := range s.Webhooks {
		state := WebhookState{Name: name, Events: append([]string{}, w.Events...), Failing: []WebhookFailing{}}
		receivers, err := s.failing(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, r := range receivers {
			state.Failing = append(state.Failing, WebhookFailing{r.Session, r.Failing, dead(r)})
		}
		states = append(states, state)
	}
	slices.SortFunc(states, func(a, b WebhookState) int { return strings.Compare(a.Name, b.Name) })
	return listOf(states), nil
}

// replayed says how much is tried again.
type replayed struct {
	Sessions int `json:"sessions" doc:"Of so many, what the webhook did not take is posted again."`
}

// replayWebhook tries again what a webhook did not take.
func (s *Server) replayWebhook(ctx context.Context, in *webhookName) (*body[replayed], error) {
	if !userOf(ctx).Admin {
		return nil, huma.Error403Forbidden("webhooks are for administrators of this server")
	}
	if _, ok := s.Webhooks[in.Name]; !ok {
		return nil, huma.Error404NotFound("there is no such webhook")
	}
	receivers, err := s.failing(ctx, in.Name)
	var out replayed
	for _, r := range receivers {
		next := r
		next.Failing = time.Time{}
		moved, err := s.poster.store.MoveReceiver(ctx, r, next)
		if err != nil {
			return nil, err
		}
		if moved {
			out.Sessions++
		}
	}
	if s.poster != nil {
		s.poster.hurry()
	}
	return &body[replayed]{out}, err
}

// webhookRoutes registers the operations on webhooks.
func (s *Server) webhookRoutes(options ...option) {
	op(s, "GET /api/v1/webhooks", "list-webhooks", "List the webhooks, and what they did not take", s.listWebhooks, options...)
	op(s, "POST /api/v1/webhooks/{name}/replay", "replay-webhook", "Post again what a webhook did not take", s.replayWebhook, options...)
}
