-- What models used, by session, day and model, so that no sum reads events.

-- +goose Up
CREATE TABLE usage (
	session   INTEGER NOT NULL REFERENCES sessions (id),
	day       INTEGER NOT NULL, -- days since 1970, in UTC
	model     TEXT    NOT NULL,
	requests  INTEGER NOT NULL,
	input     INTEGER NOT NULL, -- tokens
	output    INTEGER NOT NULL,
	cached    INTEGER NOT NULL,
	written   INTEGER NOT NULL,
	reasoning INTEGER NOT NULL,
	estimated INTEGER NOT NULL, -- of input and output: no provider reported them
	unpriced  INTEGER NOT NULL, -- of input and output: their price is not known
	cost      INTEGER NOT NULL, -- billionths of a US dollar
	PRIMARY KEY (session, day, model)
) STRICT, WITHOUT ROWID;

ALTER TABLE sessions ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;

-- The sessions that are there. Events without a model are of the configured one;
-- what a session was copied with was used by another one.
INSERT INTO usage
SELECT session, day, model, count(*), sum(input), sum(output), sum(cached), sum(written), sum(reasoning), 0,
	sum(iif(cost = 0, input + output, 0)), sum(cost)
FROM (
	SELECT events.session, events.time / 86400000000 AS day,
		coalesce(nullif(body ->> '$.by', ''), sessions.model) AS model,
		coalesce(body ->> '$.usage.input_tokens', 0) AS input,
		coalesce(body ->> '$.usage.output_tokens', 0) AS output,
		coalesce(body ->> '$.usage.cached_tokens', 0) AS cached,
		coalesce(body ->> '$.usage.cache_write_tokens', 0) AS written,
		coalesce(body ->> '$.usage.reasoning_tokens', 0) AS reasoning,
		coalesce(body ->> '$.cost', 0) AS cost
	FROM events JOIN sessions ON sessions.id = events.session
	WHERE type IN ('model_said', 'model_failed', 'compacted')
		AND events.id & 0xffffffff > coalesce(
			(SELECT first.body ->> '$.from.seq' FROM events first WHERE first.id = events.session << 32 | 1), 0)
)
WHERE input + output > 0 OR cost > 0
GROUP BY session, day, model;

-- Sessions used what their summaries did, too.
UPDATE sessions SET
	input = input + coalesce((SELECT sum(body ->> '$.usage.input_tokens') FROM events
		WHERE session = sessions.id AND type = 'compacted'), 0),
	output = output + coalesce((SELECT sum(body ->> '$.usage.output_tokens') FROM events
		WHERE session = sessions.id AND type = 'compacted'), 0),
	cost = cost + coalesce((SELECT sum(body ->> '$.cost') FROM events
		WHERE session = sessions.id AND type = 'compacted'), 0),
	unpriced = coalesce((SELECT sum(coalesce(body ->> '$.usage.input_tokens', 0) + coalesce(body ->> '$.usage.output_tokens', 0))
		FROM events WHERE session = sessions.id AND type IN ('model_said', 'model_failed', 'compacted')
			AND coalesce(body ->> '$.cost', 0) = 0), 0);
