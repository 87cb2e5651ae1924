package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// queries are the prepared statements of the writer, on its connection. Only
// the writer's goroutine uses them.
type queries struct {
	now time.Time // of the transaction

	begin, commit, version                *sql.Stmt
	session, eventByKey, followed         *sql.Stmt
	addSession, addEvent, addRef          *sql.Stmt
	addTo, markIdle                       *sql.Stmt
	refsOf, deleteRefs, deleteEvents, del *sql.Stmt
	deleteAfter, referenced               *sql.Stmt
	indexed, addSaid, deleteSaid          *sql.Stmt
}

func prepare(ctx context.Context, conn *sql.Conn) (*queries, error) {
	q := new(queries)
	for stmt, text := range q.texts() {
		var err error
		if *stmt, err = conn.PrepareContext(ctx, text); err != nil {
			return nil, errors.Join(fmt.Errorf("prepare %q: %w", text, err), q.close())
		}
	}
	return q, nil
}

// close closes the statements. Closing the connection does not close them, and
// SQLite keeps a connection with open statements open.
func (q *queries) close() error {
	var errs []error
	for stmt := range q.texts() {
		if *stmt != nil {
			errs = append(errs, (*stmt).Close())
		}
	}
	return errors.Join(errs...)
}

// texts returns the text of each statement. An event's row id has the session's
// row id in its upper 32 bits and the sequence number in the lower ones, so
// that the events of a session lie together in the table, in order.
func (q *queries) texts() map[**sql.Stmt]string {
	return map[**sql.Stmt]string{
		&q.begin:      "BEGIN IMMEDIATE",
		&q.commit:     "COMMIT",
		&q.version:    "PRAGMA data_version",
		&q.session:    "SELECT id, events FROM sessions WHERE name = ?",
		&q.eventByKey: "SELECT id & 0xffffffff, time, type, key, body FROM events WHERE session = ? AND key = ?",
		&q.followed:   "SELECT name, events FROM sessions WHERE name IN (SELECT value FROM json_each(?))",
		&q.addSession: `INSERT INTO sessions (name, created, updated, events, last, title, words, flow, parent, owner, model, workspace,
			input, output, cached, written, reasoning, cost, under_way) VALUES (?, ?, 0, 0, '', '', '', '', '', '', '', '', 0, 0, 0, 0, 0, 0, 0)`,
		&q.addEvent:     "INSERT INTO events (session, id, time, type, key, body) VALUES (?1, ?1 << 32 | ?2, ?3, ?4, ?5, ?6) ON CONFLICT (session, key) DO NOTHING",
		&q.deleteAfter:  "DELETE FROM events WHERE id > ?1 << 32 | ?2 AND id < (?1 + 1) << 32",
		&q.addRef:       "INSERT INTO event_blobs (ref, session) VALUES (?, ?) ON CONFLICT DO NOTHING",
		&q.addTo:        summarySQL,
		&q.markIdle:     "UPDATE sessions SET under_way = 0 WHERE name = ? AND events = ?",
		&q.refsOf:       "SELECT ref FROM event_blobs WHERE session = ?",
		&q.deleteRefs:   "DELETE FROM event_blobs WHERE session = ?",
		&q.deleteEvents: "DELETE FROM events WHERE id > ?1 << 32 AND id < (?1 + 1) << 32",
		&q.del:          "DELETE FROM sessions WHERE id = ?",
		&q.indexed:      "UPDATE sessions SET indexed = ?3 WHERE name = ?1 AND indexed = ?2",
		&q.addSaid: `INSERT INTO said (rowid, text) SELECT sessions.id << 32 | (value ->> 'seq'), value ->> 'text'
			FROM sessions, json_each(?2) WHERE name = ?1`,
		&q.deleteSaid: "DELETE FROM said WHERE rowid > ?1 << 32 AND rowid < (?1 + 1) << 32",
		&q.referenced: "SELECT EXISTS (SELECT 1 FROM event_blobs WHERE ref = ?)",
	}
}

// find returns the row id of a session and the number of its events. Both are 0
// if there is no such session.
func (q *queries) find(name string) (id, events int64, err error) {
	err = q.session.QueryRow(name).Scan(&id, &events)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, nil
	}
	return id, events, err
}

// open inserts a session and returns its row id.
func (q *queries) open(name string, at time.Time) (id int64, err error) {
	r, err := q.addSession.Exec(name, at.UnixMicro())
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

// undo deletes the events that the transaction added to a session of n events.
func (q *queries) undo(id, n int64) error {
	_, err := q.deleteAfter.Exec(id, n)
	return err
}

// A record is an event in the encoding of the database.
type record struct {
	seq    int64
	micros int64
	journal.Stored
}

func (r *record) fields() []any { return []any{&r.seq, &r.micros, &r.Type, &r.Key, (*[]byte)(&r.Body)} }

func (r *record) event(b openmanus.Body) openmanus.Event {
	return openmanus.Event{Seq: r.seq, Time: r.time(), Body: b}
}

func (r *record) time() time.Time { return time.UnixMicro(r.micros).UTC() }

// byKey returns the event of a session with an idempotency key, or nil.
func (q *queries) byKey(id int64, key string) (*record, error) {
	r := new(record)
	err := q.eventByKey.QueryRow(id, key).Scan(r.fields()...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return r, err
}

// heads returns the number of events of each of these sessions, without those
// that do not exist.
func (q *queries) heads(names []string) (heads map[string]int64, err error) {
	list, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	rows, err := q.followed.Query(string(list))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	heads = make(map[string]int64)
	for rows.Next() {
		var name string
		var n int64
		if err := rows.Scan(&name, &n); err != nil {
			return nil, err
		}
		heads[name] = n
	}
	return heads, rows.Err()
}

// texts returns the rows of a query with one column.
func texts(rows *sql.Rows, err error) (all []string, _ error) {
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		all = append(all, s)
	}
	return all, errors.Join(rows.Err(), rows.Close())
}
