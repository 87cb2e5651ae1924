-- The content of blobs may be in an object store, and workspaces go from machine to machine.

-- +goose Up
ALTER TABLE blobs ALTER COLUMN data DROP NOT NULL;
ALTER TABLE blobs ADD COLUMN object text; -- the object that has the content, if data is null

-- Objects that no blob has any more and that are not removed yet.
CREATE TABLE dead_objects (
	object text NOT NULL COLLATE "C" PRIMARY KEY
);

-- What all processes spend together, in billionths of a US dollar.
CREATE TABLE purses (
	name  text   NOT NULL COLLATE "C" PRIMARY KEY,
	spent bigint NOT NULL,
	at    bigint NOT NULL
);

CREATE INDEX sessions_by_owner ON sessions (owner, created) WHERE parent = '';

-- When a lease was taken: those of workspaces are kept for a while after their release.
ALTER TABLE leases ADD COLUMN taken bigint NOT NULL DEFAULT 0;

-- What a session recorded last of the files in its workspace, and when. A workspace is
-- what the session says that did so last, of all that work there.
ALTER TABLE sessions ADD COLUMN tree text NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN tree_at bigint NOT NULL DEFAULT 0;
CREATE INDEX sessions_by_workspace ON sessions (workspace, tree_at) WHERE tree_at > 0;
