package data

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		s        string
		european bool
		want     string
	}{
		{"12", false, "12"}, {"-1.5e3", false, "-1500"}, {"+7", false, "7"}, {".5", false, "0.5"},
		{"1,234.5", false, "1234.5"}, {"1 234", false, "1234"}, {"1’234", false, "1234"}, {"1,23", false, "no"},
		{"$3", false, "3 $"}, {"3 €", false, "3 €"}, {"-$3", false, "-3 $"}, {"12%", false, "12 %"}, {"5元", false, "5 元"},
		{"(7)", false, "-7"}, {"−4", false, "-4"}, {"($1,200)", false, "-1200 $"},
		{"1,5", true, "1.5"}, {"1.234,5", true, "1234.5"},
		{"0x10", false, "no"}, {"1_000", false, "no"}, {"Inf", false, "no"}, {"1e999", false, "no"}, {"abc", false, "no"},
		{"-", false, "no"}, {"1/2", false, "no"}, {"12 kg", false, "no"},
	} {
		v, unit, ok := number(c.s, c.european)
		got := "no"
		if ok {
			got = strings.TrimSpace(fmt.Sprint(v, " ", unit))
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.s, got, c.want)
		}
	}
}

// TestInfer: the kind of a column by its name and its cells, and what notes
// say about it.
func TestInfer(t *testing.T) {
	strays := slices.Repeat([]string{"1"}, 200)
	strays[7] = "n.n."
	few := slices.Repeat([]string{"1"}, 10)
	few[3], few[4] = "x", "y"
	for _, c := range []struct {
		name  string
		cells []string
		want  string
	}{
		{"v", []string{"1", "", "NA", "-"}, "number"},
		{"v", []string{"", "NA"}, "text"},
		{"zip", []string{"01234", "99999"}, "text"},
		{"v", strays, `number; column "v": 1 values are not numbers and count as missing, such as "n.n."`},
		{"v", few, "text"},
		{"v", []string{"1,5", "2,25"}, `number; column "v": the comma is read as the decimal mark`},
		{"v", []string{"1,500", "2,250"}, "number"},
		{"year", []string{"1999", "2000"}, "time year"},
		{"year", []string{"1", "2"}, "number"},
		{"founded", []string{"1999", "2000"}, "number"},
		{"d", []string{"2024-01-01", "2024-02-01"}, "time month"},
		{"d", []string{"2024-01-01", "2024-01-02"}, "time day"},
		{"d", []string{"2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"}, "time day"},
		{"d", []string{"2024-01-01 10:00", "2024-01-01 11:30"}, "time second"},
		{"d", []string{"2024Q1", "Q2 2024"}, "time quarter"},
		{"d", []string{"3/4/2024", "5/6/2024"}, `time day; column "d": dates such as "3/4/2024" are read as month/day`},
		{"d", []string{"3/4/2024", "25/6/2024"}, "time day"},
		{"d", []string{"2024-01-01", "soon"}, "text"},
	} {
		col, notes := infer(c.name, slices.Clone(c.cells))
		got := strings.TrimSpace(col.Kind.String() + " " + string(col.Unit))
		if notes != nil {
			got += "; " + strings.Join(notes, "; ")
		}
		if got != c.want {
			t.Errorf("%s %.60q: %s, want %s", c.name, c.cells, got, c.want)
		}
	}
}

func TestDelimiter(t *testing.T) {
	for text, want := range map[string]rune{
		"a,b\n1,2\n": ',', "a;b\n1,5;2\n1;2,5\n": ';', "a\tb c\n": '\t', "a|b\n1|2\n": '|', "alone\n": ',',
		"\"a;b\",c\n\"d;e\",f\n": ',',
	} {
		if got := delimiter([]byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestHeadless(t *testing.T) {
	for line, want := range map[string]bool{
		"a,b": false, "1,2": true, "2019,2020,2021": false, "2020,2019": true, "1": false, "1,x": false, ",": false,
	} {
		if got := headless(strings.Split(line, ",")); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

func TestFormatTime(t *testing.T) {
	const at = 1715776496.5 // 2024-05-15 12:34:56.5
	for unit, want := range map[Unit]string{Year: "2024", Quarter: "2024-Q2", Month: "2024-05", Day: "2024-05-15", Second: "2024-05-15 12:34:56"} {
		if got := FormatTime(at, unit); got != want {
			t.Errorf("%s: %s, want %s", unit, got, want)
		}
	}
	if got := FormatTime(at-56.5, Second); got != "2024-05-15 12:34" {
		t.Error(got)
	}
}

func TestUnitFormat(t *testing.T) {
	for _, c := range []struct {
		unit         Unit
		number, want string
	}{
		{Percent, "-5", "-5%"}, {"€", "300", "€300"}, {"$", "-5", "−$5"}, {"元", "5", "5"}, {Day, "5", "5"}, {"", "5", "5"},
	} {
		if got := c.unit.Format(c.number); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.number, c.unit, got, c.want)
		}
	}
}

func TestColumns(t *testing.T) {
	tab := &Table{Name: "t", Columns: []*Column{
		{Name: " Price", Kind: Number, Unit: Percent, Nums: []float64{1.5, math.NaN(), 1.5}},
		{Name: "price", Kind: Text, Texts: []string{"a", "", "b"}},
	}}
	if tab.Rows() != 3 || tab.Column("price") != tab.Columns[1] || tab.Column("PRICE ") != tab.Columns[0] || tab.Column("x") != nil {
		t.Error("the wrong column is found")
	}
	if _, err := tab.Find("x"); err == nil || err.Error() != `t has no column "x"; it has " Price", "price"` {
		t.Error(err)
	}
	nums, texts := tab.Columns[0], tab.Columns[1]
	if nums.Label(0) != "1.5%" || nums.Label(1) != "" || texts.Label(2) != "b" || !texts.Missing(1) {
		t.Errorf("%q %q %q", nums.Label(0), nums.Label(1), texts.Label(2))
	}
	if nums.Distinct(0) != 1 || texts.Distinct(0) != 2 || texts.Distinct(1) != 1 {
		t.Error("the wrong number of different values")
	}
}
