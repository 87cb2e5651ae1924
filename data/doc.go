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
// # Kinds
//
// A column is one of numbers if at least 99 in 100 of its cells are; the others
// become missing, with a note. Signs of currencies, % and the marks between
// thousands are understood, and the comma as the decimal mark where the cells admit
// no other reading. Numbers that begin with a zero, such as postcodes, make a
// column of text. A column is one of times if all of its cells are, in one layout
// of layouts.txt or as a quarter (2024-Q1); month/day comes before day/month, with
// a note where both are possible. Whole numbers from 1000 to 2300 in a column whose name
// speaks of years are years. Everything else is text.
//
// Empty cells and the usual words for nothing (NA, null, #N/A, "-" and the like)
// are missing values in every kind: NaN, or "" in text.
//
// Times are seconds since 1970 in UTC, as float64. A time without a zone is taken
// as UTC, so that what is shown is what the file says.
//
// # Limits
//
// Files are untrusted. Their size is limited, and a broken file is an error.
package data
