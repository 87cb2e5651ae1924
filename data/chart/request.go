package chart

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/data"
)

// A Request says what to draw of a table. [Build] chooses what it leaves out,
// from the data and from the words of the title.
type Request struct {
	// Kind is bar, stacked bar, line, area, stacked area, scatter, histogram,
	// box, pie, heatmap or dual.
	Kind string

	X         string   // the column along the horizontal axis; of a pie or box plot the groups
	Y         []string // the columns of values; without any, rows are counted
	Series    string   // the column each of whose values gets a colour; in a heat map, a row
	Aggregate string   // of rows with the same X and Series: sum, mean, median, min, max or count
	Bucket    string   // rounds times down to their hour, day, week, month, quarter or year
	Sort      string   // of categories: value, name or none
	Top       int      // the most categories to show; 0 means 30, or 7 for a pie
	Bins      int      // of a histogram; 0 chooses
	Stacked   bool
	Log       bool // makes the axis of values logarithmic

	Title, Subtitle, Note string
	Lang                  string // "en" or "zh"
	Width, Height         float64
}

// kinds maps the names that a request may use to kinds.
var kinds = map[string]Kind{
	"bar": Bar, "column": Bar, "stacked": Bar, "stacked bar": Bar,
	"line": Line, "area": Area, "stacked area": Area, "scatter": Scatter, "histogram": Histogram,
	"box": Box, "boxplot": Box, "pie": Pie, "donut": Pie, "heatmap": Heatmap, "heat map": Heatmap,
	"dual": Dual, "dual axis": Dual, "dual_axis": Dual,
}

// titleHints are the kinds that words in a title ask for; the first match
// counts.
var titleHints = []struct {
	kind  string
	words []string
}{
	{"stacked area", []string{"stacked area"}},
	{"stacked bar", []string{"stacked", "堆叠", "堆积"}},
	{"dual", []string{"dual axis", "dual-axis", "双轴"}},
	{"heatmap", []string{"heat map", "heatmap", "热力"}},
	{"pie", []string{"pie", "饼图", "占比", "donut", "share of"}},
	{"histogram", []string{"histogram", "distribution of", "直方图", "分布"}},
	{"box", []string{"box plot", "boxplot", "箱线"}},
	{"scatter", []string{"scatter", "correlation", " versus ", " vs ", " vs. ", "散点"}},
	{"area", []string{"area chart", "面积图"}},
	{"line", []string{"line chart", "trend", "折线", "趋势"}},
	{"bar", []string{"bar chart", "柱状", "条形", "ranking", "排名"}},
}

// hintedKind returns the kind that the words of a title ask for, or "".
func hintedKind(title string) string {
	title = " " + strings.ToLower(title) + " "
	for _, h := range titleHints {
		if slices.ContainsFunc(h.words, func(w string) bool { return strings.Contains(title, w) }) {
			return h.kind
		}
	}
	return ""
}

// A plan is a request whose columns are found and whose gaps are filled.
type plan struct {
	Request
	table  *data.Table
	kind   Kind
	x      *data.Column   // nil in a box plot without groups
	ys     []*data.Column // of numbers; none counts rows
	series *data.Column   // may be nil
	notes  []string       // for Figure.Notes

	partial []float64 // the places of periods that are not complete
}

func (p *plan) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// resolve finds the columns of a request, chooses what it leaves out and
// checks that the chart has what its kind needs.
func resolve(t *data.Table, r Request) (*plan, error) {
	if t.Rows() == 0 {
		return nil, fmt.Errorf("%s has no rows to draw", t.Name)
	}
	p := &plan{Request: r, table: t}
	if err := p.findColumns(); err != nil {
		return nil, err
	}
	asked := strings.ToLower(strings.TrimSpace(r.Kind))
	if asked == "" || asked == "auto" {
		asked = hintedKind(r.Title)
	} else if _, ok := kinds[asked]; !ok {
		return nil, fmt.Errorf("there is no chart %q; there are bar, stacked bar, line, area, stacked area, "+
			"scatter, histogram, box, pie, heatmap and dual", r.Kind)
	}
	p.kind = kinds[asked]
	p.Stacked = r.Stacked || strings.HasPrefix(asked, "stacked")
	p.choose()
	return p, p.check()
}

// findColumns finds the columns that the request names. Those of values must
// be numbers.
func (p *plan) findColumns() (err error) {
	find := func(name string) (c *data.Column) {
		if name != "" && err == nil {
			c, err = p.table.Find(name)
		}
		return c
	}
	p.x, p.series = find(p.X), find(p.Series)
	for _, y := range p.Y {
		c := find(y)
		if err != nil {
			return err
		}
		if c == nil || c.Kind != data.Number {
			return fmt.Errorf("the column %q is not numeric, and values to draw are numbers; "+
				"leave y out to count rows", y)
		}
		p.ys = append(p.ys, c)
	}
	return err
}

// choose fills in what the request leaves out: x, y, the kind and the series,
// in this order, as each depends on those before.
func (p *plan) choose() {
	c := usable(p.table).without(p.x).without(p.series)
	numbers := mentioned(c.numbers, p.Title)
	if len(numbers) == 0 {
		numbers = c.numbers
	}
	if p.x == nil {
		p.x = p.chooseX(c, numbers)
	}
	if len(p.ys) == 0 && p.Aggregate != "count" {
		p.ys = p.chooseY(exclude(numbers, p.x))
	}
	if p.kind == "" {
		p.kind = p.chooseKind()
	}
	if p.series == nil {
		p.series = p.chooseSeries(c.without(p.x).texts)
	}
}

// columns are columns by their kind, in the order of their table.
type columns struct {
	times, numbers, texts []*data.Column
}

// usable returns the columns that a chart may be made of: times that differ,
// numbers that are not identifiers, and texts that are not all missing.
func usable(t *data.Table) (c columns) {
	for _, col := range t.Columns {
		switch {
		case col.Kind == data.Time && col.Distinct(2) > 1:
			c.times = append(c.times, col)
		case col.Kind == data.Number && !isIdentifier(col):
			c.numbers = append(c.numbers, col)
		case col.Kind == data.Text && col.Distinct(1) > 0:
			c.texts = append(c.texts, col)
		}
	}
	return c
}

// without returns the columns except col, which may be nil.
func (c columns) without(col *data.Column) columns {
	return columns{exclude(c.times, col), exclude(c.numbers, col), exclude(c.texts, col)}
}

func exclude(list []*data.Column, c *data.Column) []*data.Column {
	return slices.DeleteFunc(slices.Clone(list), func(o *data.Column) bool { return o == c })
}

func first(list []*data.Column) *data.Column {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// isIdentifier reports whether a column of numbers only tells rows apart, by
// its name. A first column without a name must also count the rows.
func isIdentifier(c *data.Column) bool {
	switch n := strings.ToLower(c.Name); n {
	case "id", "index", "idx", "no", "no.", "#", "row", "编号", "序号":
		return true
	case "column 1":
		return counts(c.Nums)
	default:
		return strings.HasSuffix(n, "_id") || strings.HasSuffix(n, " id")
	}
}

// counts reports whether the values are consecutive.
func counts(nums []float64) bool {
	for i, v := range nums {
		if v != nums[0]+float64(i) {
			return false
		}
	}
	return len(nums) > 2
}

// mentioned returns the columns whose names stand in the title.
func mentioned(list []*data.Column, title string) (found []*data.Column) {
	title = strings.ToLower(title)
	for _, c := range list {
		name := strings.ToLower(c.Name)
		words := strings.NewReplacer("_", " ", ".", " ").Replace(name)
		if len(words) > 1 && (strings.Contains(title, words) || strings.Contains(title, name)) {
			found = append(found, c)
		}
	}
	return found
}

// chooseX returns the column for the horizontal axis, or nil: what the kind
// needs, else times, else the texts that name the rows, else numbers. numbers
// are the candidates for values; columns that the title mentions come first.
func (p *plan) chooseX(c columns, numbers []*data.Column) *data.Column {
	texts := mentioned(c.texts, p.Title)
	if len(texts) == 0 {
		texts = c.texts
	}
	switch {
	case p.kind == Histogram:
		if len(p.ys) > 0 {
			return p.ys[0]
		}
		return first(numbers)
	case p.kind == Scatter:
		if rest := exclude(numbers, first(p.ys)); len(rest) > 0 && (len(p.ys) > 0 || len(rest) > 1) {
			return rest[0]
		}
		return first(exclude(c.numbers, first(numbers)))
	case p.kind == Box || p.kind == Pie || p.kind == Heatmap && len(texts) > 1:
		return coarsest(texts)
	case len(c.times) > 0:
		return c.times[0]
	case len(texts) > 0 && (p.kind != "" || len(numbers) < 2 || texts[0].Distinct(0) <= 60):
		return rowNames(texts, p.table.Rows())
	case p.kind == "" && len(p.ys) == 0 && len(numbers) == 1:
		return numbers[0]
	}
	return first(exclude(numbers, first(p.ys)))
}

// coarsest returns the column with the fewest different values, but more than
// one.
func coarsest(list []*data.Column) (best *data.Column) {
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

// rowNames returns a column that names each row of a short table, or else the
// coarsest one.
func rowNames(list []*data.Column, rows int) *data.Column {
	if rows <= 40 {
		for _, c := range list {
			if c.Distinct(0) == rows {
				return c
			}
		}
	}
	return coarsest(list)
}

// chooseY returns as many columns as the kind has room for, all of one order
// of magnitude, so that one axis serves them. Two columns of the title that
// differ too much make the chart one with two axes.
func (p *plan) chooseY(numbers []*data.Column) []*data.Column {
	if len(numbers) == 0 {
		return nil
	}
	switch p.kind {
	case Scatter, Box, Pie, Histogram, Heatmap:
		return numbers[:1]
	case Dual:
		return numbers[:min(2, len(numbers))]
	case "":
		if p.x == nil {
			break
		}
		if p.x.Kind == data.Number {
			return numbers[:1]
		}
		if len(numbers) == 2 && len(mentioned(numbers, p.Title)) == 2 && !alike(numbers[0], numbers[1]) {
			p.kind = Dual
			return numbers
		}
	}
	ys := numbers[:1:1]
	for _, c := range numbers[1:] {
		if len(ys) < 4 && alike(ys[0], c) {
			ys = append(ys, c)
		}
	}
	return ys
}

// alike reports whether two columns have the same unit and order of magnitude.
func alike(a, b *data.Column) bool {
	x, y := magnitude(a), magnitude(b)
	return a.Unit == b.Unit && x > 0 && y > 0 && x < 12*y && y < 12*x
}

// magnitude is the mean of the absolute values.
func magnitude(c *data.Column) float64 {
	n, sum := 0.0, 0.0
	for _, v := range c.Nums {
		if v == v {
			n, sum = n+1, sum+max(v, -v)
		}
	}
	return sum / max(n, 1)
}

// chooseKind returns the kind that suits the columns.
func (p *plan) chooseKind() Kind {
	switch {
	case p.x == nil:
		return Histogram
	case p.x.Kind == data.Time && len(p.ys) > 0:
		return Line
	case p.x.Kind == data.Number && len(p.ys) > 0:
		return Scatter
	case p.x.Kind == data.Number:
		return Histogram
	}
	return Bar
}

// chooseSeries returns a column of few texts if several rows share a place. A
// scatter plot gets one only if its title mentions it.
func (p *plan) chooseSeries(texts []*data.Column) *data.Column {
	switch {
	case len(p.ys) > 1 || p.x == nil:
		return nil
	case p.kind == Heatmap && p.x.Kind == data.Text:
		return coarsest(texts)
	case p.kind == Heatmap:
		return first(texts)
	case p.kind != Line && p.kind != Area && p.kind != Scatter && !p.Stacked:
		return nil
	case p.kind != Scatter && p.x.Distinct(0) == p.table.Rows():
		return nil
	}
	candidates := mentioned(texts, p.Title)
	if p.kind != Scatter {
		candidates = append(candidates, texts...)
	}
	for _, t := range candidates {
		if n := t.Distinct(10); n > 1 && n < 10 {
			return t
		}
	}
	return nil
}

// check returns an error that says what the kind needs and does not have.
func (p *plan) check() error {
	ok, need := p.x != nil, "a column in x"
	switch p.kind {
	case Histogram:
		ok, need = ok && p.x.Kind != data.Text, "a column of numbers in x"
	case Scatter:
		ok, need = ok && p.x.Kind != data.Text && len(p.ys) > 0, "two columns of numbers, in x and y"
	case Box:
		ok, need = len(p.ys) > 0, "a column of numbers in y"
	case Dual:
		ok, need = ok && len(p.ys) == 2, "two columns of numbers in y"
	case Heatmap:
		ok, need = ok && p.series != nil, "a column in x, and one for the rows in series"
	}
	if ok {
		return nil
	}
	var has []string
	for i, c := range p.table.Columns {
		if i == 30 {
			has = append(has, fmt.Sprintf("and %d more", len(p.table.Columns)-30))
			break
		}
		has = append(has, fmt.Sprintf("%q (%s)", c.Name, c.Kind))
	}
	return fmt.Errorf("a %s chart needs %s; the columns of %s are %s",
		p.kind, need, p.table.Name, strings.Join(has, ", "))
}
