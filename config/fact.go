package config

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/llm/provider"
)

// A Fact is what an endpoint has said of one of its models: by what it tells of itself, or
// by a refusal.
type Fact struct {
	Key     string    `json:"key"`               // as in [models]: window, output, vision, tools, reasoning
	Value   string    `json:"value"`             // a number, or true or false
	From    string    `json:"from"`              // what said it, such as its list of models
	Refusal bool      `json:"refusal,omitempty"` // it refused a request
	At      time.Time `json:"at"`                // when
	Why     string    `json:"why,omitempty"`     // by what it is known, such as the words of a refusal; "": the endpoint said so itself
}

// source returns where the value of f comes from.
func (f Fact) source() Source {
	return Source{From: provider.Endpoint, Name: f.From + ", " + f.At.Format(time.DateOnly)}
}

// info returns what facts say, in the form of the configuration.
func info(facts []Fact) (i Info) {
	for _, f := range facts {
		n, _ := strconv.Atoi(f.Value)
		yes := f.Value == "true"
		switch f.Key {
		case "window":
			i.Window = n
		case "output":
			i.Output = n
		case "vision":
			i.Vision = &yes
		case "tools":
			i.Tools = &yes
		case "reasoning":
			i.Reasoning = &yes
		}
	}
	return i
}

// refusalFor is how long a refusal counts beside the configuration, and not after it.
const refusalFor = 7 * 24 * time.Hour

// learned returns the facts about m that count beside the configuration, which are the
// window of a refusal of this week, and those that count after it.
func (c *Config) learned(m Model) (refusals, said []Fact) {
	if c.Learned == nil || m.BaseURL == "" {
		return nil, nil
	}
	for _, f := range c.Learned(m) {
		if f.Refusal && f.Key == "window" && time.Since(f.At) < refusalFor {
			refusals = append(refusals, f)
		} else {
			said = append(said, f)
		}
	}
	return refusals, said
}

// factAt returns the source of a value of m that its endpoint has told.
func factAt(facts []Fact, key string) (Source, bool) {
	for _, f := range slices.Backward(facts) { // the last one counts: see info
		if f.Key == key {
			return f.source(), true
		}
	}
	return Source{}, false
}

// Facts returns what the endpoint of m has told of it, the refusals that count beside the
// configuration first.
func (c *Config) Facts(m Model) []Fact {
	c = c.withModels()
	refusals, said := c.learned(m)
	return slices.Concat(refusals, said)
}

// Told says in one line what the endpoint of m has told of it, with days, and why where it did
// not say so itself; "" if nothing. A reason may be in the words of the endpoint.
func (c *Config) Told(m Model) string {
	var words []string
	for _, f := range c.Facts(m) {
		why := ""
		if f.Why != "" {
			why = ": " + f.Why
		}
		words = append(words, f.Key+" "+f.Value+" ("+f.source().Name+why+")")
	}
	return strings.Join(words, "; ")
}
