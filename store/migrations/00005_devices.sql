-- The browsers that users want messages on, so that a server that starts knows them.

-- +goose Up
CREATE TABLE devices (
	owner    TEXT    NOT NULL,
	endpoint TEXT    NOT NULL, -- an address at the service of the browser's maker
	key      TEXT    NOT NULL, -- for which messages are encrypted
	auth     TEXT    NOT NULL,
	name     TEXT    NOT NULL,
	language TEXT    NOT NULL,
	added    INTEGER NOT NULL, -- microseconds since 1970
	PRIMARY KEY (owner, endpoint)
) STRICT, WITHOUT ROWID;
