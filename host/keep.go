package host

import (
	"context"
	"errors"

	"github.com/openmanus-go/openmanus/journal"
)

// Hold says that the session id, which works in dir, is in use. It is called
// before anything is made for the session. The function that it returns
// releases what was made for the session and those below it: agents go with
// the last session that uses their workspace, and what an agent keeps for a
// single session goes at once. If the session goes on after that, Hold is
// called again.
//
// A program that ends with its sessions need not call it.
func (h *Host) Hold(id, dir string) (release func() error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.holders[dir] == nil {
		h.holders[dir] = make(map[string]bool)
	}
	h.holders[dir][id] = true
	return func() error { return h.release(id, dir) }
}

// release releases what was made for a session in dir, and for those below it,
// which may work in other directories: the copies of an evaluation. Agents that
// other sessions hold stay, without what they keep for these ones.
func (h *Host) release(id, dir string) error {
	ids := map[string][]string{dir: {id}}
	err := h.addChildren(context.Background(), id, ids)
	h.mu.Lock()
	delete(h.holders[dir], id)
	if len(h.holders[dir]) == 0 {
		delete(h.holders, dir)
	}
	var unused, shared []agentInstance
	for key, m := range h.agents {
		ws := m.agent.Spec.Workspace
		switch _, here := ids[ws]; {
		case !here:
		case h.holders[ws] == nil:
			unused = append(unused, m)
			delete(h.agents, key)
		default:
			shared = append(shared, m)
		}
	}
	for key, f := range h.flows {
		ws := f.Agent().Spec.Workspace
		if _, here := ids[ws]; here && h.holders[ws] == nil {
			delete(h.flows, key)
		}
	}
	h.mu.Unlock()
	errs := []error{err}
	for dir := range ids {
		h.forgetTeam(dir)
		if !h.held(dir) {
			errs = append(errs, h.follower.forget(dir))
		}
	}
	errs = append(errs, closeAgents(unused)...)
	for dir := range ids { // after everything that could write there
		if !h.held(dir) {
			h.places.forget(dir)
		}
	}
	for _, m := range shared {
		errs = append(errs, m.closeSessions(ids[m.agent.Spec.Workspace]))
	}
	return errors.Join(errs...)
}

// held reports whether a session in dir is in use.
func (h *Host) held(dir string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.holders[dir] != nil
}

// addChildren adds the sessions below one to ids, by their workspaces, at any
// depth.
func (h *Host) addChildren(ctx context.Context, id string, ids map[string][]string) error {
	for child, err := range h.Store.Sessions(ctx, journal.ListOptions{Parent: id}) {
		if err != nil {
			return err
		}
		ids[child.Workspace] = append(ids[child.Workspace], child.ID)
		if err := h.addChildren(ctx, child.ID, ids); err != nil {
			return err
		}
	}
	return nil
}

// forgetTeam makes Team read the team of a workspace again.
func (h *Host) forgetTeam(dir string) {
	h.teamMu.Lock()
	defer h.teamMu.Unlock()
	delete(h.teams, dir)
}
