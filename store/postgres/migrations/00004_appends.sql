-- Appends cost half as much.

-- +goose Up
-- What an append changes in the row of its session is in no index, but the minute: so the new
-- version of a row stays beside the old one. The table is written anew, which takes a second
-- for some 100,000 sessions; appends of other processes wait meanwhile.
ALTER TABLE sessions SET (fillfactor = 60);
ALTER TABLE sessions ADD COLUMN minute bigint GENERATED ALWAYS AS (updated / 60000000) STORED; -- since 1970
DROP INDEX sessions_by_update;
DROP INDEX sessions_under_way;
CREATE INDEX sessions_by_minute ON sessions (minute);
CREATE INDEX sessions_under_way_by_minute ON sessions (minute) WHERE under_way;

-- The statement that appends has the session's row already, and need not look for it once
-- more for each row. What belongs to a session still goes with it.
ALTER TABLE events DROP CONSTRAINT events_session_fkey;
ALTER TABLE said DROP CONSTRAINT said_session_fkey;
ALTER TABLE usage DROP CONSTRAINT usage_session_fkey;

-- +goose StatementBegin
CREATE FUNCTION delete_with_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM events WHERE session = OLD.id;
	DELETE FROM said WHERE session = OLD.id;
	DELETE FROM usage WHERE session = OLD.id;
	RETURN OLD;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER delete_with_session BEFORE DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION delete_with_session();
