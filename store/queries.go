package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/store/internal/summary"
)

// queries are what the writer does within a transaction. Only its goroutine uses
// them.
type queries struct {
	statements           // of the writer's connection
	now        time.Time // of the transaction

	// The heads of sessions to which this connection has appended. They are
	// right as long as the database has the data version seen: no other
	// process has committed since.
	heads map[string]head
	seen  int64
}

// A head is the row id of a session and the number of its events.
type head struct{ id, events int64 }

// maxHeads is the most heads that are remembered.
const maxHeads = 4096

// begin begins a transaction, and drops the heads if another process has committed
// since the last one.
func (q *queries) begin() error {
	if _, err := q.exec("begin"); err != nil {
		return err
	}
	q.now = journal.Now()
	var version int64
	if err := q.row("data_version", nil, &version); err != nil {
		return err
	}
	if version != q.seen || len(q.heads) > maxHeads {
		q.forget()
	}
	q.seen = version
	return nil
}

// forget drops the heads: sessions were deleted, or the transaction is rolled back.
func (q *queries) forget() { clear(q.heads) }

// moved records that a session has so many events now.
func (q *queries) moved(name string, id, events int64) {
	if q.heads == nil {
		q.heads = make(map[string]head)
	}
	q.heads[name] = head{id, events}
}

// find returns the row id of a session and the number of its events. Both are 0
// if there is no such session.
func (q *queries) find(name string) (id, events int64, err error) {
	if h, ok := q.heads[name]; ok {
		return h.id, h.events, nil
	}
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

// fields returns what {event_columns} of queries.sql are scanned into.
func fields(r *summary.Record) []any {
	return []any{&r.Seq, &r.Micros, &r.Type, &r.Key, (*[]byte)(&r.Body)}
}

// byKey returns the event of a session with an idempotency key, or nil.
func (q *queries) byKey(id int64, key string) (*summary.Record, error) {
	r := new(summary.Record)
	err := q.row("event_by_key", []any{id, key}, fields(r)...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return r, err
}

// headsOf returns the number of events of each of these sessions, without those
// that do not exist.
func (q *queries) headsOf(names []string) (heads map[string]int64, err error) {
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
