-- The journal: what sessions are, and what happened in them.
--
-- A migration that was released is never changed: what comes later is a file
-- of its own. A migration can run while older programs use the database.

-- +goose Up
CREATE SEQUENCE lease_tokens AS bigint;

CREATE TABLE sessions (
	id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name      text   NOT NULL COLLATE "C" UNIQUE, -- the session id of everybody else
	fence     bigint NOT NULL,                    -- the token of the last lease; 0: there was none
	created   bigint NOT NULL,                    -- all times are microseconds since 1970
	updated   bigint NOT NULL,
	events    bigint NOT NULL,                    -- how many, which is the last one's number
	last      text   NOT NULL,                    -- the last one's type
	under_way boolean NOT NULL,                   -- false if one that folded all events said that it rests

	-- What listings show, kept as events come so that no list folds a journal.
	title     text   NOT NULL, -- the last one given
	words     text   NOT NULL, -- the first ones that a person said
	flow      text   NOT NULL,
	parent    text   NOT NULL,
	owner     text   NOT NULL,
	model     text   NOT NULL, -- of the last configuration, like workspace
	workspace text   NOT NULL,
	input     bigint NOT NULL, -- tokens, summed
	output    bigint NOT NULL,
	cached    bigint NOT NULL,
	written   bigint NOT NULL,
	reasoning bigint NOT NULL,
	estimated bigint NOT NULL, -- of input and output: no provider reported them
	unpriced  bigint NOT NULL, -- of input and output: their price is not known
	cost      bigint NOT NULL  -- billionths of a US dollar
);

CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent <> '';
CREATE INDEX sessions_under_way ON sessions (updated) WHERE under_way;
CREATE INDEX sessions_by_update ON sessions (updated, id);

-- Who drives which session. A session may be leased before it has events.
CREATE TABLE leases (
	session text   NOT NULL COLLATE "C" PRIMARY KEY,
	token   bigint NOT NULL,
	holder  text   NOT NULL, -- for people
	expires bigint NOT NULL
);

CREATE TABLE events (
	session bigint NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
	seq     bigint NOT NULL,
	time    bigint NOT NULL,
	type    text   NOT NULL,
	digest  bytea  NOT NULL, -- SHA-256 of key, which may be too long for an index
	key     bytea  NOT NULL,
	body    bytea  NOT NULL, -- JSON; large strings are blobs
	PRIMARY KEY (session, seq),
	UNIQUE (session, digest)
);

CREATE TABLE blobs (
	ref  text   NOT NULL COLLATE "C" PRIMARY KEY,
	put  bigint NOT NULL, -- the last time
	data bytea  NOT NULL
);

-- Which session speaks of which blob: a blob that none speaks of is collected.
CREATE TABLE event_blobs (
	ref     text   NOT NULL COLLATE "C" REFERENCES blobs (ref),
	session bigint NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
	PRIMARY KEY (ref, session)
);

CREATE INDEX event_blobs_by_session ON event_blobs (session);

-- What was said, to search in.
CREATE TABLE said (
	session bigint NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
	seq     bigint NOT NULL,
	text    text   NOT NULL,
	PRIMARY KEY (session, seq)
);

-- What models used, by session, day and model, so that no sum reads events.
CREATE TABLE usage (
	session   bigint NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
	day       bigint NOT NULL, -- days since 1970, in UTC
	model     text   NOT NULL,
	requests  bigint NOT NULL,
	input     bigint NOT NULL, -- tokens
	output    bigint NOT NULL,
	cached    bigint NOT NULL,
	written   bigint NOT NULL,
	reasoning bigint NOT NULL,
	estimated bigint NOT NULL,
	unpriced  bigint NOT NULL,
	cost      bigint NOT NULL,
	PRIMARY KEY (session, day, model)
);

-- The browsers that users want messages on.
CREATE TABLE devices (
	owner    text   NOT NULL,
	endpoint text   NOT NULL,
	key      text   NOT NULL,
	auth     text   NOT NULL,
	name     text   NOT NULL,
	language text   NOT NULL,
	added    bigint NOT NULL,
	PRIMARY KEY (owner, endpoint)
);
