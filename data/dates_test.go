package data

import "testing"

// Dates are times in whatever form programs write them, with their offsets from UTC; a number that only
// looks like one is a number.
func TestDates(t *testing.T) {
	for _, c := range []struct {
		name, cells string
		kind        Kind
		unit        Unit
		first       string
	}{
		{"date", "20240102\n20240203\n", Time, Day, "2024-01-02"},
		{"month", "202401\n202402\n", Time, Month, "2024-01"},
		{"v", "20240101\n20240102\n20240103\n20240104\n20240105\n20240106\n20240107\n20240108\n", Time, Day, "2024-01-01"},
		{"order", "20240101\n20240102\n", Number, "", ""},
		{"date", "20241301\n20240102\n", Number, "", ""},
		{"order", "202401\n202402\n202403\n202404\n202405\n202406\n202407\n202408\n202409\n", Number, "", ""},
		{"at", "2024-01-02T03:04:05+0100\n2024-01-02T03:04:06+0100\n", Time, Second, "2024-01-02 02:04:05"},
		{"at", "2024-01-02 03:04:05+00\n2024-01-02 03:04:06+00\n", Time, Second, "2024-01-02 03:04:05"},
		{"at", "2024-01-02 03:04:05.123456+02:00\n2024-01-02 03:04:06.5+02:00\n", Time, Second, "2024-01-02 01:04:05"},
		{"at", "\"Tue, 2 Jan 2024 03:04:05 +0530\"\n\"Wed, 3 Jan 2024 03:04:05 +0530\"\n", Time, Second, "2024-01-01 21:34:05"},
		{"at", "02/Jan/2024:03:04:05 +0000\n03/Jan/2024:03:04:05 +0000\n", Time, Second, "2024-01-02 03:04:05"},
		{"at", "\"Jan 2, 2024 3:04 PM\"\n\"Jan 3, 2024 3:04 PM\"\n", Time, Second, "2024-01-02 15:04"},
	} {
		tab := must(t, "a.csv", c.name+",n\n"+withOne(c.cells), Options{})
		col := tab.Columns[0]
		if col.Kind != c.kind || c.kind == Time && (col.Unit != c.unit || FormatTime(col.Nums[0], col.Unit) != c.first) {
			t.Errorf("%s of %q: %v of %q, first %q", c.name, c.cells, col.Kind, col.Unit, col.Label(0))
		}
	}
}

// withOne adds a second column to lines.
func withOne(cells string) (out string) {
	line := ""
	for _, r := range cells {
		if r == '\n' {
			out, line = out+line+",1\n", ""
			continue
		}
		line += string(r)
	}
	return out
}
