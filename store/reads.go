package store

import (
	"context"
	"database/sql"
	"sync"
)

// reads caches prepared statements of readers by their text. Preparing one
// takes longer than running it, and there are few texts.
type reads struct {
	mu    sync.Mutex
	stmts map[string]*sql.Stmt
}

func (r *reads) prepared(ctx context.Context, db *sql.DB, text string) (*sql.Stmt, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if stmt := r.stmts[text]; stmt != nil {
		return stmt, nil
	}
	stmt, err := db.PrepareContext(ctx, text) // closed with db
	if err != nil {
		return nil, err
	}
	if r.stmts == nil {
		r.stmts = make(map[string]*sql.Stmt)
	}
	r.stmts[text] = stmt
	return stmt, nil
}

// query runs a query that only reads. It does not start if ctx has ended. Once
// started, it takes microseconds, which is not worth the goroutine with which
// database/sql would watch ctx.
func (db *DB) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	stmt, err := db.reads.prepared(ctx, db.read, text)
	if err != nil {
		return nil, db.explain(err)
	}
	rows, err := stmt.QueryContext(ctx, args...)
	return rows, db.explain(err)
}
