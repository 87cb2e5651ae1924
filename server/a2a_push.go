package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/server/a2a"
)

const (
	// maxPushes is the most addresses of one task.
	maxPushes = 10

	// maxPushText is the most bytes of each text that a client gives with an address.
	maxPushText = 4096
)

// pushes returns the store of the addresses to which tasks are posted, or nil.
func (a *a2aService) pushes() journal.Receivers {
	if a.poster == nil || a.poster.client == nil {
		return nil
	}
	return a.poster.store
}

// checkPush returns an error that names the field unless posts can be sent as p says: to
// an https address, with headers of limited length.
func (a *a2aService) checkPush(p *a2a.Push) error {
	if a.pushes() == nil {
		return a2a.NoPush()
	}
	switch {
	case p.URL == "":
		return a2a.BadField("url", "it is required")
	case !canPost(p.URL):
		return a2a.BadField("url", "it must be an https address")
	case len(p.URL) > maxPushText:
		return a2a.BadField("url", fmt.Sprintf("it must have at most %d bytes", maxPushText))
	case !inHeader(p.Token):
		return a2a.BadField("token", fmt.Sprintf("it must be at most %d printable ASCII characters", maxPushText))
	case p.ID != "" && !contextName.MatchString(p.ID):
		return a2a.BadField("id", "it must have at most 128 letters, digits, dots, dashes and underscores")
	case p.Auth != nil && (p.Auth.Scheme == "" || strings.Contains(p.Auth.Scheme, " ") || !inHeader(p.Auth.Scheme)):
		return a2a.BadField("authentication.scheme", "it must be the name of one, such as Bearer")
	case p.Auth != nil && !inHeader(p.Auth.Credentials):
		return a2a.BadField("authentication.credentials", fmt.Sprintf("they must be at most %d printable ASCII characters", maxPushText))
	}
	return nil
}

// inHeader reports whether a text may stand in a header of HTTP.
func inHeader(text string) bool {
	return len(text) <= maxPushText && strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// pushOf adds the address that came with a message to the task of the message.
func (a *a2aService) pushOf(ctx context.Context, info journal.SessionInfo, push *a2a.Push) error {
	if push == nil {
		return nil
	}
	p, err := a.project(ctx, info)
	if err != nil {
		return err
	}
	push.Task = p.Last().ID
	_, err = a.addPush(ctx, info, push, "", false)
	return err
}

// AddPush implements [a2a.Pusher]. Earlier events are not posted. A configuration with the
// same id is replaced.
func (a *a2aService) AddPush(ctx context.Context, p *a2a.Push) (*a2a.Push, error) {
	if err := a.checkPush(p); err != nil {
		return nil, err
	}
	info, t, err := a.task(ctx, p.Task)
	if err != nil {
		return nil, renamed(err, "taskId")
	}
	at, err := a.project(ctx, info)
	if err != nil {
		return nil, err
	}
	if t.Status.State.Ended() {
		return a.addPush(ctx, info, p, "", true)
	}
	return a.addPush(ctx, info, p, at.Whole(nil), false)
}

// addPush adds an address to a task. The poster posts what happens after the position at, or
// nothing if the task is done.
func (a *a2aService) addPush(ctx context.Context, info journal.SessionInfo, p *a2a.Push, at string, done bool) (*a2a.Push, error) {
	store := a.pushes()
	all, err := store.Receivers(ctx, info.ID)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, r := range all {
		if task, id, _ := strings.Cut(r.ID, " "); task == p.Task && id != p.ID {
			n++
		}
	}
	if n >= maxPushes {
		return nil, a2a.Unsupported(fmt.Sprintf("the task is posted to %d addresses, and no more are possible: delete one", n))
	}
	if p.ID == "" {
		p.ID = ids.New()
	}
	data, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	r := journal.Receiver{Session: info.ID, ID: p.Task + " " + p.ID, Spec: data, At: at, Done: done, Added: time.Now()}
	if err := store.PutReceiver(ctx, r); err != nil {
		return nil, err
	}
	a.poster.look()
	return p, nil
}

// Push implements [a2a.Pusher].
func (a *a2aService) Push(ctx context.Context, r *a2a.PushRequest) (*a2a.Push, error) {
	all, err := a.Pushes(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, p := range all.Configs {
		if p.ID == r.ID {
			return &p, nil
		}
	}
	return nil, a2a.PushNotFound(r.ID)
}

// Pushes implements [a2a.Pusher].
func (a *a2aService) Pushes(ctx context.Context, r *a2a.PushRequest) (*a2a.PushList, error) {
	info, err := a.pushTask(ctx, r)
	if err != nil {
		return nil, err
	}
	all, err := a.pushes().Receivers(ctx, info.ID)
	if err != nil {
		return nil, err
	}
	out := &a2a.PushList{Configs: []a2a.Push{}}
	for _, one := range all {
		if task, _, _ := strings.Cut(one.ID, " "); task != r.Task {
			continue
		}
		var p a2a.Push
		if err := json.Unmarshal(one.Spec, &p); err != nil {
			return nil, fmt.Errorf("an address of task %s: %w", r.Task, err)
		}
		out.Configs = append(out.Configs, p)
	}
	return out, nil
}

// RemovePush implements [a2a.Pusher].
func (a *a2aService) RemovePush(ctx context.Context, r *a2a.PushRequest) (struct{}, error) {
	info, err := a.pushTask(ctx, r)
	if err == nil {
		err = a.pushes().RemoveReceiver(ctx, info.ID, r.Task+" "+r.ID)
	}
	return struct{}{}, err
}

// pushTask returns the session of the task that a request is about.
func (a *a2aService) pushTask(ctx context.Context, r *a2a.PushRequest) (journal.SessionInfo, error) {
	if a.pushes() == nil {
		return journal.SessionInfo{}, a2a.NoPush()
	}
	info, _, err := a.task(ctx, r.Task)
	return info, renamed(err, "taskId")
}

// renamed gives the field of an error the name that it has in another request.
func renamed(err error, field string) error {
	if e := (*a2a.Error)(nil); errors.As(err, &e) && e.Field == "id" {
		return a2a.BadField(field, e.Message)
	}
	return err
}
