package postgres

import (
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/store/internal/summary"
)

// now is the time of the server, in microseconds since 1970.
const now = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

// A query is a statement that is put together of parts, and its arguments.
type query struct {
	parts []string
	args  []any
}

// sql returns the statement.
func (q *query) sql() string { return strings.Join(q.parts, "") }

// add adds text to the statement, with arguments in place of its question marks.
func (q *query) add(text string, args ...any) {
	for _, a := range args {
		before, after, _ := strings.Cut(text, "?")
		q.args = append(q.args, a)
		q.parts = append(q.parts, before, "$", strconv.Itoa(len(q.args)))
		text = after
	}
	q.parts = append(q.parts, text)
}

// rows adds rows to the statement, as a table called as, with the number of each in a column
// called numbered, if that is not empty. One row needs no join.
func (q *query) rows(all []column, as, numbered string) {
	separator := "unnest("
	names := make([]string, len(all))
	one := all[0].first != nil
	if one {
		separator = "(SELECT "
	}
	for i, c := range all {
		if one {
			q.add(separator+"?::"+c.kind+" AS "+c.name, c.first)
		} else {
			q.add(separator+"?::"+c.kind+"[]", c.all)
		}
		separator, names[i] = ", ", c.name
	}
	switch {
	case one && numbered != "":
		q.add(", 1::bigint AS " + numbered + ") AS " + as)
	case one:
		q.add(") AS " + as)
	case numbered != "":
		q.add(") WITH ORDINALITY AS " + as + " (" + strings.Join(names, ", ") + ", " + numbered + ")")
	default:
		q.add(") AS " + as + " (" + strings.Join(names, ", ") + ")")
	}
}

// addEvents adds entries to sessions that exist, one to each, and openSession opens one with
// its first entry. Both return the number of each entry, how many events the session had
// before, and the time of the new ones. If an entry has no row, the session does not exist,
// exists already, or was taken over.
//
// The row lock of a session is taken first: so events get their numbers, and their
// time, in the order in which they are committed.
func addEvents(all []*entry) *query {
	q, h := new(query), headsOf(all)
	q.add(`WITH head AS (
	UPDATE sessions AS s SET events = s.events + e.n, updated = greatest(s.updated, ` + now + `), last = e.last,
		under_way = s.under_way OR e.active`)
	if h.described {
		q.add(`, title = coalesce(nullif(e.title, ''), s.title), words = coalesce(nullif(s.words, ''), e.words),
		model = CASE WHEN e.configured THEN e.model ELSE s.model END,
		workspace = CASE WHEN e.configured THEN e.workspace ELSE s.workspace END,
		tree = coalesce(nullif(e.tree, ''), s.tree), tree_at = CASE WHEN e.tree <> '' THEN ` + now + ` ELSE s.tree_at END`)
	}
	if h.used {
		for _, name := range usageColumns {
			q.add(", " + name + " = s." + name + " + e." + name)
		}
	}
	q.add(` FROM `)
	q.rows(h.columns(), "e", "entry")
	q.add(` WHERE s.name = e.name AND (e.fence = 0 OR s.fence = e.fence)
	RETURNING e.entry, s.id, s.events - e.n AS before, s.updated, s.model
)`)
	q.rest(all, nil)
	return q
}

func openSession(e *entry) *query {
	q, h := new(query), headsOf([]*entry{e})
	h.described, h.used = true, true
	times := e.times
	if times == nil {
		times = []int64{}
	}
	names := strings.Join(usageColumns, ", ")
	q.add(`WITH head AS (
	INSERT INTO sessions (name, fence, created, updated, events, last, under_way, title, words, flow, parent, owner,
		model, workspace, tree, tree_at, `+names+`)
	SELECT name, coalesce((SELECT token FROM leases WHERE session = name), 0),
		coalesce((?::bigint[])[1], at), coalesce((?::bigint[])[n], at), n, last, active, title, words, ?, ?, ?,
		model, workspace, tree, CASE WHEN tree <> '' THEN at ELSE 0 END, `+names+`
	FROM (SELECT `+now+` AS at) AS clock, `, times, times, text(e.Summary.Flow), text(e.Summary.Parent), text(e.Summary.Owner))
	q.rows(h.columns(), "given", "")
	q.add(` ON CONFLICT (name) DO NOTHING
	RETURNING 1::bigint AS entry, id, 0::bigint AS before, updated, model
)`)
	q.rest([]*entry{e}, e.times)
	return q
}

// rest adds what follows the heads of sessions: their events, and what is kept of these.
// times are those of events that are restored.
func (q *query) rest(all []*entry, times []int64) {
	q.add(`, added AS (
	INSERT INTO events (session, seq, time, type, digest, key, body)
	SELECT head.id, head.before + n, `)
	if times == nil {
		q.add(`head.updated`)
	} else {
		q.add(`(?::bigint[])[n]`, times)
	}
	q.add(`, type, digest, key, body FROM head, `)
	q.rows(eventsOf(all), "e", "")
	q.add(` WHERE of = entry
)`)
	if refs := refsOf(all); refs != nil {
		q.add(`, kept AS (
	INSERT INTO event_blobs (ref, session)
	SELECT there.ref, head.id FROM head, `)
		q.rows(refs, "r", "")
		q.add(`, (SELECT ref FROM blobs WHERE ref = ANY(?::text[]) FOR KEY SHARE) AS there
	WHERE of = entry AND r.ref = there.ref
	ON CONFLICT DO NOTHING
)`, refs[1].all)
	}
	if said := saidIn(all); said != nil {
		q.add(`, heard AS (
	INSERT INTO said (session, seq, text) SELECT head.id, head.before + n, text FROM head, `)
		q.rows(said, "s", "")
		q.add(` WHERE of = entry
)`)
	}
	if uses := usesOf(all); uses != nil {
		q.add(`, used AS (
	INSERT INTO usage AS u (session, day, model, requests, ` + strings.Join(usageColumns, ", ") + `)
	SELECT head.id, head.updated / 86400000000, coalesce(nullif(by, ''), head.model), count(*)`)
		for _, name := range usageColumns {
			q.add(", sum(e." + name + ")")
		}
		q.add(` FROM head, `)
		q.rows(uses, "e", "")
		q.add(` WHERE of = entry GROUP BY 1, 2, 3
	ON CONFLICT (session, day, model) DO UPDATE SET requests = u.requests + excluded.requests`)
		for _, name := range usageColumns {
			q.add(", " + name + " = u." + name + " + excluded." + name)
		}
		q.add(`
)`)
	}
	q.add(` SELECT entry, before, updated FROM head`)
}

// text returns s as PostgreSQL can store it: without NULs.
func text(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
}

// eventColumns are what scanRecord reads.
const eventColumns = "seq, time, type, key, body"

func scanRecord(row pgx.CollectableRow) (r summary.Record, err error) {
	var key []byte
	err = row.Scan(&r.Seq, &r.Micros, &r.Type, &key, (*[]byte)(&r.Body))
	r.Key = string(key)
	return r, err
}

// codec returns the codec of readers, which redacts nothing.
func (db *DB) codec() journal.Codec { return journal.Codec{Blobs: db} }
