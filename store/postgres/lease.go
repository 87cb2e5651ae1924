package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/store/internal/summary"
)

// leases are those that a DB holds.
type leases struct {
	mu   sync.Mutex
	held map[string]*lease
}

// token returns that of the lease that the DB holds on a session, or 0.
func (ls *leases) token(session string) int64 {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l := ls.held[session]; l != nil {
		return l.token
	}
	return 0
}

// all returns the leases that are held.
func (ls *leases) all() []*lease {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return slices.Collect(maps.Values(ls.held))
}

// A lease is a row that expires, and a token that grows.
type lease struct {
	db      *DB
	session string
	token   int64
	renewed time.Time // guarded by leases.mu

	remembered bool // the store keeps who had it
	lost       chan struct{}
	losing     sync.Once
	once       sync.Once
	err        error
}

// Lock implements [openmanus.Locker]. It takes the lease over if that has expired. The
// error for a session that is driven names the machine and the process.
func (db *DB) Lock(ctx context.Context, session string) (openmanus.Lease, error) {
	if err := summary.CheckID(session); err != nil {
		return nil, err
	}
	return db.lock(ctx, session, false)
}

// lock takes the lease of what is called session. remembered says that the store keeps who
// had it.
func (db *DB) lock(ctx context.Context, session string, remembered bool) (openmanus.Lease, error) {
	holder := db.opts.Name
	if holder == "" {
		host, _ := os.Hostname() // only for people
		holder = fmt.Sprintf("%s, process %d", host, os.Getpid())
	}
	l := &lease{db: db, session: session, lost: make(chan struct{}), renewed: time.Now(), remembered: remembered}
	const take = `
WITH taken AS (
	INSERT INTO leases AS l (session, token, holder, expires, taken)
	VALUES (@session, nextval('lease_tokens'), @holder, ` + now + ` + @valid, ` + now + `)
	ON CONFLICT (session) DO UPDATE SET token = excluded.token, holder = excluded.holder, expires = excluded.expires,
		taken = excluded.taken
	WHERE l.expires < ` + now + `
	RETURNING token
), fenced AS (
	UPDATE sessions SET fence = token FROM taken WHERE name = @session
)
SELECT token FROM taken`
	args := pgx.NamedArgs{"session": session, "holder": text(holder), "valid": db.opts.Lease.Microseconds()}
	err := db.pool.QueryRow(ctx, take, args).Scan(&l.token)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, db.drivenBy(ctx, session)
	case err != nil:
		return nil, db.closedOr(fmt.Errorf("lock session %s: %w", session, err))
	}
	db.leases.mu.Lock()
	defer db.leases.mu.Unlock()
	if db.leases.held == nil {
		db.leases.held = make(map[string]*lease)
	}
	db.leases.held[session] = l
	return l, nil
}

// drivenBy returns the error for a session that another process drives.
func (db *DB) drivenBy(ctx context.Context, session string) error {
	var holder string
	err := db.pool.QueryRow(ctx, "SELECT holder FROM leases WHERE session = $1", session).Scan(&holder)
	if err != nil { // released just now
		return fmt.Errorf("session %s: %w", session, openmanus.ErrDriven)
	}
	return fmt.Errorf("session %s: %w (%s)", session, openmanus.ErrDriven, holder)
}

// Claim claims a workspace for this process, as Lock does a session. If another process
// has it, the error is [openmanus.ErrDriven], and holder is the name of that.
func (db *DB) Claim(ctx context.Context, workspace string) (lease openmanus.Lease, holder string, err error) {
	lease, err = db.lock(ctx, place(workspace), true)
	if errors.Is(err, openmanus.ErrDriven) {
		herr := db.pool.QueryRow(ctx, "SELECT holder FROM leases WHERE session = $1", place(workspace)).Scan(&holder)
		if herr != nil {
			return nil, "", db.closedOr(herr)
		}
		err = fmt.Errorf("workspace %s: %w (%s)", workspace, openmanus.ErrDriven, holder)
	}
	return lease, holder, err
}

// Serve says to others that this process works for them until the lease is released, or
// lost.
func (db *DB) Serve(ctx context.Context) (openmanus.Lease, error) {
	return db.lock(ctx, server(db.opts.Name), false)
}

// Holder returns the name of the process that has a workspace or had it last, if that
// process serves, or "".
func (db *DB) Holder(ctx context.Context, workspace string) (holder string, err error) {
	err = db.pool.QueryRow(ctx, `SELECT p.holder FROM leases p WHERE p.session = $1 AND EXISTS
		(SELECT FROM leases w WHERE w.session = $2 || p.holder AND w.expires >= `+now+`)`, place(workspace), server("")).Scan(&holder)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return holder, db.closedOr(err)
}

// server returns what the lease is called that says that a process serves.
func server(name string) string { return "process " + name }

// place returns what the lease of a workspace is called. A path may be longer than the
// name of a lease.
func place(workspace string) string {
	return fmt.Sprintf("workspace %x", sha256.Sum256([]byte(workspace)))
}

// LastTree returns the tree that any session in a workspace recorded last, or "" if none
// did. A host that claims the workspace makes its directory that tree.
func (db *DB) LastTree(ctx context.Context, workspace string) (tree string, err error) {
	err = db.pool.QueryRow(ctx, `SELECT tree FROM sessions WHERE workspace = $1 AND tree_at > 0
		ORDER BY tree_at DESC, id DESC LIMIT 1`, text(workspace)).Scan(&tree)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return tree, db.closedOr(err)
}

// Driven reports whether a process holds the session's lease. A database that cannot be
// asked counts as no.
func (db *DB) Driven(session string) (is bool) {
	err := db.pool.QueryRow(db.ctx, "SELECT EXISTS (SELECT 1 FROM leases WHERE session = $1 AND expires >= "+now+")", session).Scan(&is)
	return is && err == nil
}

// Lost implements [openmanus.Lease]. A lease is lost when another process has it, or
// when it could not be renewed for as long as it is valid.
func (l *lease) Lost() <-chan struct{} { return l.lost }

// Release implements [openmanus.Lease]. If the database cannot be reached, the error says
// when the lease expires by itself. Further calls return the first result.
func (l *lease) Release() error {
	l.once.Do(func() {
		l.db.leases.mu.Lock()
		if l.db.leases.held[l.session] == l {
			delete(l.db.leases.held, l.session)
		}
		l.db.leases.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), l.db.opts.Lease) // then it has expired anyway
		defer cancel()
		query := "DELETE FROM leases WHERE session = $1 AND token = $2"
		if l.remembered {
			query = "UPDATE leases SET expires = 0 WHERE session = $1 AND token = $2"
		}
		_, err := l.db.pool.Exec(ctx, query, l.session, l.token)
		if err != nil && l.db.ctx.Err() == nil {
			l.err = fmt.Errorf("release the lease of session %s: %w; it expires in %v", l.session, err, l.db.opts.Lease)
		}
	})
	return l.err
}

func (l *lease) lose() { l.losing.Do(func() { close(l.lost) }) }

// renew renews the leases until the store is closed.
func (db *DB) renew() {
	tick := time.NewTicker(db.opts.Lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			db.renewAll(db.leases.all())
		case <-db.ctx.Done():
			return
		}
	}
}

// renewAll renews leases. Those that others have, or that were not renewed in time, are
// lost.
func (db *DB) renewAll(all []*lease) {
	if len(all) == 0 {
		return
	}
	names, tokens := make([]string, len(all)), make([]int64, len(all))
	for i, l := range all {
		names[i], tokens[i] = l.session, l.token
	}
	begun := time.Now()
	ctx, cancel := context.WithTimeout(db.ctx, db.opts.Lease/3)
	defer cancel()
	rows, err := db.pool.Query(ctx, `
UPDATE leases SET expires = `+now+` + $3
FROM unnest($1::text[], $2::bigint[]) AS held (name, number)
WHERE session = name AND token = number
RETURNING token`, names, tokens, db.opts.Lease.Microseconds())
	var renewed []int64
	if err == nil {
		renewed, err = pgx.CollectRows(rows, pgx.RowTo[int64])
	}
	db.leases.mu.Lock()
	defer db.leases.mu.Unlock()
	mine := make(map[int64]bool)
	for _, token := range renewed {
		mine[token] = true
	}
	for _, l := range all {
		switch {
		case err == nil && mine[l.token]:
			l.renewed = begun
		case err == nil, time.Since(l.renewed) > db.opts.Lease:
			l.lose()
		}
	}
}
