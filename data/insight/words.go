package insight

import (
	"fmt"
	"math"
	"strconv"

	"github.com/openmanus-go/openmanus/data"
)

// words says things in one of two languages.
type words struct{ chinese bool }

// say formats in the language; both formats take the same arguments, by their
// numbers where the order differs.
func (w words) say(en, zh string, a ...any) string {
	if w.chinese {
		return fmt.Sprintf(zh, a...)
	}
	return fmt.Sprintf(en, a...)
}

// of is how the text about a series begins: nothing if there is only one
// without a name.
func (w words) of(s Series, set Set) string {
	name := s.Name
	if name == "" {
		name = set.YName
	}
	if name == "" {
		return ""
	}
	return w.say("%s: ", "%s：", name)
}

// place is x as people write it.
func (set Set) place(x float64) string {
	switch {
	case set.XKind == data.Time:
		return data.FormatTime(x, set.XUnit)
	case set.Shape == Categories || set.XKind == data.Text:
		if i := int(x); i >= 0 && i < len(set.Labels) {
			return set.Labels[i]
		}
	}
	return data.FormatNumber(x)
}

// num is a value with its unit, to four digits.
func num(v float64, u data.Unit) string {
	s := short(v)
	switch u {
	case data.Percent:
		return s + "%"
	case "$", "€", "£", "¥", "₹":
		return string(u) + s
	}
	return s
}

// short is a number to four significant digits.
func short(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) || v == 0 {
		return data.FormatNumber(v)
	}
	if a := math.Abs(v); a >= 1e4 && a < 1e15 {
		return data.FormatNumber(math.Round(v))
	}
	f, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil {
		return data.FormatNumber(v)
	}
	return data.FormatNumber(f)
}

// pv is a p-value as papers write it.
func pv(p float64) string {
	switch {
	case math.IsNaN(p):
		return "p n/a"
	case p < 0.001:
		return "p < 0.001"
	}
	return "p = " + strconv.FormatFloat(p, 'f', 3, 64)
}

func percent(v float64) string {
	s := strconv.FormatFloat(100*v, 'f', 1, 64) + "%"
	if v > 0 {
		return "+" + s
	}
	return s
}

func share(v float64) string { return strconv.FormatFloat(100*v, 'f', 1, 64) + "%" }
