-- Whose sessions they are, and the words that were said in them.

-- +goose Up
ALTER TABLE sessions ADD COLUMN owner TEXT NOT NULL DEFAULT '';

-- What was said up to this event is in the index. It is brought up to date
-- when somebody searches, so that no append waits for it.
ALTER TABLE sessions ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0;

-- rowid is the id of the event. Trigrams find words of languages that put no
-- blanks between them.
CREATE VIRTUAL TABLE said USING fts5 (text, tokenize = 'trigram');
