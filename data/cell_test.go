package data

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
)

// cellsOf returns the cells of a table as they are shown, a line for each column.
func cellsOf(t *testing.T, tab *Table) string {
	t.Helper()
	var b strings.Builder
	for _, c := range tab.Columns {
		b.WriteString(c.Name)
		for i := range c.Len() {
			b.WriteString("|" + c.Cell(i))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestReadingChangesNothing: a cell is shown as it stands in the file, whatever its column is
// for whoever computes.
func TestReadingChangesNothing(t *testing.T) {
	const table = "id,amount,version,code,nick,flag,day,pad\n" +
		"4111111111111111,99999999.99,1.10,007,NA,true,01/02/2024, x \n" +
		"9007199254740993,100000000.01,2.00,010,None,TRUE,2/3/2024,\n" +
		"12345678901234567890,0.30000000000000004,1e5,+49,Null,N/A,,-\n"
	want := strings.Join([]string{
		"id|4111111111111111|9007199254740993|12345678901234567890", "amount|99999999.99|100000000.01|0.30000000000000004",
		"version|1.10|2.00|1e5", "code|007|010|+49", "nick|NA|None|Null", "flag|true|TRUE|N/A", "day|01/02/2024|2/3/2024|", "pad| x ||-", "",
	}, "\n")
	for name, content := range map[string]string{
		"a.csv": table, "semicolons.csv": strings.ReplaceAll(table, ",", ";"), "a.tsv": strings.ReplaceAll(table, ",", "\t"),
	} {
		if got := cellsOf(t, must(t, name, content, Options{})); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
	for _, c := range []struct{ name, content, want string }{
		{"money.csv", "price,share\n\"$1,234,567.89\",12.50%\n($3),7%\n", "price|$1,234,567.89|($3)\nshare|12.50%|7%\n"},
		{"comma.csv", "v;year\n1.234,50;2024\n2,5;0999\n", "v|1.234,50|2,5\nyear|2024|0999\n"},
		{"stray.csv", "v\n" + strings.Repeat("1.0\n", 100) + "about 3\n", "v" + strings.Repeat("|1.0", 100) + "|about 3\n"},
		{"a.jsonl", `{"id":9007199254740993,"v":1234567.890,"n":null,"ok":true,"s":"007"}` + "\n" + `{"id":12345678901234567890,"v":1E5,"n":"null","ok":false,"s":"NA"}`,
			"id|9007199254740993|12345678901234567890\nv|1234567.890|1E5\nn|null|null\nok|true|false\ns|007|NA\n"},
		{"a.json", `[["a","b"],[1.10,"x"],[2.00,null]]`, "a|1.10|2.00\nb|x|null\n"},
	} {
		if got := cellsOf(t, must(t, c.name, c.content, Options{})); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestParquetAsItStands reads what pyarrow wrote. The values are those that Python prints of
// the file, but for the letter between the day and the time, and for truth values.
func TestParquetAsItStands(t *testing.T) {
	tab, err := Read(context.Background(), os.DirFS("testdata"), "exact.parquet", Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimLeft(`
amount|99999999.99|1.10|-0.05
wide|12345678901234567890123.4567|0.0001|
small|1.10|-12.00|0.00
id|4111111111111111|9007199254740993|-9007199254740993
u64|18446744073709551615|0|1
u32|4294967295|0|1
code|007|NA|None
flag|true|false|
d64|99999999.99|1e+16|0.30000000000000004
f32|1.1|16777216.0|0.5
day|2024-01-02|1969-12-31|
at|2024-01-02T03:04:05.678901|2024-01-02T00:00:00|
utc|2024-01-02T03:04:05.678901Z|2024-01-02T00:00:00Z|
clock|12:34:56.789|00:00:00|
clock32|12:34:56|00:00:00|
`, "\n")
	if got := cellsOf(t, tab); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSQLiteAsItStands: the values are those that sqlite3 prints of the same table.
func TestSQLiteAsItStands(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(`create table t("order" integer, amount real, made date, at datetime, ok boolean, code text, stamp timestamp);
		insert into t values (9007199254740993, 99999999.99, '2024-01-02', '2024-01-02 03:04:05', 1, '007', 1704164645),
			(4111111111111111, 1000000.0, '01/02/2024', 'soon', 'TRUE', 'NA', '1704164645'), (-1, 0.1, null, 1.5, 0, 'None', '');`)
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	tab, err := Read(context.Background(), os.DirFS(filepath.Dir(file)), "a.db", Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := "order|9007199254740993|4111111111111111|-1\namount|99999999.99|1000000.0|0.1\nmade|2024-01-02|01/02/2024|\n" +
		"at|2024-01-02 03:04:05|soon|1.5\nok|1|TRUE|0\ncode|007|NA|None\nstamp|1704164645|1704164645|\n"
	if got := cellsOf(t, tab); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestXLSXAsItStands(t *testing.T) {
	f, sum := excelize.NewFile(), 0.1
	sum += 0.2
	for cell, v := range map[string]any{
		"A1": "id", "B1": "amount", "C1": "v", "D1": "code", "E1": "flag",
		"A2": int64(4111111111111111), "B2": 99999999.99, "C2": 1.1, "D2": "007", "E2": true,
		"A3": int64(9007199254740993), "B3": 0.07, "C3": sum, "D3": "NA", "E3": false,
	} {
		if err := f.SetCellValue("Sheet1", cell, v); err != nil {
			t.Fatal(err)
		}
	}
	b, err := f.WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	want := "id|4111111111111111|9007199254740993\namount|99999999.99|0.07\nv|1.1|0.30000000000000004\ncode|007|NA\nflag|TRUE|FALSE\n"
	if got := cellsOf(t, must(t, "a.xlsx", b.String(), Options{})); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Large numbers are told apart as they are written, also where something is computed.
func TestLargeNumbersStayApart(t *testing.T) {
	c := must(t, "a.csv", "id\n9007199254740993\n9007199254740992\n9007199254740994\n", Options{}).Columns[0]
	least, most := c.Extremes()
	if c.Cell(least) != "9007199254740992" || c.Cell(most) != "9007199254740994" || c.Distinct(0) != 3 {
		t.Error(c.Cell(least), c.Cell(most), c.Distinct(0))
	}
	if a, b := c.Label(0), c.Label(1); a == b {
		t.Errorf("two bars have the label %s", a)
	}
}
