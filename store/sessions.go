package store

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// An Info is what is known of a session without reading its journal.
type Info struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"` // the last one given, or the first words that a person said
	Created   time.Time `json:"created"`
	Updated   time.Time `json:"updated"` // when the last event was stored
	Events    int64     `json:"events"`  // how many, which is the number of the last
	Last      string    `json:"last"`    // the last one's type, as in docs/events.md
	Flow      string    `json:"flow"`
	Parent    string    `json:"parent,omitempty"`
	Owner     string    `json:"owner,omitempty"`
	Model     string    `json:"model,omitempty"`     // of the last configuration
	Workspace string    `json:"workspace,omitempty"` // likewise

	// What asking the model took, without the sessions of children.
	Usage llm.Usage       `json:"usage"`
	Cost  openmanus.Money `json:"cost"`
}

// ListOptions say which sessions to list. The zero ListOptions are all.
type ListOptions struct {
	Limit     int    // at most so many; 0 is no limit
	Workspace string // only those that work there
	Parent    string // only those that this one opened
	Owner     string // only those of this user
	Roots     bool   // only those that no other opened
	UnderWay  bool   // only those in which there may be something to do: see [DB.Rests]
}

const (
	infoColumns = `name, iif(title = '', words, title), created, updated, events, last, flow, parent, owner, model, workspace,
		input, output, cached, written, reasoning, cost`
	infoSQL = "SELECT " + infoColumns + " FROM sessions"
)

// Sessions yields what is known of sessions, the one that changed last first,
// as it is now. It ends after the first error.
func (db *DB) Sessions(ctx context.Context, opts ListOptions) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		limit := opts.Limit
		if limit <= 0 {
			limit = -1
		}
		text := infoSQL
		if opts.UnderWay { // which has an index
			text += " WHERE under_way = 1 AND"
		} else {
			text += " WHERE"
		}
		all, err := db.infos(ctx, text+` (?1 = '' OR workspace = ?1) AND (?2 = '' OR parent = ?2) AND (NOT ?3 OR parent = '') AND (?4 = '' OR owner = ?4)
			ORDER BY updated DESC, id DESC LIMIT ?5`, opts.Workspace, opts.Parent, opts.Roots, opts.Owner, limit)
		if err != nil {
			yield(Info{}, err)
			return
		}
		for _, info := range all {
			if !yield(info, nil) {
				return
			}
		}
	}
}

// Rests says that there is nothing to do in a session, by one who has folded
// its events up to the number seq. It does nothing if there are more, or the
// session is gone.
func (db *DB) Rests(ctx context.Context, session string, seq int64) error {
	return db.explain(db.writer.do(ctx, db.writer.jobs, &job{do: func(q *queries) error {
		_, err := q.rests.Exec(session, seq)
		return err
	}}))
}

// Session returns what is known of a session, or an error that is
// [openmanus.ErrNoSession].
func (db *DB) Session(ctx context.Context, id string) (Info, error) {
	all, err := db.infos(ctx, infoSQL+" WHERE name = ?", id)
	if err != nil {
		return Info{}, err
	}
	if len(all) == 0 {
		return Info{}, fmt.Errorf("session %s: %w", id, openmanus.ErrNoSession)
	}
	return all[0], nil
}

// shown is how many candidates the error of Find lists.
const shown = 8

// Find returns the id of the one session whose id begins with prefix, or is
// it. The error lists the candidates if there are more, and is
// [openmanus.ErrNoSession] if there are none.
func (db *DB) Find(ctx context.Context, prefix string) (string, error) {
	if prefix == "" {
		return "", fmt.Errorf("which session? Its id is missing: %w", openmanus.ErrNoSession)
	}
	all, err := db.infos(ctx, infoSQL+" WHERE substr(name, 1, length(?1)) = ?1 ORDER BY name <> ?1, updated DESC, id DESC LIMIT ?2", prefix, shown+1)
	switch {
	case err != nil:
		return "", err
	case len(all) == 0:
		return "", fmt.Errorf("no session has an id that begins with %q: %w", prefix, openmanus.ErrNoSession)
	case len(all) == 1 || all[0].ID == prefix:
		return all[0].ID, nil
	}
	var list strings.Builder
	for i, info := range all {
		if i == shown {
			list.WriteString("\n  … and others")
			break
		}
		fmt.Fprintf(&list, "\n  %s  %s", info.ID, info.Title)
	}
	return "", fmt.Errorf("more than one session has an id that begins with %q; write more of it:%s", prefix, list.String())
}

func (db *DB) infos(ctx context.Context, query string, args ...any) (all []Info, err error) {
	rows, err := db.query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = db.explain(e)
		}
	}()
	for rows.Next() {
		info, err := scanInfo(rows)
		if err != nil {
			return nil, db.explain(err)
		}
		all = append(all, info)
	}
	return all, db.explain(rows.Err())
}

// scanInfo reads a row of infoColumns, and what comes after them into more.
func scanInfo(rows *sql.Rows, more ...any) (i Info, err error) {
	var created, updated int64
	u := &i.Usage
	err = rows.Scan(append([]any{&i.ID, &i.Title, &created, &updated, &i.Events, &i.Last, &i.Flow, &i.Parent, &i.Owner, &i.Model, &i.Workspace,
		&u.Input, &u.Output, &u.Cached, &u.CacheWrite, &u.Reasoning, &i.Cost}, more...)...)
	i.Created, i.Updated = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
	return i, err
}
