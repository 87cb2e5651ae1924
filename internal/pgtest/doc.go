// Package pgtest starts PostgreSQL for tests, on systems where it runs as another user than root.
package pgtest
