package data

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/openmanus-go/openmanus/internal/ctxio"
)

// Options say what to read, and how much at most.
type Options struct {
	// Table names the sheet of a workbook, the table of a database or the
	// member of a JSON object. "" takes the first sheet or member that has
	// rows, or the table with the most.
	Table string

	// Encoding is the character set of a text, by its name in the Encoding Standard of the
	// WHATWG. "": it is UTF-8, or what the text itself shows, or a guess, with a note.
	Encoding string

	MaxBytes int64 // of the file; 0 means 256 MiB
	MaxCells int   // rows times columns; 0 means 20 million. Rows beyond it are left out, with a note
}

// formats are those that Read knows.
const formats = "CSV, TSV, JSON, JSON lines, Parquet, XLSX and SQLite"

// Read reads a table from the named file of fsys. It detects the format from
// the first bytes, or from the ending of the name for formats of text. It
// returns soon after ctx is done.
func Read(ctx context.Context, fsys fs.FS, name string, o Options) (*Table, error) {
	data, err := readFile(ctx, fsys, name, cmp.Or(o.MaxBytes, 256<<20))
	if err != nil {
		return nil, err
	}
	return Parse(ctx, name, data, o)
}

// Parse is [Read] for the content of a file, whatever its size. It does not change
// data. Only two parts of the name matter: its extension, and its last element,
// which begins [Table.Name].
func Parse(ctx context.Context, name string, data []byte, o Options) (t *Table, err error) {
	o.MaxCells = cmp.Or(o.MaxCells, 20_000_000)
	// The libraries for the formats panic on some broken files.
	defer func() {
		if p := recover(); p != nil {
			t, err = nil, fmt.Errorf("%s: the file is broken (%v)", name, p)
		}
	}()
	t, err = readerFor(name, data)(ctx, data, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t.Name = path.Base(name) + t.Name
	if len(t.Columns) == 0 {
		return nil, fmt.Errorf("%s: it contains no table", name)
	}
	return t, nil
}

// readFile reads at most limit bytes. It fails if the file grows meanwhile, as
// a file that is being written does.
func readFile(ctx context.Context, fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory", name)
	case info.Size() > limit:
		return nil, fmt.Errorf("%s has %s; at most %s are read: make a smaller extract of it first", name,
			humanize.IBytes(uint64(info.Size())), humanize.IBytes(uint64(limit)))
	}
	var b bytes.Buffer
	b.Grow(int(info.Size()) + bytes.MinRead)
	if _, err := io.Copy(&b, io.LimitReader(ctxio.NewReader(ctx, f), limit+1)); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if int64(b.Len()) > limit {
		return nil, fmt.Errorf("%s grew while it was read", name)
	}
	return b.Bytes(), nil
}

// A readFunc reads a table of one format. The name of the result is only that
// of the sheet or table within the file.
type readFunc func(ctx context.Context, data []byte, o Options) (*Table, error)

// readerFor returns the function that reads a file, which may only fail.
func readerFor(name string, data []byte) readFunc {
	switch {
	case bytes.HasPrefix(data, []byte("PAR1")):
		return readParquet
	case bytes.HasPrefix(data, []byte("SQLite format 3\x00")):
		return readSQLite
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		return readXLSX
	case bytes.HasPrefix(data, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		return refuse("an old Excel file (.xls), or an encrypted one: " +
			"save it as XLSX without a password, or as CSV")
	case bytes.HasPrefix(data, []byte("\x1f\x8b")):
		return refuse("compressed with gzip: unpack it first (gunzip)")
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".json", ".jsonl", ".ndjson":
		return readJSON
	case ".tsv", ".tab":
		return readTSV
	case ".parquet", ".xlsx", ".xlsm", ".sqlite", ".sqlite3", ".db":
		return refuse("its content is not of the format that its name claims; it may be cut off or encrypted")
	case ".csv", ".txt":
		return readCSV
	}
	trimmed := bytes.TrimLeft(data[:min(len(data), 512)], " \t\r\n\ufeff")
	if bytes.HasPrefix(trimmed, []byte("[")) || bytes.HasPrefix(trimmed, []byte("{")) {
		return readJSON
	}
	return readCSV
}

// refuse returns a readFunc that fails, for files that could be converted.
func refuse(why string) readFunc {
	return func(context.Context, []byte, Options) (*Table, error) { return nil, errors.New(why) }
}

// cells collects the texts of a table, column by column, until their kinds are
// inferred.
type cells struct {
	names   []string
	columns [][]string // each has as many cells as there are rows
	rows    int
	max     int // rows times columns
	cut     bool
}

// add adds a row. A shorter one is padded; a longer one adds columns. It
// returns false if there is no room.
func (c *cells) add(row []string) bool {
	for len(c.names) < len(row) {
		c.widen(fmt.Sprintf("column %d", len(c.names)+1))
	}
	if (c.rows+1)*max(len(c.names), 1) > c.max {
		c.cut = true
		return false
	}
	for i := range c.columns {
		v := ""
		if i < len(row) {
			v = row[i]
		}
		c.columns[i] = append(c.columns[i], v)
	}
	c.rows++
	return true
}

// widen adds a column, which is empty in the rows so far.
func (c *cells) widen(name string) {
	c.names = append(c.names, name)
	c.columns = append(c.columns, make([]string, c.rows))
}

// table infers the kinds of the columns. Columns without a name, or with one
// that another has, get a number.
func (c *cells) table(ctx context.Context) (*Table, error) {
	t := &Table{}
	seen := make(map[string]int)
	for i, name := range c.names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if name = strings.Join(strings.Fields(name), " "); name == "" {
			name = fmt.Sprintf("column %d", i+1)
		}
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s (%d)", name, seen[name])
		}
		col, notes := infer(name, c.columns[i])
		t.Columns = append(t.Columns, col)
		t.Notes = append(t.Notes, notes...)
	}
	if c.cut {
		t.Notes = append(t.Notes, fmt.Sprintf("only the first %s rows were read: the table is larger than %s cells",
			FormatNumber(float64(c.rows)), FormatNumber(float64(c.max))))
	}
	return t, nil
}
