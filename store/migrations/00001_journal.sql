-- The journal: what sessions are, and what happened in them.
--
-- A migration that was released is never changed: what comes later is a file
-- of its own.

-- +goose Up
CREATE TABLE sessions (
	id        INTEGER PRIMARY KEY,
	name      TEXT    NOT NULL UNIQUE, -- the session id of everybody else
	created   INTEGER NOT NULL,        -- all times are microseconds since 1970
	updated   INTEGER NOT NULL,
	events    INTEGER NOT NULL,        -- how many, which is the last one's number
	last      TEXT    NOT NULL,        -- the last one's type

	-- What listings show, kept as events come so that no list folds a journal.
	title     TEXT    NOT NULL, -- the last one given
	words     TEXT    NOT NULL, -- the first ones that a person said
	flow      TEXT    NOT NULL,
	parent    TEXT    NOT NULL,
	model     TEXT    NOT NULL, -- of the last configuration, like workspace
	workspace TEXT    NOT NULL,
	input     INTEGER NOT NULL, -- tokens, summed
	output    INTEGER NOT NULL,
	cached    INTEGER NOT NULL,
	written   INTEGER NOT NULL,
	reasoning INTEGER NOT NULL,
	cost      INTEGER NOT NULL  -- billionths of a US dollar
) STRICT;

CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent <> '';

-- id is session << 32 | seq: the events of a session lie together, and their
-- order needs no index of its own, which would be one more page to write in
-- every commit.
CREATE TABLE events (
	id      INTEGER PRIMARY KEY,
	session INTEGER NOT NULL REFERENCES sessions (id),
	time    INTEGER NOT NULL,
	type    TEXT    NOT NULL,
	key     TEXT    NOT NULL,
	body    TEXT    NOT NULL, -- JSON; large strings are blobs
	UNIQUE (session, key)
) STRICT;

-- Which session speaks of which blob: a blob that none speaks of is collected.
CREATE TABLE event_blobs (
	ref     TEXT    NOT NULL,
	session INTEGER NOT NULL REFERENCES sessions (id),
	PRIMARY KEY (ref, session)
) STRICT, WITHOUT ROWID;

CREATE INDEX event_blobs_by_session ON event_blobs (session);
