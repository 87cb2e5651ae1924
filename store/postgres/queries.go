package postgres

import (
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// now is the time of the server, in microseconds since 1970.
const now = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

// addEvents adds events to a session that exists, and openSession opens one with them.
// Both return how many events there were before, and the time of the new ones; no row
// says that the session does not exist, or exists, or that it was taken over.
//
// The row lock of the session is taken first: so events get their numbers, and their
// time, in the order in which they are committed.
const (
	addEvents = `
WITH head AS (
	UPDATE sessions SET
		events = events + @n, updated = greatest(updated, ` + now + `), last = @last, under_way = under_way OR @active,
		title = coalesce(nullif(@title, ''), title), words = coalesce(nullif(words, ''), @words),
		model = CASE WHEN @configured THEN @model ELSE model END,
		workspace = CASE WHEN @configured THEN @workspace ELSE workspace END,
		input = input + @input, output = output + @output, cached = cached + @cached, written = written + @written,
		reasoning = reasoning + @reasoning, estimated = estimated + @estimated, unpriced = unpriced + @unpriced,
		cost = cost + @cost, tree = coalesce(nullif(@tree, ''), tree),
		tree_at = CASE WHEN @tree <> '' THEN ` + now + ` ELSE tree_at END
	WHERE name = @session AND (@fence::bigint = 0 OR fence = @fence)
	RETURNING id, events - @n AS before, updated, model
), ` + addTheRest

	openSession = `
WITH head AS (
	INSERT INTO sessions (name, fence, created, updated, events, last, under_way, title, words, flow, parent, owner,
		model, workspace, input, output, cached, written, reasoning, estimated, unpriced, cost, tree, tree_at)
	SELECT @session, coalesce((SELECT token FROM leases WHERE session = @session), 0),
		coalesce((@times::bigint[])[1], at), coalesce((@times::bigint[])[@n], at), @n, @last, @active,
		@title, @words, @flow, @parent, @owner, @model, @workspace,
		@input, @output, @cached, @written, @reasoning, @estimated, @unpriced, @cost,
		@tree, CASE WHEN @tree <> '' THEN at ELSE 0 END
	FROM (SELECT ` + now + ` AS at) AS clock
	ON CONFLICT (name) DO NOTHING
	RETURNING id, 0::bigint AS before, updated, model
), ` + addTheRest

	addTheRest = `
added AS (
	INSERT INTO events (session, seq, time, type, digest, key, body)
	SELECT head.id, head.before + n, coalesce((@times::bigint[])[n], head.updated), type, digest, key, body
	FROM head, unnest(@types::text[], @digests::bytea[], @keys::bytea[], @bodies::bytea[])
		WITH ORDINALITY AS e (type, digest, key, body, n)
), kept AS (
	INSERT INTO event_blobs (ref, session)
	SELECT ref, head.id FROM head, (SELECT ref FROM blobs WHERE ref = ANY(@refs::text[]) FOR KEY SHARE) AS there
	ON CONFLICT DO NOTHING
), heard AS (
	INSERT INTO said (session, seq, text)
	SELECT head.id, head.before + n, text FROM head, unnest(@said::text[], @said_at::bigint[]) AS s (text, n)
), used AS (
	INSERT INTO usage AS u (session, day, model, requests, input, output, cached, written, reasoning, estimated, unpriced, cost)
	SELECT head.id, coalesce((@times::bigint[])[n], head.updated) / 86400000000, coalesce(nullif(by, ''), head.model),
		count(*), sum(input), sum(output), sum(cached), sum(written), sum(reasoning), sum(estimated), sum(unpriced), sum(cost)
	FROM head, unnest(@used_at::bigint[], @used_by::text[], @used_input::bigint[], @used_output::bigint[],
		@used_cached::bigint[], @used_written::bigint[], @used_reasoning::bigint[], @used_estimated::bigint[],
		@used_unpriced::bigint[], @used_cost::bigint[])
		AS e (n, by, input, output, cached, written, reasoning, estimated, unpriced, cost)
	GROUP BY 1, 2, 3
	ON CONFLICT (session, day, model) DO UPDATE SET requests = u.requests + excluded.requests,
		input = u.input + excluded.input, output = u.output + excluded.output, cached = u.cached + excluded.cached,
		written = u.written + excluded.written, reasoning = u.reasoning + excluded.reasoning,
		estimated = u.estimated + excluded.estimated, unpriced = u.unpriced + excluded.unpriced, cost = u.cost + excluded.cost
)
SELECT before, updated FROM head`
)

// arguments returns those of addEvents and openSession.
func (e *entry) arguments() pgx.NamedArgs {
	s, last := e.summary, len(e.stored)-1
	a := pgx.NamedArgs{
		"session": e.session, "fence": e.fence, "n": len(e.stored), "last": e.stored[last].Type, "times": e.times,
		"active": s.Active, "title": text(s.Title), "words": text(s.Words), "configured": s.Configured != nil,
		"flow": text(s.Flow), "parent": text(s.Parent), "owner": text(s.Owner), "model": "", "workspace": "",
		"input": s.Usage.Input, "output": s.Usage.Output, "cached": s.Usage.Cached, "written": s.Usage.CacheWrite,
		"reasoning": s.Usage.Reasoning, "estimated": s.Usage.Estimated, "unpriced": s.Unpriced, "cost": int64(s.Cost),
		"refs": e.refs, "tree": text(s.Tree),
	}
	if s.Configured != nil {
		a["model"], a["workspace"] = text(s.Configured.Model), text(s.Configured.Workspace)
	}
	types, digests, keys, bodies := make([]string, 0, last+1), make([][]byte, 0, last+1), make([][]byte, 0, last+1), make([][]byte, 0, last+1)
	for _, st := range e.stored {
		types, digests = append(types, text(st.Type)), append(digests, digest(st.Key))
		keys, bodies = append(keys, []byte(st.Key)), append(bodies, st.Body)
	}
	a["types"], a["digests"], a["keys"], a["bodies"] = types, digests, keys, bodies
	e.saidArguments(a)
	e.usedArguments(a)
	return a
}

// text returns s as PostgreSQL can store it: without NULs.
func text(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
}

// eventColumns are what scanRecord reads.
const eventColumns = "seq, time, type, key, body"

// A record is an event in the encoding of the database.
type record struct {
	seq    int64
	micros int64
	journal.Stored
}

func scanRecord(row pgx.CollectableRow) (r record, err error) {
	var key []byte
	err = row.Scan(&r.seq, &r.micros, &r.Type, &key, (*[]byte)(&r.Body))
	r.Key = string(key)
	return r, err
}

// event returns the event with its decoded body.
func (r *record) event(b openmanus.Body) openmanus.Event {
	return openmanus.Event{Seq: r.seq, Time: r.time(), Body: b}
}

func (r *record) time() time.Time { return time.UnixMicro(r.micros).UTC() }

// codec returns the codec of readers, which redacts nothing.
func (db *DB) codec() journal.Codec { return journal.Codec{Blobs: db} }
