package data

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// readSQLite reads a table or view from a copy in memory, so that the file is
// neither locked nor written. Nothing in its schema may run functions with side
// effects, and nothing may write.
func readSQLite(ctx context.Context, data []byte, o Options) (t *Table, err error) {
	var note string
	// Bytes 18 and 19 are the versions for writing and reading: 2 is a
	// write-ahead log, which is another file and has none in memory.
	if len(data) > 20 && data[18] == 2 {
		data = slices.Clone(data)
		data[18], data[19] = 1, 1
		note = "the database has a write-ahead log; changes that are only in the log were not read"
	}
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := deserialize(conn, data); err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, "pragma trusted_schema=off; pragma query_only=on"); err != nil {
		return nil, err
	}
	tables, err := sqliteTables(ctx, conn)
	if err != nil {
		return nil, err
	}
	name := o.Table
	if name == "" {
		if name, err = largest(ctx, conn, tables); err != nil {
			return nil, err
		}
	} else if !slices.Contains(tables, name) {
		return nil, fmt.Errorf("there is no table %q; there are %s", name, strings.Join(tables, ", "))
	}
	if t, err = readRows(ctx, conn, name, o.MaxCells); err != nil {
		return nil, fmt.Errorf("table %q: %w", name, err)
	}
	t.Name, t.Tables = " ["+name+"]", tables
	if len(tables) > 1 {
		t.Notes = append(t.Notes,
			fmt.Sprintf("the table %q was read; the tables are %s", name, strings.Join(tables, ", ")))
	}
	if note != "" {
		t.Notes = append(t.Notes, note)
	}
	return t, nil
}

// deserialize opens the bytes of a database on a connection.
func deserialize(conn *sql.Conn, data []byte) error {
	return conn.Raw(func(c any) error {
		d, ok := c.(interface{ Deserialize(buf []byte) error })
		if !ok {
			return errors.New("the SQLite driver cannot open a database in memory")
		}
		return d.Deserialize(data)
	})
}

// ident quotes a name for SQL.
func ident(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// sqliteTables returns the names of all tables, then of all views.
func sqliteTables(ctx context.Context, conn *sql.Conn) (names []string, err error) {
	rows, err := conn.QueryContext(ctx, `select name from sqlite_master
		where type in ('table', 'view') and name not like 'sqlite_%' order by type, name`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n string
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		names = append(names, n)
	}
	if len(names) == 0 && rows.Err() == nil {
		return nil, errors.New("the database has no tables")
	}
	return names, rows.Err()
}

// largest returns the first of the tables with the most rows.
func largest(ctx context.Context, conn *sql.Conn, names []string) (string, error) {
	best, most := names[0], -1
	for _, n := range names {
		var rows int
		if err := conn.QueryRowContext(ctx, "select count(*) from "+ident(n)).Scan(&rows); err != nil {
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			continue // a broken view: reading it by name fails with the reason
		}
		if rows > most {
			best, most = n, rows
		}
	}
	return best, nil
}

// sqliteColumns returns the names of the columns of a table or view.
func sqliteColumns(ctx context.Context, conn *sql.Conn, table string) ([]string, error) {
	rows, err := conn.QueryContext(ctx, "select * from "+ident(table)+" limit 0")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	return names, errors.Join(err, rows.Err())
}

// readRows reads the rows of a table or view, as many as limit cells allow. SQLite has
// no types of columns, only of values, so all become text first. The driver would make
// times and truth values of what stands in columns that are declared so: of an expression
// it knows no declaration, and + changes nothing.
func readRows(ctx context.Context, conn *sql.Conn, table string, limit int) (*Table, error) {
	names, err := sqliteColumns(ctx, conn, table)
	if err != nil {
		return nil, err
	}
	c := cells{max: limit}
	var list []string
	for _, n := range names {
		c.widen(n)
		list = append(list, "+"+ident(n))
	}
	rows, err := conn.QueryContext(ctx, "select "+strings.Join(list, ", ")+" from "+ident(table))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	values, row := make([]any, len(names)), make([]string, len(names))
	at := make([]any, len(names))
	for i := range values {
		at[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(at...); err != nil {
			return nil, err
		}
		for i, v := range values {
			row[i] = sqlCell(v)
		}
		if !c.add(row) {
			break
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return c.table(ctx)
}

// sqlCell writes a value as the text of a cell.
func sqlCell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return fmt.Sprintf("(%d bytes)", len(v))
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return FormatFloat(v, 64)
	}
	return fmt.Sprint(v)
}
