package chart

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/openmanus-go/openmanus/data"
)

// A meaning says what can be done with the values of a column.
type meaning int

const (
	unclear meaning = iota
	amount          // they can be added: counts, money, weights of goods
	level           // their sum means nothing: rates, averages, prices, temperatures
)

// levels and amounts are words in the names of columns.
var (
	levels = strings.Fields("rate ratio avg average mean median price temp temperature percent percentage pct share score age index " +
		"height weight length speed rating density per unemployment inflation growth margin yield probability interest pressure " +
		"humidity ph lat latitude lon lng longitude elevation altitude celsius fahrenheit concentration ppm bmi gpa level percentile " +
		"min minimum max maximum std stdev variance coefficient conversion ctr roi utilization occupancy efficiency heartrate")
	levelSigns = []string{"率", "均", "价", "温", "比", "年龄", "指数", "°", "%", "/"}
	amounts    = strings.Fields("total sum count number amount qty quantity sales sold revenue turnover cost profit expense population " +
		"unit visit view order user death case birth production export import budget spend spending tax")
	amountSigns = []string{"数量", "总", "额", "人口"}
)

// meaningOf returns what the values of a column mean: by the words of its name and its unit, and else by
// the values. Whole numbers are counts. Numbers that hardly differ, as the same thing measured again does,
// are levels.
func meaningOf(y *data.Column) meaning {
	words := wordsOf(y.Name)
	has := func(list, signs []string) bool {
		return slices.ContainsFunc(words, func(w string) bool {
			return slices.Contains(list, w) || slices.Contains(list, strings.TrimSuffix(w, "s"))
		}) || slices.ContainsFunc(signs, func(s string) bool { return strings.Contains(y.Name, s) })
	}
	switch {
	case y.Unit == data.Percent, has(levels, levelSigns):
		return level
	case y.Unit != "", has(amounts, amountSigns): // the other units are money
		return amount
	}
	values := present(y.Nums)
	whole := !slices.ContainsFunc(values, func(v float64) bool { return v != math.Trunc(v) })
	switch {
	case len(values) == 0 || whole:
		return amount
	case len(values) >= 4 && slices.Min(values) > 0 && slices.Max(values) <= 3*slices.Min(values):
		return level
	}
	return unclear
}

// wordsOf returns the words of a name such as avgPrice, unit_cost or "Heart rate", in small letters.
func wordsOf(name string) []string {
	var b strings.Builder
	before := ' '
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		before = r
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) })
}
