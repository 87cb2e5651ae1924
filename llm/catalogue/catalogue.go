// Package catalogue is what is known of the models there are: how much they
// read and write, what they cost, what they can. It is data, in models.txt, which
// scripts/catalogue makes from public tables: the models that are known by name, and then
// families, whose names are patterns, so that next month's model of a family is
// known for what it will be, more or less. A family has no price.
package catalogue

import (
	_ "embed"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus/llm/provider"
)

// A Model is what is known of the models whose names fit Pattern. Numbers
// that are zero are not known.
type Model struct {
	Pattern string // PROVIDER/NAME; of a family as in [path.Match], and its provider may be *
	Family  bool

	Window int // tokens that fit into a request and its reply
	Output int // tokens of one reply, at most

	// Prices, in billionths of a US dollar for a token: what is read, what is
	// written, what is read from the provider's cache, and what is read and
	// written to it. If one of the last two is not known, it equals the first.
	PriceIn, PriceOut, PriceCached, PriceCacheWrite int64

	Tiers []Tier // prices of long requests, the shortest first

	Vision    bool // sees images
	Tools     bool // calls tools
	Reasoning bool // thinks before it speaks

	// Refuses names the settings that it does not take, separated by spaces:
	// temperature, effort.
	Refuses string

	Day string // when the figures were compared, as in 2006-01-02; "": there are none
	By  string // the tables that agree on them, or "family": the window is that of most models of the family
}

// A Tier is what all tokens of a request cost that has more than Above tokens.
type Tier struct {
	Above                                           int
	PriceIn, PriceOut, PriceCached, PriceCacheWrite int64
}

//go:embed models.txt
var data string

var all = sync.OnceValue(func() []Model {
	models, err := parse(data)
	if err != nil {
		panic(err) // a test reads it
	}
	return models
})

// All returns what is known, in the order in which it is looked at.
func All() []Model { return append([]Model(nil), all()...) }

// Old returns the models whose figures are older than 90 days at the time now. Prices
// change: scripts/catalogue makes the table anew.
func Old(now time.Time) (old []Model) {
	for _, m := range all() {
		if day, err := time.Parse(time.DateOnly, m.Day); m.Day != "" && (err != nil || now.Sub(day) > 90*24*time.Hour) {
			old = append(old, m)
		}
	}
	return old
}

// Find returns what is known of a provider's model, which may be known by name, as
// one of a family, or as both. A model that a provider serves of another maker is known by
// its name at that provider, or else for what it is at its maker; where that is unknown,
// too, it has no price. It has no window at a provider that loads models with a window of
// its own: see [provider.Provider].Window.
func Find(p *provider.Provider, name string) (Model, bool) {
	own, maker, name := p.Name, p.Name, strings.ToLower(name)
	known := named(own, name)
	if p.Maker != nil {
		maker, name = p.Maker(name)
	}
	if known == nil {
		known = named(maker, name)
	}
	if known == nil {
		known = named("*", name)
	}
	family := familyOf(own, maker, name)
	if known == nil && family == nil {
		return Model{}, false
	}
	m := Model{}
	switch {
	case known == nil:
		m = *family
	case family == nil:
		m = *known
	default:
		m = *known
		if m.Window == 0 {
			m.Window = family.Window
		}
	}
	if p.Window != 0 {
		m.Window, m.Output = 0, 0
	}
	return m, true
}

// named returns the line of a model that is known by name; nil if there is none.
func named(by, name string) *Model {
	all := all()
	for i := range all {
		if !all[i].Family && all[i].Pattern == by+"/"+name {
			return &all[i]
		}
	}
	return nil
}

// familyOf returns the first family that a name fits; nil if there is none.
func familyOf(own, maker, name string) *Model {
	all := all()
	for i := range all {
		by, pattern, _ := strings.Cut(all[i].Pattern, "/")
		if !all[i].Family || by != own && by != maker && by != "*" {
			continue
		}
		if ok, _ := path.Match(pattern, name); ok { // parse has looked at the pattern
			return &all[i]
		}
	}
	return nil
}

// parse reads the table.
func parse(text string) ([]Model, error) {
	var models []Model
	for n, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		m, err := row(f)
		if err != nil {
			return nil, fmt.Errorf("models.txt:%d: %w", n+1, err)
		}
		models = append(models, m)
	}
	return models, nil
}

// row parses the columns of a line: the pattern, two numbers of tokens, four prices, and
// words for abilities.
func row(f []string) (m Model, err error) {
	if len(f) < 7 {
		return m, fmt.Errorf("%d columns of at least 7", len(f))
	}
	m.Pattern = f[0]
	m.Family = strings.ContainsAny(strings.TrimPrefix(m.Pattern, "*"), "*?[")
	if _, err := path.Match(m.Pattern, ""); err != nil || !strings.Contains(m.Pattern, "/") || m.Family && strings.Count(m.Pattern, "/") != 1 {
		return m, fmt.Errorf("%q is no PROVIDER/NAME", m.Pattern)
	}
	for i, to := range []*int{&m.Window, &m.Output} {
		if *to, err = tokens(f[1+i]); err != nil {
			return m, err
		}
	}
	if err = prices(f[3:7], &m.PriceIn, &m.PriceOut, &m.PriceCached, &m.PriceCacheWrite); err != nil {
		return m, err
	}
	for _, word := range f[7:] {
		if err = m.word(word); err != nil {
			return m, err
		}
	}
	return m, nil
}

// word parses what stands after the columns: an ability, a setting that is refused, a
// tier, or where the line is from.
func (m *Model) word(word string) (err error) {
	if refused, no := strings.CutPrefix(word, "-"); no {
		m.Refuses = strings.TrimSpace(m.Refuses + " " + refused)
		return nil
	}
	if tier, is := strings.CutPrefix(word, ">"); is {
		above, four, _ := strings.Cut(tier, ":")
		var t Tier
		if t.Above, err = strconv.Atoi(above); err == nil {
			err = prices(strings.Split(four, "/"), &t.PriceIn, &t.PriceOut, &t.PriceCached, &t.PriceCacheWrite)
		}
		m.Tiers = append(m.Tiers, t)
		return err
	}
	switch name, value, _ := strings.Cut(word, "="); name {
	case "vision":
		m.Vision = true
	case "tools":
		m.Tools = true
	case "reasoning":
		m.Reasoning = true
	case "on":
		m.Day = value
	case "by":
		m.By = value
	default:
		return fmt.Errorf("%q is nothing that a model can", word)
	}
	return nil
}

// prices parses prices into the numbers of a line or of a tier.
func prices(columns []string, to ...*int64) (err error) {
	if len(columns) != len(to) {
		return fmt.Errorf("%d prices in place of %d", len(columns), len(to))
	}
	for i := range to {
		if *to[i], err = price(columns[i]); err != nil {
			return err
		}
	}
	return nil
}

// tokens parses a number of tokens, such as 8192 or 200k; "-" is 0.
func tokens(s string) (int, error) {
	if s == "-" {
		return 0, nil
	}
	number, thousands := strings.CutSuffix(s, "k")
	n, err := strconv.Atoi(number)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q is no number of tokens", s)
	}
	if thousands {
		n *= 1000
	}
	return n, nil
}

var decimal = regexp.MustCompile(`^[0-9]+(\.[0-9]{1,3})?$`)

// price turns dollars for a million tokens into billionths for one.
func price(s string) (int64, error) {
	if s == "-" {
		return 0, nil
	}
	if !decimal.MatchString(s) {
		return 0, fmt.Errorf("%q is no price: dollars, with at most three digits after the point", s)
	}
	whole, fraction, _ := strings.Cut(s, ".")
	return strconv.ParseInt(whole+(fraction + "000")[:3], 10, 64)
}
