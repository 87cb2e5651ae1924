package mcpserved

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// updates tell clients that sessions to which they subscribed have gone on. Its zero value
// has no subscribers.
type updates struct {
	tell func(context.Context, *sdk.ResourceUpdatedNotificationParams) error

	mu        sync.Mutex
	closed    bool
	followed  map[string]*following // by the URI
	following sync.WaitGroup
}

// A following is a session to which clients have subscribed.
type following struct {
	clients map[*sdk.ServerSession]bool
	stop    context.CancelFunc
}

// rest is the least time between two updates of the same session.
const rest = 250 * time.Millisecond

// subscribe has a client hear of a session.
func (x *exhibit) subscribe(ctx context.Context, r *sdk.SubscribeRequest) error {
	uri := r.Params.URI
	id, err := url.PathUnescape(strings.TrimPrefix(uri, sessionsURI+"/"))
	if err != nil || !strings.HasPrefix(uri, sessionsURI+"/") || strings.Contains(id, "/") {
		return fmt.Errorf("%s cannot be subscribed to: what can is %s/ID", uri, sessionsURI)
	}
	s, err := openmanus.Load(ctx, x.Store, id)
	if err != nil || s.Seq == 0 {
		return sdk.ResourceNotFoundError(uri)
	}
	u := &x.updates
	u.mu.Lock()
	defer u.mu.Unlock()
	f := u.followed[uri]
	switch {
	case u.closed:
		return nil
	case f == nil:
		life, stop := context.WithCancel(context.WithoutCancel(ctx))
		f = &following{make(map[*sdk.ServerSession]bool), stop}
		if u.followed == nil {
			u.followed = make(map[string]*following)
		}
		u.followed[uri] = f
		u.following.Go(func() { u.follow(life, x.Store, id, s.Seq, uri) })
	}
	if !f.clients[r.Session] {
		f.clients[r.Session] = true
		u.following.Go(func() {
			_ = r.Session.Wait() // however it ends
			u.leave(uri, r.Session)
		})
	}
	return nil
}

// unsubscribe ends that.
func (x *exhibit) unsubscribe(_ context.Context, r *sdk.UnsubscribeRequest) error {
	x.updates.leave(r.Params.URI, r.Session)
	return nil
}

// leave forgets a client of a session, and stops following it after the last one.
func (u *updates) leave(uri string, client *sdk.ServerSession) {
	u.mu.Lock()
	defer u.mu.Unlock()
	f := u.followed[uri]
	if f == nil {
		return
	}
	if delete(f.clients, client); len(f.clients) == 0 {
		f.stop()
		delete(u.followed, uri)
	}
}

// follow tells of events after a number, several at once if they come quickly.
func (u *updates) follow(ctx context.Context, j openmanus.Journal, id string, after int64, uri string) {
	for ctx.Err() == nil {
		came := false
		for ev, err := range j.Follow(ctx, id, after) {
			if err != nil {
				return // the session was deleted
			}
			after, came = ev.Seq, true
			break
		}
		if !came {
			return
		}
		select {
		case <-time.After(rest):
		case <-ctx.Done():
			return
		}
		for ev, err := range j.Events(ctx, id, after) {
			if err != nil {
				return
			}
			after = ev.Seq
		}
		_ = u.tell(ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri}) // a client that is gone leaves by itself
	}
}

// close ends all.
func (u *updates) close() {
	u.mu.Lock()
	u.closed = true
	for _, f := range u.followed {
		f.stop()
	}
	u.mu.Unlock()
	u.following.Wait()
}

// maxCompleted is how many values one completion may have, by the protocol.
const maxCompleted = 100

// complete completes the ids of sessions and the paths of their files in the URIs of
// resources.
func (x *exhibit) complete(ctx context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	var values []string
	var err error
	switch arg := r.Params.Argument; {
	case r.Params.Ref == nil || r.Params.Ref.Type != "ref/resource":
	case arg.Name == "id":
		values, err = x.idsLike(ctx, arg.Value)
	case arg.Name == "path" && r.Params.Context != nil:
		values = x.pathsLike(ctx, r.Params.Context.Arguments["id"], arg.Value)
	}
	if err != nil {
		return nil, err
	}
	done := sdk.CompletionResultDetails{Values: []string{}, HasMore: len(values) > maxCompleted}
	done.Values = append(done.Values, values[:min(len(values), maxCompleted)]...)
	return &sdk.CompleteResult{Completion: done}, nil
}

// idsLike returns the newest sessions whose ids begin with a text.
func (x *exhibit) idsLike(ctx context.Context, begin string) ([]string, error) {
	var ids []string
	for info, err := range x.Store.Sessions(ctx, journal.ListOptions{Roots: true}) {
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(info.ID, begin) {
			continue
		}
		if ids = append(ids, info.ID); len(ids) > maxCompleted {
			break // there are more
		}
	}
	return ids, nil
}

// pathsLike returns the files and directories in a session's workspace whose paths begin
// with a text, those of one directory. A directory ends in a slash.
func (x *exhibit) pathsLike(ctx context.Context, session, begin string) []string {
	s, err := openmanus.Load(ctx, x.Store, session)
	if err != nil || s.Config.Workspace == "" {
		return nil
	}
	ws, err := x.Files(x.Config, s.Config.Workspace)
	if err != nil {
		return nil
	}
	defer ws.Close()
	dir, start := path.Split(begin)
	where := path.Clean(strings.TrimSuffix(dir, "/"))
	if !fs.ValidPath(where) {
		return nil
	}
	entries, err := fs.ReadDir(ws.FS(), where)
	if err != nil {
		return nil
	}
	var paths []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), start) {
			continue
		}
		name := dir + e.Name()
		if e.IsDir() {
			name += "/"
		}
		paths = append(paths, name)
	}
	return paths
}
