package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/store/internal/summary"
)

// Search implements [journal.Searcher]. It searches the messages of users and
// agents, titles, answers, and what was passed to tools. The full-text index has no words of fewer than three
// characters, which are common in Chinese: a search for such words alone reads
// all messages, and ranks by age.
func (db *DB) Search(ctx context.Context, words string, opts journal.ListOptions) ([]journal.Hit, error) {
	query, err := newQuery(words)
	if err != nil {
		return nil, err
	}
	if err := db.updateIndex(ctx); err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	name := "search_matched"
	if query.match == "" {
		name = "search_scanned"
	}
	stmt, err := db.reads.get(name)
	if err != nil {
		return nil, db.explain(err)
	}
	rows, err := stmt.QueryContext(ctx, opts.Workspace, opts.Parent, kindsOf(opts), opts.Owner, limitOf(opts),
		journal.MarkBegin, journal.MarkEnd, query.match, query.short, query.first)
	if err != nil {
		return nil, db.explain(err)
	}
	var hits []journal.Hit
	for rows.Next() {
		var h journal.Hit
		if h.SessionInfo, err = summary.Info(rows, &h.Seq, &h.Snippet); err != nil {
			break
		}
		hits = append(hits, h)
	}
	return hits, db.explain(errors.Join(err, rows.Err(), rows.Close()))
}

// A query asks for texts that contain all of its words.
type query struct {
	match string // the words of three and more characters, in the syntax of FTS5
	short string // the shorter words, a JSON array
	first string // of the shorter words
}

// newQuery splits words at white space. In the syntax of FTS5, a quoted word
// matches as a part of others, because the index has trigrams.
func newQuery(words string) (query, error) {
	long, short := []string{}, []string{}
	for w := range strings.FieldsSeq(strings.ToValidUTF8(words, " ")) {
		if utf8.RuneCountInString(w) < 3 {
			short = append(short, w)
		} else {
			long = append(long, `"`+strings.ReplaceAll(w, `"`, `""`)+`"`)
		}
	}
	if len(long)+len(short) == 0 {
		return query{}, fmt.Errorf("search for %q: %w", words, journal.ErrNoWords)
	}
	list, err := json.Marshal(short)
	q := query{match: strings.Join(long, " AND "), short: string(list)}
	if len(short) > 0 {
		q.first = short[0]
	}
	return q, err
}

// indexBatch is about how many bytes are added to the index in one transaction,
// which delays appends. A session is always added as a whole.
const indexBatch = 256 << 10

// updateIndex adds the messages since the last search to the index. Searches do
// this, not appends, because most sessions are never searched for. Each session's
// column indexed is the last event that the index has.
func (db *DB) updateIndex(ctx context.Context) error {
	for {
		rows, err := db.query(ctx, "not_indexed")
		names, err := texts(rows, err)
		if err != nil || len(names) == 0 {
			return db.explain(err)
		}
		var batch []unindexed
		size := 0
		for i, name := range names {
			u, err := db.unindexed(ctx, name)
			if err != nil {
				return err
			}
			batch = append(batch, u)
			for _, s := range u.said {
				size += len(s.Text)
			}
			if size < indexBatch && i < len(names)-1 {
				continue
			}
			if err := db.index(ctx, batch); err != nil {
				return err
			}
			batch, size = nil, 0
		}
	}
}

// index adds messages to the index in one transaction.
func (db *DB) index(ctx context.Context, batch []unindexed) error {
	add := func(q *queries) error {
		for _, u := range batch {
			if err := q.index(u); err != nil {
				return err
			}
		}
		return nil
	}
	return db.explain(db.writer.do(ctx, db.writer.jobs, &job{do: add}))
}

// An unindexed has the messages of a session in a range of events.
type unindexed struct {
	name     string
	from, to int64 // the events after from, up to to
	said     []message
}

// unindexed returns the messages of a session that the index does not have. They
// are none if the session was deleted.
func (db *DB) unindexed(ctx context.Context, name string) (u unindexed, err error) {
	u.name = name
	err = db.reads.row("index_state", []any{name}, &u.to, &u.from)
	if errors.Is(err, sql.ErrNoRows) {
		return u, nil // deleted in between
	}
	if err != nil {
		return u, db.explain(err)
	}
	rows, err := db.query(ctx, "said_between", name, u.from, u.to)
	if err != nil {
		return u, db.explain(err)
	}
	for rows.Next() && err == nil {
		var r summary.Record
		if err = rows.Scan(fields(&r)...); err == nil {
			err = u.add(ctx, db, r)
		}
	}
	return u, db.explain(errors.Join(err, rows.Err(), rows.Close()))
}

// add adds the message of an event, if it has one.
func (u *unindexed) add(ctx context.Context, db *DB, r summary.Record) error {
	ev, err := db.reader().Event(ctx, r)
	if err != nil {
		return fmt.Errorf("session %s: event %d: %w", u.name, r.Seq, err)
	}
	if text := summary.Searchable(ev.Body); text != "" {
		u.said = append(u.said, message{r.Seq, text})
	}
	return nil
}

// A message is the text of an event.
type message struct {
	Seq  int64  `json:"seq"`
	Text string `json:"text"`
}

// index adds messages, unless another process has added them.
func (q *queries) index(u unindexed) error {
	r, err := q.exec("set_indexed", u.name, u.from, u.to)
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 || len(u.said) == 0 {
		return err
	}
	list, err := json.Marshal(u.said)
	if err != nil {
		return err
	}
	_, err = q.exec("add_said", u.name, string(list))
	return err
}
