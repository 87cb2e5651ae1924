-- Which sessions may have something to do, so that a server that starts need not
-- read all of them: 0 if one that folded all its events said that it rests.

-- +goose Up
ALTER TABLE sessions ADD COLUMN under_way INTEGER NOT NULL DEFAULT 1;

CREATE INDEX sessions_under_way ON sessions (under_way) WHERE under_way = 1;
