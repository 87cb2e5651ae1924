package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/openmanus-go/openmanus/llm"
)

// Parse reads a script. Errors name the line.
func Parse(data []byte) (*Script, error) {
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	a := txtar.Parse(data)
	if len(a.Files) == 0 {
		return nil, errors.New("there is no reply in it: a reply is a section that begins with a line such as -- answer --")
	}
	s := &Script{Remark: strings.TrimSpace(string(a.Comment))}
	line := 1 + bytes.Count(a.Comment, []byte("\n"))
	for _, f := range a.Files {
		p := &parser{lines: strings.Split(strings.TrimSuffix(string(f.Data), "\n"), "\n"), at: line,
			sec: &section{name: f.Name, line: line, cut: -1, repeat: 1}}
		if err := p.section(); err != nil {
			return nil, err
		}
		s.sections = append(s.sections, p.sec)
		line += 1 + bytes.Count(f.Data, []byte("\n"))
	}
	return s, nil
}

// A parser reads one section.
type parser struct {
	lines []string
	at    int // line of the script, of the one that was read last
	sec   *section
	text  []string // of the text part that is being read
}

func (p *parser) next() (string, bool) {
	if len(p.lines) == 0 {
		return "", false
	}
	l := p.lines[0]
	p.lines, p.at = p.lines[1:], p.at+1
	return l, true
}

func (p *parser) errorf(format string, a ...any) error {
	return fmt.Errorf("line %d: %s", p.at, fmt.Sprintf(format, a...))
}

func (p *parser) section() error {
	for l, ok := p.next(); ok; l, ok = p.next() {
		word, rest, _ := strings.Cut(l, " ")
		switch {
		case strings.HasPrefix(l, "@@"):
			p.text = append(p.text, l[1:])
		case strings.HasPrefix(l, "@"):
			if err := p.directive(word, strings.TrimSpace(rest)); err != nil {
				return err
			}
		default:
			p.text = append(p.text, l)
		}
	}
	p.endText()
	if p.sec.stop == "" {
		p.sec.stop = llm.End
		if len((llm.Message{Parts: p.sec.parts}).Calls()) > 0 {
			p.sec.stop = llm.ToolUse
		}
	}
	return nil
}

// endText makes a part of the lines of text so far.
func (p *parser) endText() {
	text := strings.Trim(strings.Join(p.text, "\n"), "\n")
	p.text = nil
	if strings.TrimSpace(text) != "" {
		p.sec.parts = append(p.sec.parts, llm.Text{Text: text})
	}
}

func (p *parser) directive(word, rest string) error {
	switch word {
	case "@call", "@thinking":
		p.endText()
	}
	switch word {
	case "@call":
		return p.call(rest)
	case "@arg", "@raw":
		return p.argument(word, rest)
	case "@thinking":
		p.sec.parts = append(p.sec.parts, llm.Thinking{Text: rest})
	case "@stop":
		p.sec.stop = llm.Stop(rest)
		if !slices.Contains([]llm.Stop{llm.End, llm.ToolUse, llm.Length, llm.Filter, llm.Refusal}, p.sec.stop) {
			return p.errorf("@stop %s: the reasons are length, filter and refusal", rest)
		}
	case "@usage":
		return p.usage(strings.Fields(rest))
	case "@pace":
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 {
			return p.errorf("@pace %s: a duration is written as in 20ms", rest)
		}
		p.sec.pace = d
	case "@fail":
		return p.fail(rest)
	case "@cut":
		n, err := strconv.Atoi(rest)
		if err != nil || n < 0 {
			return p.errorf("@cut %s: a number of bytes is wanted", rest)
		}
		p.sec.cut = n
	case "@expect":
		return p.pattern(&p.sec.expect, word, rest)
	case "@when":
		return p.pattern(&p.sec.when, word, rest)
	case "@repeat":
		return p.repeat(rest)
	default:
		return p.errorf("there is no %s (a line of text that begins with @ is written with @@)", word)
	}
	return nil
}

func (p *parser) call(rest string) error {
	name, input, _ := strings.Cut(rest, " ")
	if name == "" {
		return p.errorf("@call: the tool's name is missing")
	}
	if input = strings.TrimSpace(input); input == "" {
		input = "{}"
	}
	if !json.Valid([]byte(input)) {
		return p.errorf("@call %s: the arguments are not valid JSON (for arguments that are not meant to be, use @raw)", name)
	}
	p.sec.parts = append(p.sec.parts, llm.Call{Name: name, Input: input})
	return nil
}

// argument reads the lines of an argument, and adds it to the last call.
func (p *parser) argument(word, rest string) error {
	n := len(p.sec.parts)
	c, ok := llm.Call{}, false
	if n > 0 {
		c, ok = p.sec.parts[n-1].(llm.Call)
	}
	name, end, heredoc := strings.Cut(rest, "<<")
	name, end = strings.TrimSpace(name), strings.TrimSpace(end)
	switch {
	case !ok:
		return p.errorf("%s: it belongs below a @call", word)
	case !heredoc || end == "" || (name == "") != (word == "@raw"):
		return p.errorf("%s is written as in: @arg NAME <<END, or @raw <<END", word)
	}
	var lines []string
	for {
		l, ok := p.next()
		if !ok {
			return p.errorf("%s: the line %s that ends it is missing", word, end)
		}
		if l == end {
			break
		}
		lines = append(lines, l)
	}
	text := strings.Join(lines, "\n")
	if word == "@raw" {
		c.Input = text
	} else {
		input, err := withArgument(c.Input, name, text+"\n")
		if err != nil {
			return p.errorf("@arg %s: %v", name, err)
		}
		c.Input = input
	}
	p.sec.parts[n-1] = c
	return nil
}

// withArgument returns a JSON object with one member more, at its end.
func withArgument(input, name, text string) (string, error) {
	body, ok := strings.CutSuffix(strings.TrimSpace(input), "}")
	if !ok {
		return "", errors.New("the arguments of the call are not an object")
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(name); err != nil {
		return "", err
	}
	b.Truncate(b.Len() - 1)
	b.WriteString(": ")
	if err := enc.Encode(text); err != nil {
		return "", err
	}
	if strings.TrimSpace(body) != "{" {
		body += ", "
	}
	return body + strings.TrimSuffix(b.String(), "\n") + "}", nil
}

func (p *parser) usage(fields []string) error {
	var n [3]int
	for i, f := range fields {
		v, err := strconv.Atoi(f)
		if err != nil || v < 0 || i >= len(n) {
			return p.errorf("@usage is written as in: @usage IN OUT [CACHED]")
		}
		n[i] = v
	}
	if len(fields) < 2 {
		return p.errorf("@usage is written as in: @usage IN OUT [CACHED]")
	}
	p.sec.usage = &llm.Usage{Input: n[0], Output: n[1], Cached: n[2]}
	return nil
}

func (p *parser) fail(rest string) error {
	first, text, _ := strings.Cut(rest, " ")
	p.sec.fails = -1
	if n, err := strconv.ParseInt(first, 10, 64); err == nil {
		p.sec.fails = n
		first, text, _ = strings.Cut(text, " ")
	}
	kinds := []llm.Kind{llm.Auth, llm.NoModel, llm.RateLimit, llm.Context, llm.Filtered, llm.Refused, llm.Network, llm.Timeout, llm.Protocol}
	if !slices.Contains(kinds, llm.Kind(first)) {
		return p.errorf("@fail %s: the kinds are %v", first, kinds)
	}
	if text == "" {
		text = "as the script says"
	}
	p.sec.fail = &llm.Error{Kind: llm.Kind(first), Err: errors.New(text)}
	return nil
}

func (p *parser) pattern(re **regexp.Regexp, word, rest string) error {
	r, err := regexp.Compile(rest)
	if err != nil {
		return p.errorf("%s: %v", word, err)
	}
	*re = r
	return nil
}

func (p *parser) repeat(rest string) error {
	if p.sec.repeat = -1; rest == "" {
		return nil
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < 1 {
		return p.errorf("@repeat %s: a number from 1 is wanted", rest)
	}
	p.sec.repeat = n
	return nil
}
