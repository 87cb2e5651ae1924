package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// queries are what the writer does within a transaction. Only its goroutine uses
// them.
type queries struct {
	statements           // of the writer's connection
	now        time.Time // of the transaction
}

// find returns the row id of a session and the number of its events. Both are 0
// if there is no such session.
func (q *queries) find(name string) (id, events int64, err error) {
	err = q.row("head", []any{name}, &id, &events)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, nil
	}
	return id, events, err
}

// open inserts a session and returns its row id.
func (q *queries) open(name string, at time.Time) (id int64, err error) {
	r, err := q.exec("add_session", name, at.UnixMicro())
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

// undo deletes the events that the transaction added to a session of n events.
func (q *queries) undo(id, n int64) error {
	_, err := q.exec("delete_after", id, n)
	return err
}

// A record is an event in the encoding of the database.
type record struct {
	seq    int64
	micros int64
	journal.Stored
}

// fields returns what {event_columns} of queries.sql are scanned into.
func (r *record) fields() []any { return []any{&r.seq, &r.micros, &r.Type, &r.Key, (*[]byte)(&r.Body)} }

// event returns the event with its decoded body.
func (r *record) event(b openmanus.Body) openmanus.Event {
	return openmanus.Event{Seq: r.seq, Time: r.time(), Body: b}
}

func (r *record) time() time.Time { return time.UnixMicro(r.micros).UTC() }

// byKey returns the event of a session with an idempotency key, or nil.
func (q *queries) byKey(id int64, key string) (*record, error) {
	r := new(record)
	err := q.row("event_by_key", []any{id, key}, r.fields()...)
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
	rows, err := q.query("heads", string(list))
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
