-- Where what happens in sessions is posted, and how far that has come.

-- +goose Up
CREATE TABLE receivers (
	session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
	name    TEXT    NOT NULL,
	spec    BLOB    NOT NULL, -- JSON; it may have secrets
	at      TEXT    NOT NULL,
	until   INTEGER NOT NULL, -- these are microseconds since 1970, or 0
	failing INTEGER NOT NULL,
	done    INTEGER NOT NULL, -- 0 or 1
	added   INTEGER NOT NULL,
	PRIMARY KEY (session, name)
) STRICT, WITHOUT ROWID;
