package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

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

// quote returns s as JSON, without the escapes for HTML.
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
		p.failf("this is not valid JSON: %v (broken arguments go between <<END and END)", err)
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
