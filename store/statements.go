package store

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

//go:embed queries.sql
var queriesSQL string

var (
	queryHead = regexp.MustCompile(`(?m)^-- name: (\w+)\n`)
	queryPart = regexp.MustCompile(`\{\w+\}`)
)

// queryTexts returns the queries of queries.sql by name.
var queryTexts = sync.OnceValue(func() map[string]string {
	texts := make(map[string]string)
	heads := queryHead.FindAllStringSubmatchIndex(queriesSQL, -1)
	for i, h := range heads {
		end := len(queriesSQL)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		text, _, _ := strings.Cut(queriesSQL[h[1]:end], "\n\n")
		texts[queriesSQL[h[2]:h[3]]] = text
	}
	return texts
})

// queryText returns a query with its parts filled in.
func queryText(name string) string {
	text, ok := queryTexts()[name]
	if !ok {
		panic("store: queries.sql has no " + name)
	}
	return queryPart.ReplaceAllStringFunc(text, func(part string) string { return queryText(part[1 : len(part)-1]) })
}

// statements are the prepared statements of a connection, or of a pool of
// connections. They prepare a query when it is used for the first time, which
// takes longer than to run it. They are safe for concurrent use if db is.
type statements struct {
	db interface {
		PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	}

	mu     sync.Mutex
	byName map[string]*sql.Stmt
}

// get returns the statement for a query of queries.sql.
func (s *statements) get(name string) (*sql.Stmt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stmt := s.byName[name]; stmt != nil {
		return stmt, nil
	}
	// A statement outlives the caller, so it has no context of the caller's.
	stmt, err := s.db.PrepareContext(context.Background(), queryText(name))
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", name, err)
	}
	if s.byName == nil {
		s.byName = make(map[string]*sql.Stmt)
	}
	s.byName[name] = stmt
	return stmt, nil
}

// exec runs a query of queries.sql that returns no rows.
func (s *statements) exec(name string, args ...any) (sql.Result, error) {
	stmt, err := s.get(name)
	if err != nil {
		return nil, err
	}
	return stmt.Exec(args...)
}

// query runs a query of queries.sql. The caller closes the rows.
func (s *statements) query(name string, args ...any) (*sql.Rows, error) {
	stmt, err := s.get(name)
	if err != nil {
		return nil, err
	}
	return stmt.Query(args...)
}

// row scans the first row of a query. The error is [sql.ErrNoRows] if there is
// none.
func (s *statements) row(name string, args []any, into ...any) error {
	stmt, err := s.get(name)
	if err != nil {
		return err
	}
	return stmt.QueryRow(args...).Scan(into...)
}

// close closes the statements. Closing their connection does not close them, and
// SQLite keeps a connection with open statements open.
func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, stmt := range s.byName {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errs...)
}

// query runs a query that only reads. It does not start if ctx has ended. Once
// started, it takes microseconds, which is not worth the goroutine with which
// database/sql would watch ctx.
func (db *DB) query(ctx context.Context, name string, args ...any) (*sql.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rows, err := db.reads.query(name, args...)
	return rows, db.explain(err)
}
