-- The index has answers, reasons and the arguments of calls too: it is made anew, by the
-- next search.

-- +goose Up
DROP TABLE said;
CREATE VIRTUAL TABLE said USING fts5 (text, tokenize = 'trigram');
UPDATE sessions SET indexed = 0;
