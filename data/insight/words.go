package insight

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"github.com/openmanus-go/openmanus/data"
)

// words writes texts in one of two languages.
type words struct{ chinese bool }

// text formats the one of its formats that is in the language. Both take the
// same arguments, by their numbers where the order differs.
func (w words) text(en, zh string, a ...any) string {
	if w.chinese {
		en = zh
	}
	return fmt.Sprintf(en, a...)
}

// about begins a text about a series with its name, if it has one.
func (w words) about(s Series, set Set) string {
	name := s.Name
	name = cmp.Or(name, set.YName)
	if name == "" {
		return ""
	}
	return w.text("%s: ", "%s：", name)
}

// place writes an x.
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

// number writes a value with its unit, to four digits.
func number(v float64, u data.Unit) string { return u.Format(short(v)) }

// signed is number with a plus before values above 0.
func signed(v float64, u data.Unit) string {
	if v > 0 {
		return "+" + number(v, u)
	}
	return number(v, u)
}

// short writes a number to four significant digits.
func short(v float64) string {
	a := math.Abs(v)
	if a >= 1e4 && a < 1e15 {
		return data.FormatNumber(math.Round(v))
	}
	if f, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64); err == nil {
		v = f
	}
	return data.FormatNumber(v)
}

// pValue writes a p-value as papers do.
func pValue(p float64) string {
	switch {
	case math.IsNaN(p):
		return "p n/a"
	case p < 0.001:
		return "p < 0.001"
	}
	return "p = " + strconv.FormatFloat(p, 'f', 3, 64)
}

// percent writes a share with one decimal.
func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + "%" }

// signedPercent is percent with a plus before values above 0.
func signedPercent(share float64) string {
	if share > 0 {
		return "+" + percent(share)
	}
	return percent(share)
}
