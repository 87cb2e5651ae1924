package chart

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/data"
)

// A Request says what to draw of a table. What is left out is chosen from the
// data and from the words of the title.
type Request struct {
	Kind      string   // bar, line, area, scatter, histogram, box, pie, heatmap, dual; "stacked bar" and "stacked area" too
	X         string   // the column along the horizontal axis
	Y         []string // the columns of values
	Series    string   // the column whose values each get a colour (a row, in a heat map)
	Aggregate string   // of rows at the same place: sum, mean, median, min, max, count
	Bucket    string   // of times: hour, day, week, month, quarter, year
	Sort      string   // of categories: value, name, none
	Top       int      // show so many categories; the rest is "other" where that makes sense
	Bins      int      // of a histogram; 0 chooses
	Stacked   bool
	Log       bool // a logarithmic axis of values

	Title, Subtitle, Note string
	Lang                  string // "en" or "zh"
	Width, Height         float64
}

// kinds are the names by which a kind is asked for.
var kinds = map[string]Kind{
	"bar": Bar, "column": Bar, "stacked": Bar, "stacked bar": Bar, "line": Line, "area": Area, "stacked area": Area, "scatter": Scatter, "histogram": Histogram,
	"box": Box, "boxplot": Box, "pie": Pie, "donut": Pie, "heatmap": Heatmap, "heat map": Heatmap, "dual": Dual, "dual axis": Dual, "dual_axis": Dual,
}

// words in a title that ask for a kind.
var hintWords = []struct {
	word string
	kind string
}{
	{"stacked area", "stacked area"}, {"stacked", "stacked bar"}, {"堆叠", "stacked bar"}, {"堆积", "stacked bar"}, {"dual axis", "dual"}, {"dual-axis", "dual"}, {"双轴", "dual"},
	{"heat map", "heatmap"}, {"heatmap", "heatmap"}, {"热力", "heatmap"}, {"pie", "pie"}, {"饼图", "pie"}, {"占比", "pie"}, {"donut", "pie"}, {"share of", "pie"},
	{"histogram", "histogram"}, {"distribution of", "histogram"}, {"直方图", "histogram"}, {"分布", "histogram"}, {"box plot", "box"}, {"boxplot", "box"}, {"箱线", "box"},
	{"scatter", "scatter"}, {"correlation", "scatter"}, {" versus ", "scatter"}, {" vs ", "scatter"}, {" vs. ", "scatter"}, {"散点", "scatter"}, {"area chart", "area"}, {"面积图", "area"},
	{"line chart", "line"}, {"trend", "line"}, {"折线", "line"}, {"趋势", "line"}, {"bar chart", "bar"}, {"柱状", "bar"}, {"条形", "bar"}, {"ranking", "bar"}, {"排名", "bar"},
}

// columns sorts those of a table by what they are good for.
type columns struct {
	times, numbers, texts []*data.Column
}

func sortColumns(t *data.Table) (c columns) {
	for _, col := range t.Columns {
		switch {
		case col.Kind == data.Time && col.Distinct(2) > 1:
			c.times = append(c.times, col)
		case col.Kind == data.Number && !identifies(col):
			c.numbers = append(c.numbers, col)
		case col.Kind == data.Text && col.Distinct(1) > 0:
			c.texts = append(c.texts, col)
		}
	}
	return c
}

// identifies reports whether a column of numbers only tells rows apart.
func identifies(c *data.Column) bool {
	switch n := strings.ToLower(c.Name); {
	case n == "id", n == "index", n == "idx", n == "no", n == "no.", n == "#", strings.HasSuffix(n, "_id"), strings.HasSuffix(n, " id"), n == "row", n == "编号", n == "序号", n == "column 1" && counts(c):
	default:
		return false
	}
	return true
}

// counts reports whether the values are 0, 1, 2 … or 1, 2, 3 …
func counts(c *data.Column) bool {
	for i, v := range c.Nums {
		if v != c.Nums[0]+float64(i) {
			return false
		}
	}
	return len(c.Nums) > 2
}

// resolved is a request with its columns found.
type resolved struct {
	Request
	table  *data.Table
	kind   Kind
	x      *data.Column
	ys     []*data.Column
	series *data.Column
	notes  []string
}

func resolve(t *data.Table, r Request) (*resolved, error) {
	res := &resolved{Request: r, table: t}
	if t.Rows() == 0 {
		return nil, fmt.Errorf("%s has no rows to draw", t.Name)
	}
	var err error
	find := func(name string) (c *data.Column) {
		if name != "" && err == nil {
			c, err = t.Find(name)
		}
		return c
	}
	res.x, res.series = find(r.X), find(r.Series)
	for _, y := range r.Y {
		c := find(y)
		if err == nil && c.Kind != data.Number {
			err = fmt.Errorf("the column %q has %ss, and values to draw are numbers; leave y out to count rows", c.Name, c.Kind)
		}
		res.ys = append(res.ys, c)
	}
	if err != nil {
		return nil, err
	}
	asked := strings.ToLower(strings.TrimSpace(r.Kind))
	if asked == "" || asked == "auto" {
		asked = hinted(r.Title)
	} else if _, ok := kinds[asked]; !ok {
		return nil, fmt.Errorf("there is no chart %q; there are bar, stacked bar, line, area, stacked area, scatter, histogram, box, pie, heatmap and dual", r.Kind)
	}
	res.kind = kinds[asked]
	res.Stacked = r.Stacked || strings.HasPrefix(asked, "stacked")
	res.choose(sortColumns(t))
	return res, res.check()
}

func hinted(title string) string {
	t := " " + strings.ToLower(title) + " "
	for _, h := range hintWords {
		if strings.Contains(t, h.word) {
			return h.kind
		}
	}
	return ""
}

// choose fills in what nobody said.
func (r *resolved) choose(c columns) {
	c = c.without(r.x, r.series)
	named := mentioned(c.numbers, r.Title)
	if len(named) == 0 {
		named = c.numbers
	}
	if r.x == nil {
		r.x = r.chooseX(c, named)
	}
	if len(r.ys) == 0 && r.Aggregate != "count" {
		r.ys = r.chooseY(without(named, r.x))
	}
	if r.kind == "" {
		r.kind = r.chooseKind()
	}
	if r.series == nil {
		r.series = r.chooseSeries(c.without(r.x, nil))
	}
}

func (c columns) without(a, b *data.Column) columns {
	return columns{without(without(c.times, a), b), without(without(c.numbers, a), b), without(without(c.texts, a), b)}
}

func without(list []*data.Column, c *data.Column) []*data.Column {
	return slices.DeleteFunc(slices.Clone(list), func(o *data.Column) bool { return o == c })
}

// mentioned are the columns whose names are in the title.
func mentioned(list []*data.Column, title string) (found []*data.Column) {
	title = strings.ToLower(title)
	for _, c := range list {
		n := strings.ToLower(strings.NewReplacer("_", " ", ".", " ").Replace(c.Name))
		if len(n) > 1 && (strings.Contains(title, n) || strings.Contains(title, strings.ToLower(c.Name))) {
			found = append(found, c)
		}
	}
	return found
}

func (r *resolved) chooseX(c columns, named []*data.Column) *data.Column {
	texts := mentioned(c.texts, r.Title)
	if len(texts) == 0 {
		texts = c.texts
	}
	switch {
	case r.kind == Histogram:
		if len(r.ys) > 0 {
			return r.ys[0]
		}
		return first(named)
	case r.kind == Scatter:
		if rest := without(named, first(r.ys)); len(rest) > 0 && (len(r.ys) > 0 || len(rest) > 1) {
			return rest[0]
		}
		return first(without(c.numbers, first(named)))
	case r.kind == Box || r.kind == Pie || r.kind == Heatmap && len(texts) > 1:
		return fewest(texts)
	case len(c.times) > 0:
		return c.times[0]
	case len(texts) > 0 && (r.kind != "" || len(named) < 2 || texts[0].Distinct(0) <= 60):
		return fewestUseful(texts, r.table.Rows())
	case r.kind == "" && len(r.ys) == 0 && len(named) == 1:
		return named[0]
	}
	return first(without(named, first(r.ys)))
}

func first(list []*data.Column) *data.Column {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// fewest is the column with the fewest different values, but more than one.
func fewest(list []*data.Column) (best *data.Column) {
	least := 0
	for _, c := range list {
		if n := c.Distinct(1000); n > 1 && (best == nil || n < least) {
			best, least = c, n
		}
	}
	if best == nil {
		return first(list)
	}
	return best
}

// fewestUseful is a column that names the rows, or else the one with the
// fewest values.
func fewestUseful(list []*data.Column, rows int) *data.Column {
	if rows <= 40 {
		for _, c := range list {
			if c.Distinct(0) == rows {
				return c
			}
		}
	}
	return fewest(list)
}

// chooseY takes numbers of a size, so that one axis serves them all.
func (r *resolved) chooseY(numbers []*data.Column) []*data.Column {
	if len(numbers) == 0 {
		return nil
	}
	switch r.kind {
	case Scatter, Box, Pie, Histogram, Heatmap:
		return numbers[:1]
	case Dual:
		return numbers[:min(2, len(numbers))]
	}
	if r.kind == "" && r.x != nil && r.x.Kind == data.Number {
		return numbers[:1]
	}
	if len(mentioned(numbers, r.Title)) == len(numbers) && len(numbers) == 2 && r.kind == "" && r.x != nil && r.x.Kind != data.Number && !alike(numbers[0], numbers[1]) {
		r.kind = Dual
		return numbers
	}
	ys := numbers[:1]
	for _, c := range numbers[1:] {
		if len(ys) < 4 && alike(ys[0], c) {
			ys = append(ys, c)
		}
	}
	return ys
}

// alike reports whether two columns have the same unit and size.
func alike(a, b *data.Column) bool {
	x, y := middling(a), middling(b)
	return a.Unit == b.Unit && x > 0 && y > 0 && x < 12*y && y < 12*x
}

func middling(c *data.Column) float64 {
	n, sum := 0.0, 0.0
	for _, v := range c.Nums {
		if v == v {
			n, sum = n+1, sum+max(v, -v)
		}
	}
	return sum / max(n, 1)
}

func (r *resolved) chooseKind() Kind {
	switch {
	case r.x == nil:
		return Histogram
	case r.x.Kind == data.Time && len(r.ys) > 0:
		return Line
	case r.x.Kind == data.Number && len(r.ys) > 0:
		return Scatter
	case r.x.Kind == data.Number:
		return Histogram
	}
	return Bar
}

// chooseSeries takes a column of few texts where rows share their place.
func (r *resolved) chooseSeries(c columns) *data.Column {
	switch {
	case len(r.ys) > 1 || r.x == nil:
		return nil
	case r.kind == Heatmap:
		if r.x.Kind == data.Text {
			return fewest(c.texts)
		}
		return first(c.texts)
	case r.kind != Line && r.kind != Area && r.kind != Scatter && !r.Stacked:
		return nil
	}
	if r.kind != Scatter && r.x.Distinct(0) == r.table.Rows() {
		return nil
	}
	texts := mentioned(c.texts, r.Title)
	if r.kind != Scatter { // a cloud is looked at whole, unless the title says otherwise
		texts = append(texts, c.texts...)
	}
	for _, t := range texts {
		if n := t.Distinct(10); n > 1 && n < 10 {
			return t
		}
	}
	return nil
}

// check says what a kind needs and has not got.
func (r *resolved) check() error {
	need := func(ok bool, what string) error {
		if ok {
			return nil
		}
		return fmt.Errorf("a %s chart needs %s; the columns of %s are %s", r.kind, what, r.table.Name, describe(r.table))
	}
	switch r.kind {
	case Histogram:
		return need(r.x != nil && r.x.Kind != data.Text, "a column of numbers in x")
	case Scatter:
		return need(r.x != nil && r.x.Kind != data.Text && len(r.ys) > 0, "two columns of numbers, in x and y")
	case Box:
		return need(len(r.ys) > 0, "a column of numbers in y")
	case Dual:
		return need(r.x != nil && len(r.ys) == 2, "two columns of numbers in y")
	case Heatmap:
		return need(r.x != nil && r.series != nil, "a column in x, and one for the rows in series")
	}
	return need(r.x != nil, "a column in x")
}

func describe(t *data.Table) string {
	var parts []string
	for i, c := range t.Columns {
		if i == 30 {
			parts = append(parts, fmt.Sprintf("and %d more", len(t.Columns)-30))
			break
		}
		parts = append(parts, fmt.Sprintf("%q (%s)", c.Name, c.Kind))
	}
	return strings.Join(parts, ", ")
}
