package server_test

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/server"
)

// A memoryStore is a [server.Store] without a database: a journal in memory,
// and an index that folds it anew for each question. It has none of the
// optional methods.
type memoryStore struct {
	journal.Memory

	mu       sync.Mutex
	sessions []string // that were opened, and not deleted
}

var _ server.Store = (*memoryStore)(nil)

func (m *memoryStore) Append(ctx context.Context, id string, bodies ...openmanus.Body) ([]openmanus.Event, error) {
	evs, err := m.Memory.Append(ctx, id, bodies...)
	if err == nil && evs[0].Seq == 1 {
		m.add(id)
	}
	return evs, err
}

func (m *memoryStore) Restore(ctx context.Context, id string, events []openmanus.Event) error {
	if err := m.Memory.Restore(ctx, id, events); err != nil {
		return err
	}
	m.add(id)
	return nil
}

func (m *memoryStore) add(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions = append(m.sessions, id)
}

func (m *memoryStore) has(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Contains(m.sessions, id)
}

func (m *memoryStore) Events(ctx context.Context, id string, after int64) iter.Seq2[openmanus.Event, error] {
	if !m.has(id) {
		return func(func(openmanus.Event, error) bool) {}
	}
	return m.Memory.Events(ctx, id, after)
}

func (m *memoryStore) Session(ctx context.Context, id string) (journal.SessionInfo, error) {
	info, title := journal.SessionInfo{ID: id}, ""
	for ev, err := range m.Events(ctx, id, 0) {
		if err != nil {
			return info, err
		}
		if ev.Seq == 1 {
			info.Created = ev.Time
		}
		info.Updated, info.Events, info.Last = ev.Time, ev.Seq, openmanus.TypeName(ev.Body)
		switch b := ev.Body.(type) {
		case openmanus.Opened:
			info.Flow, info.Parent, info.Owner = b.Flow, b.Parent, b.Owner
		case openmanus.Configured:
			info.Model, info.Workspace = b.Model, b.Workspace
		case openmanus.UserSaid:
			info.Title = cmp.Or(info.Title, b.Message.Text())
		case openmanus.Titled:
			title = b.Title
		case openmanus.ModelSaid:
			info.Usage, info.Cost = info.Usage.Add(b.Usage), info.Cost+b.Cost
		}
	}
	if info.Events == 0 {
		return info, fmt.Errorf("session %s: %w", id, openmanus.ErrNoSession)
	}
	info.Title = cmp.Or(title, info.Title)
	return info, nil
}

func (m *memoryStore) Sessions(ctx context.Context, o journal.ListOptions) iter.Seq2[journal.SessionInfo, error] {
	return func(yield func(journal.SessionInfo, error) bool) {
		m.mu.Lock()
		ids := slices.Clone(m.sessions)
		m.mu.Unlock()
		var all []journal.SessionInfo
		for _, id := range ids {
			info, err := m.Session(ctx, id)
			if err != nil {
				yield(info, err)
				return
			}
			if (o.Workspace == "" || o.Workspace == info.Workspace) && (o.Parent == "" || o.Parent == info.Parent) &&
				(o.Owner == "" || o.Owner == info.Owner) && !(o.Roots && info.Parent != "") {
				all = append(all, info)
			}
		}
		slices.SortStableFunc(all, func(a, b journal.SessionInfo) int { return b.Updated.Compare(a.Updated) })
		if o.After != (journal.Place{}) {
			at := slices.IndexFunc(all, func(i journal.SessionInfo) bool { return i.ID == o.After.ID && i.Updated.Equal(o.After.Updated) })
			for at < 0 || at+1 < len(all) && all[at+1].Updated.After(o.After.Updated) {
				at++
			}
			all = all[at+1:]
		}
		for i, info := range all {
			if o.Limit > 0 && i == o.Limit || !yield(info, nil) {
				return
			}
		}
	}
}

func (m *memoryStore) Search(ctx context.Context, words string, o journal.ListOptions) (hits []journal.Hit, _ error) {
	words = strings.TrimSpace(words)
	if words == "" {
		return nil, journal.ErrNoWords
	}
	for info, err := range m.Sessions(ctx, o) {
		if err != nil {
			return nil, err
		}
		if strings.Contains(info.Title, words) {
			hits = append(hits, journal.Hit{SessionInfo: info, Seq: 1, Snippet: journal.MarkBegin + words + journal.MarkEnd})
		}
	}
	return hits, nil
}

func (m *memoryStore) Used(ctx context.Context, o journal.MeterOptions) ([]journal.Used, error) {
	var sum journal.Used
	for info, err := range m.Sessions(ctx, journal.ListOptions{Owner: o.Owner}) {
		if err != nil {
			return nil, err
		}
		sum = journal.Used{Name: info.Model, Usage: sum.Usage.Add(info.Usage), Cost: sum.Cost + info.Cost, Unpriced: sum.Unpriced + info.Unpriced}
	}
	return []journal.Used{sum}, nil
}

func (m *memoryStore) Delete(ctx context.Context, id string) error {
	lease, err := m.Lock(ctx, id)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.sessions = slices.DeleteFunc(m.sessions, func(s string) bool { return s == id })
	m.mu.Unlock()
	return lease.Release()
}

// An opener serves sessions with a model from a directory. Opened again with
// the same directory, a server has the sessions of the one before.
type opener func(t *testing.T, dir string, m llm.Model) *site

// onEachStore runs a test over SQLite and over memory: a server depends on no
// particular store.
func onEachStore(t *testing.T, test func(*testing.T, opener)) {
	t.Run("sqlite", func(t *testing.T) { test(t, open) })
	t.Run("memory", func(t *testing.T) {
		stores := make(map[string]*memoryStore)
		test(t, func(t *testing.T, dir string, m llm.Model) *site {
			if stores[dir] == nil {
				stores[dir] = new(memoryStore)
			}
			return serve(t, dir, m, stores[dir], func() error { return nil })
		})
	})
}
