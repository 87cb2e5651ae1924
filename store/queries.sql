-- The queries of this package, by name. {name} stands for the query of that
-- name; some are only parts of others.
--
-- The row id of an event has the row id of its session in its upper 32 bits and
-- its sequence number in the lower ones: the events of a session lie together in
-- the table, in order.

-- name: begin
BEGIN IMMEDIATE

-- name: commit
COMMIT

-- name: data_version
PRAGMA data_version

-- name: head
SELECT id, events FROM sessions WHERE name = ?

-- name: heads
SELECT name, events FROM sessions WHERE name IN (SELECT value FROM json_each(?))

-- name: event_columns
events.id & 0xffffffff, time, type, key, body

-- name: page
SELECT {event_columns} FROM events WHERE id > ? AND id <= ? ORDER BY id LIMIT ?

-- name: event_by_key
SELECT {event_columns} FROM events WHERE session = ? AND key = ?

-- name: add_session
INSERT INTO sessions (name, created, updated, events, last, title, words, flow, parent, owner, model, workspace,
	input, output, cached, written, reasoning, cost, under_way)
VALUES (?, ?, 0, 0, '', '', '', '', '', '', '', '', 0, 0, 0, 0, 0, 0, 0)

-- name: add_event
INSERT INTO events (session, id, time, type, key, body) VALUES (?1, ?1 << 32 | ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (session, key) DO NOTHING

-- name: add_blob
INSERT INTO event_blobs (ref, session) VALUES (?, ?) ON CONFLICT DO NOTHING

-- Adds a summary to the session ?1. The words of the first message stay.
-- name: add_summary
UPDATE sessions SET updated = ?2, events = ?3, last = ?4,
	title = iif(?5 = '', title, ?5), words = iif(words = '', ?6, words),
	flow = iif(?7 = '', flow, ?7), parent = iif(?8 = '', parent, ?8), owner = iif(?18 = '', owner, ?18),
	model = iif(?9, ?10, model), workspace = iif(?9, ?11, workspace),
	input = input + ?12, output = output + ?13, cached = cached + ?14, written = written + ?15,
	reasoning = reasoning + ?16, cost = cost + ?17, estimated = estimated + ?20, unpriced = unpriced + ?21, under_way = under_way | ?19
WHERE id = ?1

-- Adds what a model used on the day ?2. Without a model ?3 it is the configured one.
-- name: add_usage
INSERT INTO usage VALUES (?1, ?2, iif(?3 = '', (SELECT model FROM sessions WHERE id = ?1), ?3),
	1, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
ON CONFLICT (session, day, model) DO UPDATE SET requests = requests + 1,
	input = input + excluded.input, output = output + excluded.output, cached = cached + excluded.cached,
	written = written + excluded.written, reasoning = reasoning + excluded.reasoning,
	estimated = estimated + excluded.estimated, unpriced = unpriced + excluded.unpriced, cost = cost + excluded.cost

-- What was used from the day ?1 on, in the sessions of the owner ?2.
-- name: used
sum(requests), sum(usage.input), sum(usage.output), sum(usage.cached), sum(usage.written), sum(usage.reasoning),
	sum(usage.estimated), sum(usage.unpriced), sum(usage.cost)
FROM usage JOIN sessions ON sessions.id = usage.session
WHERE day >= ?1 AND (?2 = '' OR owner = ?2)
GROUP BY 1 ORDER BY sum(usage.cost) DESC, sum(usage.input + usage.output) DESC, 1

-- name: used_by_model
SELECT usage.model, {used}

-- name: used_by_flow
SELECT flow, {used}

-- name: used_by_session
SELECT name, {used}

-- name: used_by_day
SELECT date(day * 86400, 'unixepoch'), {used}

-- name: delete_usage
DELETE FROM usage WHERE session = ?

-- The same for a summary that says no more than that there may be something to do.
-- name: move_head
UPDATE sessions SET updated = ?2, events = ?3, last = ?4, under_way = 1 WHERE id = ?1

-- name: mark_idle
UPDATE sessions SET under_way = 0 WHERE name = ? AND events = ?

-- name: delete_after
DELETE FROM events WHERE id > ?1 << 32 | ?2 AND id < (?1 + 1) << 32

-- name: delete_events
DELETE FROM events WHERE id > ?1 << 32 AND id < (?1 + 1) << 32

-- name: delete_said
DELETE FROM said WHERE rowid > ?1 << 32 AND rowid < (?1 + 1) << 32

-- name: delete_blobs
DELETE FROM event_blobs WHERE session = ?

-- name: delete_session
DELETE FROM sessions WHERE id = ?

-- name: blobs
SELECT ref FROM event_blobs WHERE session = ?

-- name: refers
SELECT EXISTS (SELECT 1 FROM event_blobs JOIN sessions ON sessions.id = session WHERE ref = ? AND name = ?)

-- name: drop_blob
DELETE FROM event_blobs WHERE ref = ? AND session = ?

-- The sessions that recorded snapshots of a workspace, and when last. It reads all
-- events.
-- name: snapshot_sessions
SELECT name, max(time) FROM events JOIN sessions ON sessions.id = events.session
WHERE type IN ('snapped', 'rewound') GROUP BY events.session ORDER BY 2

-- name: snapshots
SELECT {event_columns} FROM events WHERE session = (SELECT id FROM sessions WHERE name = ?)
	AND type IN ('snapped', 'rewound') ORDER BY id

-- name: referenced
SELECT EXISTS (SELECT 1 FROM event_blobs WHERE ref = ?)

-- What scanInfo reads. The title falls back to the first words of the user.
-- name: info
name, iif(title = '', words, title), created, updated, events, last, flow, parent, owner, model, workspace,
	input, output, cached, written, reasoning, cost, estimated, unpriced

-- name: session
SELECT {info} FROM sessions WHERE name = ?

-- ?3 is 1 for sessions without a parent, and 2 for the journals of schedules.
-- name: selected
(?1 = '' OR workspace = ?1) AND (?2 = '' OR parent = ?2) AND (?3 <> 1 OR parent = '') AND (?4 = '' OR owner = ?4)
	AND (?3 = 2) = (flow = '@schedule')

-- ?6 is 1 for sessions that may run (under_way) or wait: after events of these types no
-- call waits. ?7 and ?8 are the place in the list after which they come, or 0 and ''.
-- name: listed
{selected} AND (?6 = 0 OR under_way = 1 OR last NOT IN ('opened', 'model_said', 'model_failed', 'ended', 'stopped', 'interrupted')) AND (?7 = 0 OR updated < ?7 OR
	updated = ?7 AND id < coalesce((SELECT id FROM sessions WHERE name = ?8), 9223372036854775807))

-- name: sessions
SELECT {info} FROM sessions WHERE {listed} ORDER BY updated DESC, id DESC LIMIT ?5

-- A query of its own, because it uses the index sessions_under_way.
-- name: sessions_under_way
SELECT {info} FROM sessions WHERE under_way = 1 AND {listed} ORDER BY updated DESC, id DESC LIMIT ?5

-- name: find
SELECT {info} FROM sessions WHERE substr(name, 1, length(?1)) = ?1
ORDER BY name <> ?1, updated DESC, id DESC LIMIT ?2

-- Messages that contain words, by the full-text index. bm25 and snippet only
-- work in the query that has the MATCH.
-- name: matched
SELECT rowid >> 32 AS session, rowid & 0xffffffff AS seq, bm25(said) AS rank,
	snippet(said, 0, ?6, ?7, '…', 64) AS snippet
FROM said WHERE said MATCH ?8

-- The same by reading all messages, for words that the index does not have.
-- name: scanned
SELECT rowid >> 32 AS session, rowid & 0xffffffff AS seq, 0 AS rank,
	iif(at > 40, '…', '') || substr(text, max(at - 40, 1), min(at - 1, 40)) ||
	?6 || substr(text, at, length(?10)) || ?7 || substr(text, at + length(?10), 80) AS snippet
FROM (SELECT rowid, text, instr(lower(text), lower(?10)) AS at FROM said) WHERE at > 0

-- name: search_matched
WITH found AS ({matched} {with_short_words}), {best_hits}

-- name: search_scanned
WITH found AS ({scanned} {with_short_words}), {best_hits}

-- name: with_short_words
AND NOT EXISTS (SELECT 1 FROM json_each(?9) WHERE NOT instr(lower(text), lower(value)))

-- name: best_hits
best AS (SELECT session, seq, snippet, rank,
	row_number() OVER (PARTITION BY session ORDER BY rank, seq DESC) AS n FROM found)
SELECT {info}, seq, snippet FROM best JOIN sessions ON sessions.id = best.session
WHERE n = 1 AND {selected} ORDER BY rank, updated DESC LIMIT ?5

-- name: not_indexed
SELECT name FROM sessions WHERE indexed < events LIMIT 256

-- name: index_state
SELECT events, indexed FROM sessions WHERE name = ?

-- name: said_between
WITH s AS (SELECT id << 32 AS first FROM sessions WHERE name = ?1)
SELECT {event_columns} FROM s JOIN events ON events.id > s.first + ?2 AND events.id <= s.first + ?3
WHERE type IN ('user_said', 'model_said', 'titled', 'answered', 'ruled') ORDER BY events.id

-- name: set_indexed
UPDATE sessions SET indexed = ?3 WHERE name = ?1 AND indexed = ?2

-- name: add_said
INSERT INTO said (rowid, text) SELECT sessions.id << 32 | (value ->> 'seq'), value ->> 'text'
FROM sessions, json_each(?2) WHERE name = ?1

-- name: devices
SELECT endpoint, key, auth, name, language, added FROM devices WHERE owner = ? ORDER BY added DESC, endpoint

-- name: add_device
INSERT INTO devices (owner, endpoint, key, auth, name, language, added) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET key = excluded.key, auth = excluded.auth, name = excluded.name, language = excluded.language, added = excluded.added

-- name: remove_device
DELETE FROM devices WHERE owner = ? AND endpoint = ?

-- name: receivers
SELECT sessions.name, receivers.name, spec, at, until, failing, done, added
FROM receivers JOIN sessions ON sessions.id = receivers.session
WHERE sessions.name = ?1 OR ?1 = '' AND NOT done ORDER BY added, receivers.name

-- name: put_receiver
INSERT INTO receivers (session, name, spec, at, until, failing, done, added)
SELECT id, ?2, ?3, ?4, ?5, ?6, ?7, ?8 FROM sessions WHERE name = ?1
ON CONFLICT DO UPDATE SET spec = excluded.spec, at = excluded.at, until = excluded.until, failing = excluded.failing, done = excluded.done, added = excluded.added

-- name: remove_receiver
DELETE FROM receivers WHERE session = (SELECT id FROM sessions WHERE name = ?1) AND name = ?2

-- name: move_receiver
UPDATE receivers SET at = ?4, until = ?5, failing = ?6, done = ?7
WHERE session = (SELECT id FROM sessions WHERE name = ?1) AND name = ?2 AND until = ?3
