package scripted

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
)

// A condition is the text after @when or @expect.
type condition struct {
	line    int
	subject string
	not     bool
	verb    string // contains, is, matches
	want    string
	pattern *regexp.Regexp
}

var subjects = []string{"system", "tools", "task", "user", "last", "results", "errors", "conversation"}

// condition parses the text after @when or @expect.
func (p *parser) condition(rest string) condition {
	c := condition{line: p.line}
	c.subject, rest = word(rest)
	if !slices.Contains(subjects, c.subject) {
		p.failf("%q cannot be looked at: it is %s", c.subject, strings.Join(subjects, ", "))
	}
	c.verb, rest = word(rest)
	if c.verb == "not" {
		c.not = true
		c.verb, rest = word(rest)
	}
	c.want = strings.TrimSuffix(p.text(rest), "\n")
	if q, err := strconv.Unquote(rest); err == nil && strings.HasPrefix(rest, `"`) {
		c.want = q
	}
	switch c.verb {
	case "contains", "is":
	case "matches":
		re, err := regexp.Compile(c.want)
		if err != nil {
			p.failf("%v", err)
		}
		c.pattern = re
	default:
		p.failf("after @when or @expect and %s comes contains, is or matches, or not and one of them; this is %q", c.subject, c.verb)
	}
	return c
}

// word splits s at the first space.
func word(s string) (first, rest string) {
	first, rest, _ = strings.Cut(strings.TrimSpace(s), " ")
	return first, strings.TrimSpace(rest)
}

// holds reports whether c holds for req, and returns the text that it looked at.
func (c condition) holds(req *llm.Request, n string) (string, bool) {
	got, want := c.look(req), strings.ReplaceAll(c.want, "{{n}}", n)
	var ok bool
	switch c.verb {
	case "contains":
		ok = strings.Contains(got, want)
	case "is":
		ok = strings.TrimSpace(got) == strings.TrimSpace(want)
	case "matches":
		ok = c.pattern.MatchString(got)
	}
	return got, ok != c.not
}

// look returns the part of req that c is about, as text.
func (c condition) look(req *llm.Request) string {
	last := llm.Message{}
	if len(req.Messages) > 0 {
		last = req.Messages[len(req.Messages)-1]
	}
	fromUser := func(m llm.Message) bool { return m.Role == llm.User }
	switch c.subject {
	case "system":
		return req.System
	case "tools":
		names := make([]string, len(req.Tools))
		for i, t := range req.Tools {
			names[i] = t.Name
		}
		return strings.Join(names, " ")
	case "task":
		if i := slices.IndexFunc(req.Messages, fromUser); i >= 0 {
			return words(req.Messages[i].Parts)
		}
	case "user":
		for _, m := range slices.Backward(req.Messages) {
			if fromUser(m) {
				return words(m.Parts)
			}
		}
	case "last":
		return words(last.Parts)
	case "results":
		return words(results(req, everything))
	case "errors":
		return words(results(req, func(r llm.Result) bool { return r.IsError }))
	case "conversation":
		var all []string
		for _, m := range req.Messages {
			all = append(all, words(m.Parts))
		}
		return strings.Join(all, "\n")
	}
	return ""
}

// everything wants all results.
func everything(llm.Result) bool { return true }

// results returns the results that are wanted among those that follow the last reply:
// a nudge or a picture may come after them.
func results(req *llm.Request, wanted func(llm.Result) bool) (all llm.Parts) {
	after := 0
	for i, m := range req.Messages {
		if m.Role == llm.Assistant {
			after = i + 1
		}
	}
	for _, m := range req.Messages[after:] {
		for _, p := range m.Parts {
			if r, ok := p.(llm.Result); ok && wanted(r) {
				all = append(all, r)
			}
		}
	}
	return all
}

// words returns the text of parts, each on lines of its own.
func words(parts llm.Parts) string {
	var all []string
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			all = append(all, p.Text)
		case llm.Call:
			all = append(all, p.Name+" "+p.Input)
		case llm.Blob:
			all = append(all, fmt.Sprintf("[%s %s, %d bytes]", p.Name, p.MIME, len(p.Data)))
		case llm.Result:
			all = append(all, words(p.Parts))
		}
	}
	return strings.Join(all, "\n")
}

// explain says how got differs from what c asks for.
func (c condition) explain(got string) string {
	verb := c.verb
	if c.not {
		verb = "not " + verb
	}
	return fmt.Sprintf("%s %s\n%s\nand what is there is\n%s", c.subject, verb, lines("- ", c.want), lines("+ ", got))
}

// lines returns at most 40 lines of text, each after a mark.
func lines(mark, text string) string {
	ls, rest := strings.Split(strings.TrimRight(text, "\n"), "\n"), ""
	if len(ls) > 40 {
		rest = fmt.Sprintf("\n%s... and %d more lines", mark, len(ls)-40)
		ls = ls[:40]
	}
	short := make([]string, len(ls))
	for i, l := range ls {
		if len(l) > 300 {
			l = strings.ToValidUTF8(l[:300], "") + "..."
		}
		short[i] = mark + l
	}
	return strings.Join(short, "\n") + rest
}
