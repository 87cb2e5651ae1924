-- Where what happens in sessions is posted, and how far that has come.

-- +goose Up
CREATE TABLE receivers (
	session bigint  NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
	name    text    NOT NULL,
	spec    bytea   NOT NULL, -- JSON; it may have secrets
	at      text    NOT NULL,
	until   bigint  NOT NULL, -- these are microseconds since 1970, or 0
	failing bigint  NOT NULL,
	done    boolean NOT NULL,
	added   bigint  NOT NULL,
	PRIMARY KEY (session, name)
);
