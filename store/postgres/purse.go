package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// Spend implements [journal.Purse]. [DB.Sweep] forgets the amounts of names that were not
// used for a month.
func (db *DB) Spend(ctx context.Context, name string, amount, most int64) (spent int64, ok bool, err error) {
	err = db.pool.QueryRow(ctx, `INSERT INTO purses AS p (name, spent, at)
		SELECT $1, $2::bigint, `+now+` WHERE $3::bigint < 0 OR $2::bigint <= $3::bigint
		ON CONFLICT (name) DO UPDATE SET spent = p.spent + excluded.spent, at = excluded.at
			WHERE $3::bigint < 0 OR p.spent + excluded.spent <= $3::bigint
		RETURNING spent`, text(name), amount, most).Scan(&spent)
	if !errors.Is(err, pgx.ErrNoRows) {
		return spent, err == nil, db.closedOr(err)
	}
	err = db.pool.QueryRow(ctx, "SELECT coalesce((SELECT spent FROM purses WHERE name = $1), 0)", text(name)).Scan(&spent)
	return spent, false, db.closedOr(err)
}

// Tally implements [journal.Tally]: how many sessions an owner has, without child
// sessions, how many of them were created since a time, and how many are under way.
func (db *DB) Tally(ctx context.Context, owner string, since time.Time) (all, created, underWay int, err error) {
	err = db.pool.QueryRow(ctx, `SELECT count(*), count(*) FILTER (WHERE created >= $2), count(*) FILTER (WHERE under_way)
		FROM sessions WHERE owner = $1 AND parent = ''`, text(owner), since.UnixMicro()).Scan(&all, &created, &underWay)
	return all, created, underWay, db.closedOr(err)
}
