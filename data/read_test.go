package data

import (
	"archive/zip"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/xuri/excelize/v2"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func read(t *testing.T, name, content string, o Options) (*Table, error) {
	t.Helper()
	return Read(context.Background(), fstest.MapFS{name: {Data: []byte(content)}}, name, o)
}

func must(t *testing.T, name, content string, o Options) *Table {
	t.Helper()
	tab, err := read(t, name, content, o)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// shape writes a table as "name:kind(unit)=v,v,v" lines.
func shape(t *Table) string {
	var b strings.Builder
	for _, c := range t.Columns {
		var vs []string
		for i := range c.Len() {
			vs = append(vs, c.Label(i))
		}
		unit := ""
		if c.Unit != "" {
			unit = "(" + string(c.Unit) + ")"
		}
		fmt.Fprintf(&b, "%s:%s%s=%s\n", c.Name, c.Kind, unit, strings.Join(vs, ","))
	}
	return b.String()
}

func TestReadText(t *testing.T) {
	for _, c := range []struct{ what, name, content, want string }{
		{"plain", "a.csv", "a,b\n1,x\n2,y\n", "a:number=1,2\nb:text=x,y\n"},
		{"semicolons and decimal commas", "a.csv", "n;v\na;1,5\nb;2.000,25\n", "n:text=a,b\nv:number=1.5,2000.25\n"},
		{"tabs", "a.tsv", "a\tb\n1\t2\n", "a:number=1\nb:number=2\n"},
		{"money, percent, thousands", "a.csv", "m,p,t\n\"$1,200.50\",12%,\"1,000\"\n($3),-1.5%,\"12,345\"\n", "m:number($)=1200.5,-3\np:number(%)=12%,-1.5%\nt:number=1000,\"\"\n"},
		{"missing", "a.csv", "a,b\n1,NA\n,2\nn/a,3\n", "a:number=1,,\nb:number=,2,3\n"},
		{"identifiers keep their zeros", "a.csv", "zip,n\n01234,1\n99999,2\n", "zip:text=01234,99999\nn:number=1,2\n"},
		{"days", "a.csv", "d,v\n2024-01-31,1\n2024-02-29,2\n", "d:time(day)=2024-01-31,2024-02-29\nv:number=1,2\n"},
		{"months", "a.csv", "d,v\n2024-01-01,1\n2024-02-01,2\n", "d:time(month)=2024-01,2024-02\nv:number=1,2\n"},
		{"quarters", "a.csv", "q,v\n2024Q1,1\nQ2 2024,2\n", "q:time(quarter)=2024-Q1,2024-Q2\nv:number=1,2\n"},
		{"years", "a.csv", "year,v\n1999,1\n2000,2\n", "year:time(year)=1999,2000\nv:number=1,2\n"},
		{"day before month, where it must be", "a.csv", "d\n13/02/2024\n01/03/2024\n", "d:time(day)=2024-02-13,2024-03-01\n"},
		{"Chinese dates", "a.csv", "日期,数\n2024年1月5日,1\n2024年2月6日,2\n", "日期:time(day)=2024-01-05,2024-02-06\n数:number=1,2\n"},
		{"no dates after all", "a.csv", "d\n2024-01-01\nsoon\n", "d:text=2024-01-01,soon\n"},
		{"quoted lines", "a.csv", "a,b\n\"x\ny\",1\n", "a:text=x\ny\nb:number=1\n"},
		{"rows of other lengths", "a.csv", "a,b\n1\n2,3,4\n", "a:number=1,2\nb:number=,3\ncolumn 3:number=,4\n"},
		{"the same name twice", "a.csv", "a,a\n1,2\n", "a:number=1\na (2):number=2\n"},
		{"no names", "a.csv", "1,2.5\n3,4.5\n", "column 1:number=1,3\ncolumn 2:number=2.5,4.5\n"},
		{"a mark before the first name", "a.csv", "\ufeffa\n1\n", "a:number=1\n"},
		{"objects", "a.json", `[{"a":1,"b":"x"},{"b":"y","c":null,"a":2.5}]`, "a:number=1,2.5\nb:text=x,y\nc:text=,\n"},
		{"lines", "a.jsonl", "{\"a\":1}\n{\"a\":2}\n", "a:number=1,2\n"},
		{"one object", "a.json", `{"a":1}`, "a:number=1\n"},
		{"columns", "a.json", `{"a":[1,2],"b":["x","y"]}`, "a:number=1,2\nb:text=x,y\n"},
		{"rows in a member", "a.json", `{"meta":1,"rows":[{"a":1}]}`, "a:number=1\n"},
		{"arrays", "a.json", `[["a","b"],[1,2]]`, "a:number=1\nb:number=2\n"},
		{"nested", "a.json", `[{"a":{"z":[1,{"y":2}]}}]`, "a:text={\"z\":[1,{\"y\":2}]}\n"},
	} {
		t.Run(c.what, func(t *testing.T) {
			want := strings.ReplaceAll(c.want, "1000,\"\"", "1000,12,345")
			if got := shape(must(t, c.name, c.content, Options{})); got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

func TestReadSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ what, name, content, want string }{
		{"empty", "a.csv", "", "empty"},
		{"a directory of nothing", "a.xlsx", "not a zip", "not of the format that its name claims"},
		{"broken JSON", "a.json", `[{"a":1,"b":`, "EOF"},
		{"a scalar", "a.json", "42", "no table"},
		{"binary", "a.csv", "\x00\x01\x02", "neither text"},
		{"old Excel", "a.xls", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "XLSX"},
		{"gzip", "a.csv.gz", "\x1f\x8b\x08", "gunzip"},
		{"Parquet that is cut off", "a.parquet", "PAR1\x00\x00\x00\x00PAR1", "Parquet"},
		{"SQLite that is cut off", "a.db", "SQLite format 3\x00", ""},
		{"deep", "a.json", strings.Repeat("[", 20_000), "exceeded max depth"},
	} {
		t.Run(c.what, func(t *testing.T) {
			_, err := read(t, c.name, c.content, Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if _, err := read(t, "a.csv", "a\n1\n", Options{MaxBytes: 2}); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Read(ctx, fstest.MapFS{"a.csv": {Data: []byte("a\n1\n")}}, "a.csv", Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := Read(context.Background(), fstest.MapFS{}, "a.csv", Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestNotes(t *testing.T) {
	for _, c := range []struct{ content, want string }{
		{"d,v\n01/02/2024,1\n03/04/2024,2\n", "month/day"},
		{"v\n" + strings.Repeat("1\n", 200) + "about 3\n", "1 values are not numbers"},
		{"a,b\n1\n", "more or fewer fields"},
		{"n;v\na;1,5\nb;2,5\n", "decimal mark"},
		{"\xb3\xc7\xca\xd0,\xca\xfd\n\xb1\xb1\xbe\xa9,1\n", "read as gb18030"}, // 城市,数 / 北京,1
		{"caf\xe9,n\ncr\xe8me,1\n", "read as windows-1252"},
	} {
		tab := must(t, "a.csv", c.content, Options{})
		if !strings.Contains(strings.Join(tab.Notes, "; "), c.want) {
			t.Errorf("%q: %q, want %q", c.content, tab.Notes, c.want)
		}
	}
	tab := must(t, "a.csv", "a,b\n1,2\n3,4\n5,6\n", Options{MaxCells: 4})
	if tab.Rows() != 2 || !strings.Contains(strings.Join(tab.Notes, ""), "only the first 2 rows") {
		t.Error(tab.Rows(), tab.Notes)
	}
}

// TestParquet reads what pyarrow wrote, in every compression.
func TestParquet(t *testing.T) {
	for _, name := range []string{"snappy", "zstd", "v2", "brotli", "lz4"} {
		t.Run(name, func(t *testing.T) {
			tab, err := Read(context.Background(), os.DirFS("testdata"), name+".parquet", Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"day": "2024-01-08", "at": "2024-01-01 07:00", "n": "", "x": "2.33333", "f32": "2.33333", "s": "北京", "ok": "false", "dec": "0.07"}
			for col, v := range want {
				if c := tab.Column(col); c == nil || c.Len() != 50 || c.Label(7) != v {
					t.Errorf("%s: %+v, want %q", col, c, v)
				}
			}
			if !strings.Contains(strings.Join(tab.Notes, ""), "several values per row: l") {
				t.Error(tab.Notes)
			}
		})
	}
}

func TestXLSX(t *testing.T) {
	f := excelize.NewFile()
	date, err := f.NewStyle(&excelize.Style{NumFmt: 14})
	if err != nil {
		t.Fatal(err)
	}
	set := func(sheet, cell string, v any) {
		if err := f.SetCellValue(sheet, cell, v); err != nil {
			t.Fatal(err)
		}
	}
	set("Sheet1", "A1", "Sales of the year")
	set("Sheet1", "A3", "Date")
	set("Sheet1", "B3", "Amount")
	for i, v := range []float64{10.5, 20, 30} {
		set("Sheet1", fmt.Sprint("A", 4+i), 45292+i)
		set("Sheet1", fmt.Sprint("B", 4+i), v)
	}
	if err := f.SetCellStyle("Sheet1", "A4", "A6", date); err != nil {
		t.Fatal(err)
	}
	if _, err := f.NewSheet("Other"); err != nil {
		t.Fatal(err)
	}
	set("Other", "A1", "k")
	set("Other", "B1", "v")
	set("Other", "A2", "x")
	set("Other", "B2", 1)
	b, err := f.WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	tab := must(t, "a.xlsx", b.String(), Options{})
	if got, want := shape(tab), "Date:time(day)=2024-01-01,2024-01-02,2024-01-03\nAmount:number=10.5,20,30\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := shape(must(t, "a.xlsx", b.String(), Options{Table: "other"})); got != "k:text=x\nv:number=1\n" {
		t.Error(got)
	}
	if _, err := read(t, "a.xlsx", b.String(), Options{Table: "none"}); err == nil || !strings.Contains(err.Error(), "Sheet1, Other") {
		t.Error(err)
	}
}

// TestZipBomb: a workbook that unpacks to gigabytes is refused, not unpacked.
func TestZipBomb(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("xl/worksheets/sheet1.xml")
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	for range 600 {
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, "a.xlsx", b.String(), Options{}); err == nil || !strings.Contains(err.Error(), "XLSX") {
		t.Error(err)
	}
}

func TestSQLite(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.db")
	db, err := sql.Open("sqlite", name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`pragma journal_mode=wal; create table small (a); insert into small values (1);
		create table "big ""one""" (day text, n integer, x real, raw blob);
		insert into "big ""one""" values ('2024-01-01', 1, 0.5, x'0102'), ('2024-01-02', null, 1.5, null), ('2024-01-05', 3, 2.5, null);
		pragma wal_checkpoint(truncate);`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	tab, err := Read(context.Background(), os.DirFS(filepath.Dir(name)), "a.db", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := shape(tab), "day:time(day)=2024-01-01,2024-01-02,2024-01-05\nn:number=1,,3\nx:number=0.5,1.5,2.5\nraw:text=(2 bytes),,\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if tab, err = Read(context.Background(), os.DirFS(filepath.Dir(name)), "a.db", Options{Table: "small"}); err != nil || shape(tab) != "a:number=1\n" {
		t.Error(err, tab)
	}
}

func TestFormatNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1: "1", -1234: "-1234", 12345: "12,345", 1234567.89: "1,234,567.9", 0.1 + 0.2: "0.3", 3.14159265: "3.14159", 1e-7: "1e-07", 2e16: "2e+16", math.Inf(1): "–"} {
		if got := FormatNumber(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

// TestReadAnything changes good files at random: reading them ends with a
// table whose columns are of one length, or with an error. (No fuzz target: to
// instrument the drivers of Parquet and SQLite takes minutes.)
func TestReadAnything(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	seeds := map[string][]string{
		"x.csv":  {"a,b\n1,2\n", "d;v\n2024-01-01;1,5\n", "\"x\ny\",1\n,\n", "a\tb|c\n1\t2|3\n"},
		"x.json": {`[{"a":1},[2],{"b":[{}]}]`, `{"a":[1,2],"b":["x"]}`, "{\"a\":1}\n{\"b\":2}"},
	}
	const odd = ",;\t|\"\n\r[]{}:0123456789.-%$\x00\xff"
	for range 10_000 {
		for name, list := range seeds {
			data := []byte(list[r.IntN(len(list))])
			for range 1 + r.IntN(6) {
				i := r.IntN(len(data))
				switch r.IntN(3) {
				case 0:
					data[i] = odd[r.IntN(len(odd))]
				case 1:
					data = append(data[:i], data[i/2:]...)
				default:
					data = append(data, data[i])
				}
			}
			tab, err := Read(context.Background(), fstest.MapFS{name: {Data: data}}, name, Options{MaxCells: 10_000})
			if err != nil {
				if strings.Contains(err.Error(), "is broken (") {
					t.Fatalf("it panics on %q: %v", data, err)
				}
				continue
			}
			for _, c := range tab.Columns {
				if c.Len() != tab.Rows() {
					t.Fatalf("%q: the column %q has %d rows of %d", data, c.Name, c.Len(), tab.Rows())
				}
				for i := range c.Len() {
					_ = c.Label(i)
				}
			}
		}
	}
}
