package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// A made is an agent with what it keeps running.
type made struct {
	agent *openmanus.Agent
	close []io.Closer
}

// Close ends what the agent keeps running.
func (m made) Close() error {
	var errs []error
	for _, c := range m.close {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// closeSessions ends what the agent keeps running for sessions.
func (m made) closeSessions(ids []string) error {
	var errs []error
	for _, t := range m.agent.Tools {
		if t, ok := t.(openmanus.SessionCloser); ok {
			for _, id := range ids {
				errs = append(errs, t.CloseSession(id))
			}
		}
	}
	return errors.Join(errs...)
}

// Hold implements [server.Holder].
func (h serveHost) Hold(id, dir string) (release func() error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.keepers[dir] == nil {
		h.keepers[dir] = make(map[string]bool)
	}
	h.keepers[dir][id] = true
	return func() error { return h.release(id, dir) }
}

// Deleted implements [server.Cleaner]: the copies of a session's attempts go
// with it.
func (h serveHost) Deleted(id string) error {
	if err := h.copies("", nil).Remove(id); err != nil {
		return fmt.Errorf("session %s is deleted, but not all copies of its attempts: %w", id, err)
	}
	return nil
}

// release lets go of what was made for a session that works in dir, and for
// all below it. Agents of a workspace go with the last session that uses it.
func (a *app) release(id, dir string) error {
	ids := map[string][]string{dir: {id}}
	err := a.below(context.Background(), id, ids)
	a.mu.Lock()
	delete(a.keepers[dir], id)
	if len(a.keepers[dir]) == 0 {
		delete(a.keepers, dir)
	}
	var over, others []made
	for b, m := range a.made {
		switch _, here := ids[b.Workspace]; {
		case !here:
		case a.keepers[b.Workspace] == nil:
			over = append(over, m)
			delete(a.made, b)
		default:
			others = append(others, m)
		}
	}
	a.mu.Unlock()
	errs := []error{err}
	for dir := range ids {
		a.forgetTeam(dir)
	}
	for _, m := range over {
		errs = append(errs, m.Close())
	}
	for _, m := range others {
		errs = append(errs, m.closeSessions(ids[m.agent.Workspace]))
	}
	return errors.Join(errs...)
}

// below adds the sessions below one, by where they work.
func (a *app) below(ctx context.Context, id string, ids map[string][]string) error {
	for child, err := range a.db.Sessions(ctx, journal.ListOptions{Parent: id}) {
		if err != nil {
			return err
		}
		ids[child.Workspace] = append(ids[child.Workspace], child.ID)
		if err := a.below(ctx, child.ID, ids); err != nil {
			return err
		}
	}
	return nil
}

// forgetTeam has the team of a workspace be read again when it is needed.
func (a *app) forgetTeam(dir string) {
	a.teamMu.Lock()
	defer a.teamMu.Unlock()
	delete(a.teams, dir)
}
