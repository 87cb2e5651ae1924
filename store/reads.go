package store

import (
	"context"
	"database/sql"
	"sync"
)

// reads are the statements of those who read, by their texts, which are few:
// to prepare one takes longer than to run it.
type reads struct {
	mu sync.Mutex
	of map[string]*sql.Stmt
}

func (r *reads) prepared(ctx context.Context, db *sql.DB, text string) (*sql.Stmt, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if stmt := r.of[text]; stmt != nil {
		return stmt, nil
	}
	stmt, err := db.PrepareContext(ctx, text) // closed with db
	if err != nil {
		return nil, err
	}
	if r.of == nil {
		r.of = make(map[string]*sql.Stmt)
	}
	r.of[text] = stmt
	return stmt, nil
}

// query runs a query that only reads. ctx ends it before it has begun: what is
// over in microseconds is not worth the goroutine that would watch ctx.
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
