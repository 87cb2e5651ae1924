package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/openmanus-go/openmanus/llm"
)

// A Script is what a scripted model says. It does not change.
type Script struct {
	name     string
	sections []*section
}

// section is one section of the file.
type section struct {
	line           int
	from, to, step int // numbers of the replies; to is 0 if there is no last one
	when, expect   []condition
	steps          []any // text, thinking, call, fail, cut
	stop           llm.Stop
	usage          *llm.Usage
	pace           time.Duration
}

type (
	text     string
	thinking string
	call     struct {
		name, input string
		id          *string
	}
	fail struct {
		err   llm.Error
		times int // 0: always
	}
	cut struct {
		after int // bytes; -1: here
		times int
	}
)

// Open reads a script from a file.
func Open(file string) (*Script, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	return parse(filepath.Base(file), data)
}

// Parse reads a script. The error names every line at fault.
func Parse(data []byte) (*Script, error) { return parse("script", data) }

func parse(name string, data []byte) (*Script, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	archive := txtar.Parse(data)
	p := &parser{name: name}
	pace := p.head(string(archive.Comment))
	s := &Script{name: name}
	line, last := 1+bytes.Count(archive.Comment, []byte("\n")), 0
	for _, f := range archive.Files {
		sec := &section{line: line, pace: pace}
		p.line = line
		p.number(sec, f.Name, last)
		last = max(sec.from, sec.to)
		p.lines, p.line = strings.Split(strings.TrimSuffix(string(f.Data), "\n"), "\n"), line
		p.section(sec)
		s.sections = append(s.sections, sec)
		line += 1 + bytes.Count(f.Data, []byte("\n"))
	}
	if len(archive.Files) == 0 {
		p.failf("there is no reply: write one below a line such as -- 1 --")
	}
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	return s, nil
}

// parser reads the lines of a section. line is the number of the last line
// that was taken from lines.
type parser struct {
	name  string
	lines []string
	line  int
	errs  []error
}

func (p *parser) failf(format string, a ...any) {
	p.errs = append(p.errs, fmt.Errorf("%s:%d: %s", p.name, p.line, fmt.Sprintf(format, a...)))
}

func (p *parser) next() (string, bool) {
	if len(p.lines) == 0 {
		return "", false
	}
	line := p.lines[0]
	p.lines = p.lines[1:]
	p.line++
	return line, true
}

// head reads what comes before the first section.
func (p *parser) head(comment string) (pace time.Duration) {
	for line := range strings.Lines(comment) {
		p.line++
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case word == "@pace":
			pace = p.duration(rest)
		case strings.HasPrefix(word, "@") && !strings.HasPrefix(word, "@@"):
			p.failf("%s cannot stand before the first reply; only @pace can", word)
		}
	}
	return pace
}

var numbers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d+)(?:(-)(\d*)(?:/(\d+))?)?$`)
})

func (p *parser) number(sec *section, name string, last int) {
	word, _, _ := strings.Cut(name, " ")
	sec.step = 1
	switch m := numbers().FindStringSubmatch(word); {
	case word == "any":
		sec.from = 1
	case m == nil:
		sec.from, sec.to = last+1, last+1
	default:
		sec.from, sec.to = atoi(m[1]), atoi(m[3])
		if m[2] == "" {
			sec.to = sec.from
		}
		if m[4] != "" {
			sec.step = atoi(m[4])
		}
		if sec.from < 1 || sec.step < 1 || m[3] != "" && sec.to < sec.from {
			p.failf("%s is no range of replies: the first is 1", word)
		}
	}
}

// atoi reads digits; what is too large for a script is as large as one can be.
func atoi(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil && digits != "" {
		return 1 << 30
	}
	return min(n, 1<<30)
}

// section reads the lines of a reply.
func (p *parser) section(sec *section) {
	var prose []string
	flush := func() {
		for len(prose) > 0 && strings.TrimSpace(prose[0]) == "" {
			prose = prose[1:]
		}
		if s := strings.TrimRight(strings.Join(prose, "\n"), " \t\n"); s != "" {
			sec.steps = append(sec.steps, text(s))
		}
		prose = nil
	}
	for {
		line, ok := p.next()
		if !ok {
			flush()
			return
		}
		if rest, ok := strings.CutPrefix(line, "@"); !ok {
			prose = append(prose, line)
		} else if strings.HasPrefix(rest, "@") || strings.HasPrefix(rest, "-- ") {
			prose = append(prose, rest)
		} else {
			flush()
			word, rest, _ := strings.Cut(rest, " ")
			p.directive(sec, word, strings.TrimSpace(rest))
		}
	}
}

func (p *parser) directive(sec *section, word, rest string) {
	switch word {
	case "call":
		p.call(sec, rest)
	case "thinking":
		sec.steps = append(sec.steps, thinking(p.text(rest)))
	case "stop":
		sec.stop = llm.Stop(rest)
		switch sec.stop {
		case llm.End, llm.ToolUse, llm.Length, llm.Filter, llm.Refusal:
		default:
			p.failf("@stop %s: it is end, tool_use, length, filter or refusal", rest)
		}
	case "usage":
		p.usage(sec, rest)
	case "pace":
		sec.pace = p.duration(rest)
	case "fail":
		p.fail(sec, rest)
	case "cut":
		p.cut(sec, rest)
	case "when":
		sec.when = append(sec.when, p.condition(rest))
	case "expect":
		sec.expect = append(sec.expect, p.condition(rest))
	default:
		p.failf("@%s is not known: it is @call, @thinking, @stop, @usage, @pace, @fail, @cut, @when or @expect; a line of text that begins with @ is written with @@", word)
	}
}

func (p *parser) duration(s string) time.Duration {
	d, err := time.ParseDuration(strings.TrimSpace(s))
	if err != nil || d < 0 {
		p.failf("%q is no duration such as 20ms or 1s", strings.TrimSpace(s))
	}
	return max(d, 0)
}

// call reads a call after the word @call.
func (p *parser) call(sec *section, rest string) {
	name, args, _ := strings.Cut(rest, " ")
	c := call{name: name}
	if name, id, ok := strings.Cut(name, "#"); ok {
		c.name, c.id = name, &id
	}
	if c.name == "" {
		p.failf("@call needs the name of a tool")
	}
	switch args = strings.TrimSpace(args); {
	case strings.HasPrefix(args, "<<"):
		c.input = strings.TrimSuffix(p.text(args), "\n")
	case args != "":
		c.input = p.json(args)
	default:
		c.input = p.arguments()
	}
	sec.steps = append(sec.steps, c)
}

// arguments reads the indented lines below a call, as JSON in their order.
func (p *parser) arguments() string {
	var b strings.Builder
	seen := map[string]bool{}
	for len(p.lines) > 0 && strings.TrimSpace(p.lines[0]) != "" && strings.ContainsAny(p.lines[0][:1], " \t") {
		line, _ := p.next()
		line = strings.TrimSpace(line)
		i := strings.IndexAny(line, ":= ")
		if i <= 0 {
			p.failf("an argument is written as key: text, or as key = JSON")
			continue
		}
		key, value := line[:i], strings.TrimSpace(line[i:])
		if seen[key] {
			p.failf("the argument %s is there twice", key)
		}
		seen[key] = true
		switch {
		case strings.HasPrefix(value, ":"):
			value = quote(p.text(strings.TrimSpace(value[1:])))
		case strings.HasPrefix(value, "="):
			value = p.json(strings.TrimSpace(value[1:]))
		default:
			p.failf("an argument is written as key: text, or as key = JSON")
		}
		b.WriteString("," + quote(key) + ":" + value)
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(s) // a string always can be
	return strings.TrimSuffix(b.String(), "\n")
}

// text is first itself, or the lines up to the one that first names after <<.
func (p *parser) text(first string) string {
	end, ok := strings.CutPrefix(first, "<<")
	if !ok {
		return first
	}
	begin := p.line
	var b strings.Builder
	for {
		line, ok := p.next()
		if !ok || end == "" {
			p.line = begin
			p.failf("there is no line %q to end the text that begins here with <<%s", end, end)
			return ""
		}
		if line == end {
			return b.String()
		}
		if strings.HasPrefix(line, "@-- ") {
			line = line[1:]
		}
		b.WriteString(line + "\n")
	}
}

// json is first and as many more lines as make it a JSON value.
func (p *parser) json(first string) string {
	begin, value := p.line, first
	for !json.Valid([]byte(value)) {
		if unfinished(value) && len(p.lines) > 0 {
			more, _ := p.next()
			value += "\n" + more
			continue
		}
		var v any
		err := json.Unmarshal([]byte(value), &v)
		p.line = begin
		p.failf("what begins here is not valid JSON: %v (arguments that are to be broken go between <<END and END)", err)
		return "null"
	}
	return value
}

// unfinished reports whether more text could make s valid JSON.
func unfinished(s string) bool {
	err := json.Unmarshal([]byte(s), new(any))
	var syntax *json.SyntaxError
	return errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input"
}

func (p *parser) usage(sec *section, rest string) {
	sec.usage = &llm.Usage{}
	for _, f := range strings.Fields(rest) {
		key, value, _ := strings.Cut(f, "=")
		n, err := strconv.Atoi(value)
		to := map[string]*int{"input": &sec.usage.Input, "output": &sec.usage.Output, "cached": &sec.usage.Cached,
			"cache_write": &sec.usage.CacheWrite, "reasoning": &sec.usage.Reasoning}[key]
		if err != nil || n < 0 || to == nil {
			p.failf("@usage %s: it is input=N output=N cached=N cache_write=N reasoning=N", f)
			continue
		}
		*to = n
	}
}

func (p *parser) fail(sec *section, rest string) {
	what, rest, _ := strings.Cut(rest, " ")
	f := fail{err: llm.Error{Kind: llm.Kind(what)}}
	if status, err := strconv.Atoi(what); err == nil {
		f.err = ofStatus(status)
	} else {
		switch f.err.Kind {
		case llm.Auth, llm.NoModel, llm.RateLimit, llm.Context, llm.Filtered, llm.Refused, llm.Network, llm.Timeout, llm.Protocol:
		default:
			p.failf("@fail %s: after it comes an HTTP status, or auth, model, rate_limit, context, filter, refusal, network, timeout or protocol", what)
		}
	}
	var message string
	f.times, message = p.options(rest, &f.err.RetryAfter)
	if message == "" {
		message = "the script says that this fails"
	}
	f.err.Err = errors.New(message)
	sec.steps = append(sec.steps, f)
}

func ofStatus(status int) llm.Error {
	e := llm.Error{Kind: llm.Protocol, Status: status}
	switch {
	case status == 401 || status == 403:
		e.Kind = llm.Auth
	case status == 404:
		e.Kind = llm.NoModel
	case status == 408:
		e.Kind = llm.Timeout
	case status == 413:
		e.Kind = llm.Context
	case status == 402 || status == 429 || status == 529:
		e.Kind, e.Permanent = llm.RateLimit, status == 402
	case status >= 500:
		e.Kind = llm.Network
	}
	return e
}

func (p *parser) cut(sec *section, rest string) {
	c := cut{after: -1}
	if n, after, _ := strings.Cut(rest, " "); n != "" {
		if bytes, err := strconv.Atoi(n); err == nil && bytes >= 0 {
			c.after, rest = bytes, after
		}
	}
	c.times, rest = p.options(rest, nil)
	if rest != "" {
		p.failf("@cut %s: after it comes a number of bytes, and times=N", rest)
	}
	sec.steps = append(sec.steps, c)
}

// options reads times=N and, if after is not nil, retry-after=D, and returns
// what follows.
func (p *parser) options(rest string, after *time.Duration) (times int, message string) {
	for {
		word, more, _ := strings.Cut(strings.TrimSpace(rest), " ")
		key, value, _ := strings.Cut(word, "=")
		switch {
		case key == "times" && value != "":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				p.failf("%s: it is a number from 1 on", word)
			}
			times = n
		case key == "retry-after" && value != "" && after != nil:
			*after = p.duration(value)
		default:
			return times, strings.TrimSpace(rest)
		}
		rest = more
	}
}
