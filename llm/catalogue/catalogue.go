// Package catalogue is what is known of the models there are: how much they
// read and write, what they cost, what they can. It is data, in models.txt,
// and the names in it are patterns, so that next month's model of a family is
// known for what it will be, more or less.
package catalogue

import (
	_ "embed"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus/llm/provider"
)

// A Model is what is known of the models whose names fit Pattern. Numbers
// that are zero are not known.
type Model struct {
	Pattern string // PROVIDER/NAME, as in [path.Match]; the provider may be *

	Window int // tokens that fit into a request and its reply
	Output int // tokens of one reply, at most

	// Prices, in billionths of a US dollar for a token: what is read, what is
	// written, what is read from the provider's cache, and what is read and
	// written to it. If one of the last two is not known, it equals the first.
	PriceIn, PriceOut, PriceCached, PriceCacheWrite int64

	Vision    bool // sees images
	Tools     bool // calls tools
	Reasoning bool // thinks before it speaks

	// Refuses names the settings that it does not take, separated by spaces:
	// temperature, effort.
	Refuses string
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

// Find returns what is known of a provider's model. It has no price for models
// served by a third party, and no window for those of a provider that loads
// models with a window of its own: see [provider.Provider].Window.
func Find(p *provider.Provider, name string) (Model, bool) {
	maker, name := p.Name, strings.ToLower(name)
	if p.Maker != nil {
		maker, name = p.Maker(name)
	}
	for _, m := range all() {
		by, pattern, _ := strings.Cut(m.Pattern, "/")
		if by != maker && by != "*" {
			continue
		}
		if ok, _ := path.Match(pattern, name); !ok { // parse has looked at the pattern
			continue
		}
		if p.Window != 0 {
			m.Window, m.Output = 0, 0
		}
		return m, true
	}
	return Model{}, false
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
	if _, err := path.Match(m.Pattern, ""); err != nil || strings.Count(m.Pattern, "/") != 1 {
		return m, fmt.Errorf("%q is no PROVIDER/NAME", m.Pattern)
	}
	for i, to := range []*int{&m.Window, &m.Output} {
		if *to, err = tokens(f[1+i]); err != nil {
			return m, err
		}
	}
	for i, to := range []*int64{&m.PriceIn, &m.PriceOut, &m.PriceCached, &m.PriceCacheWrite} {
		if *to, err = price(f[3+i]); err != nil {
			return m, err
		}
	}
	for _, word := range f[7:] {
		switch refused, no := strings.CutPrefix(word, "-"); {
		case no:
			m.Refuses = strings.TrimSpace(m.Refuses + " " + refused)
		case word == "vision":
			m.Vision = true
		case word == "tools":
			m.Tools = true
		case word == "reasoning":
			m.Reasoning = true
		default:
			return m, fmt.Errorf("%q is nothing that a model can", word)
		}
	}
	return m, nil
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
