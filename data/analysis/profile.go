package analysis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/data"
	"github.com/openmanus-go/openmanus/data/insight"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// profile describes the columns of a table and shows its first rows.
func (v *visualization) profile(ctx context.Context, it item) (openmanus.Result, error) {
	it.normalize()
	if it.Data == "" {
		return openmanus.Result{}, errors.New("give the file to describe in data")
	}
	name, err := find(ctx, v.ws, it.Data)
	if err != nil {
		return openmanus.Result{}, err
	}
	t, err := data.Read(ctx, v.ws.FS(), name, data.Options{Table: it.Table})
	if err != nil {
		return openmanus.Result{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s rows, %d columns\n", t.Name, data.FormatNumber(float64(t.Rows())), len(t.Columns))
	if len(t.Tables) > 1 {
		fmt.Fprintf(&b, "tables: %s\n", strings.Join(t.Tables, ", "))
	}
	for i, c := range t.Columns {
		if i == maxProfiled {
			fmt.Fprintf(&b, "… and %d more columns\n", len(t.Columns)-maxProfiled)
			break
		}
		fmt.Fprintf(&b, "- %s: %s\n", c.Name, describe(c))
	}
	for _, n := range t.Notes {
		fmt.Fprintf(&b, "Note: %s\n", n)
	}
	b.WriteString("\nThe first rows:\n" + head(t, 5))
	return openmanus.TextResult("%s", b.String()), nil
}

// maxProfiled is how many columns a profile describes.
const maxProfiled = 60

// describe describes a column in one line.
func describe(c *data.Column) string {
	missing := 0
	for i := range c.Len() {
		if c.Missing(i) {
			missing++
		}
	}
	s := c.Kind.String()
	if c.Unit != "" {
		s += " (" + string(c.Unit) + ")"
	}
	if missing == c.Len() {
		return "empty"
	}
	if c.Kind == data.Text {
		s += ", " + frequent(c)
	} else {
		v := slices.DeleteFunc(slices.Clone(c.Nums), math.IsNaN)
		slices.Sort(v)
		if c.Kind == data.Time {
			s += fmt.Sprintf(", %s to %s", data.FormatTime(v[0], c.Unit), data.FormatTime(v[len(v)-1], c.Unit))
		} else {
			sum := 0.0
			for _, x := range v {
				sum += x
			}
			least, most := c.Extremes()
			s += fmt.Sprintf(", %s to %s, mean %s, median %s", cell(c, least), cell(c, most),
				computed(sum/float64(len(v))), computed(insight.Quantile(v, 0.5)))
		}
		s += fmt.Sprintf(", %s different", data.FormatNumber(float64(c.Distinct(0))))
	}
	if missing > 0 {
		share := 100 * float64(missing) / float64(c.Len())
		s += fmt.Sprintf("; %s missing (%.1f%%)", data.FormatNumber(float64(missing)), share)
	}
	return s
}

// cell is what stands in a row of a column, for a line of text.
func cell(c *data.Column, row int) string { return clip.Text(strings.TrimSpace(c.Cell(row)), 40) }

// computed writes a number that was computed of others, with as many digits as mean
// something.
func computed(x float64) string {
	if a := math.Abs(x); a != 0 && (a < 1e-4 || a >= 1e15) {
		return strconv.FormatFloat(x, 'g', 12, 64)
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 12, 64), 64) // it is one
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// frequent lists the five most frequent values.
func frequent(c *data.Column) string {
	count := make(map[string]int)
	for _, s := range c.Texts {
		if s != "" {
			count[s]++
		}
	}
	values := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(count[b]-count[a], strings.Compare(a, b))
	})
	var top []string
	for _, s := range values[:min(len(values), 5)] {
		top = append(top, fmt.Sprintf("%q %d×", clip.Text(s, 40), count[s]))
	}
	return fmt.Sprintf("%s different: %s", data.FormatNumber(float64(len(values))), strings.Join(top, ", "))
}

// head is the first n rows of a table as Markdown, with at most 20 columns.
func head(t *data.Table, n int) string {
	var b strings.Builder
	cols := t.Columns[:min(len(t.Columns), 20)]
	row := func(text func(c *data.Column) string) {
		for _, c := range cols {
			b.WriteString("| " + strings.NewReplacer("|", `\|`, "\n", " ").Replace(clip.Text(text(c), 40)) + " ")
		}
		b.WriteString("|\n")
	}
	row(func(c *data.Column) string { return c.Name })
	row(func(*data.Column) string { return "---" })
	for i := range min(n, t.Rows()) {
		row(func(c *data.Column) string { return c.Cell(i) })
	}
	return b.String()
}
