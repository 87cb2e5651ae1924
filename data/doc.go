// Package data reads tables from files: CSV, TSV, JSON, JSON lines, Parquet,
// XLSX and SQLite. Whatever a file says of its types, a column comes out as
// numbers, times or text, with what had to be decided on the way in the notes.
//
//	t, err := data.Read(ctx, os.DirFS("."), "sales.csv", data.Options{})
//	...
//	revenue := t.Column("revenue")
//
// Files are untrusted: sizes are limited, and a broken file is an error.
package data
