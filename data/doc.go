// Package data reads tables from files: CSV, TSV, JSON, JSON lines, Parquet,
// XLSX and SQLite.
//
//	t, err := data.Read(ctx, os.DirFS("."), "sales.csv", data.Options{})
//	...
//	revenue := t.Column("revenue")
//
// A [Table] has columns of numbers, times or text. Read infers these kinds from
// the cells, for formats with types of their own too: a column of texts such as
// "$1,200" becomes one of numbers with a unit. Guesses, and what was left out,
// are in [Table.Notes].
//
// Files are untrusted. Their size is limited, and a broken file is an error.
package data
