package scripted

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/llm"
)

// directive parses a line that begins with @word, and what it needs of the lines after
// it, into sec.
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

// duration parses a duration; a mistake is an error of the script.
func (p *parser) duration(s string) time.Duration {
	d, err := time.ParseDuration(strings.TrimSpace(s))
	if err != nil || d < 0 {
		p.failf("%q is no duration such as 20ms or 1s", strings.TrimSpace(s))
	}
	return max(d, 0)
}

// usage parses the text after @usage.
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

// fail parses the text after @fail: a status or a kind, options, and the words of the
// error.
func (p *parser) fail(sec *section, rest string) {
	what, rest, _ := strings.Cut(rest, " ")
	f := fail{err: llm.Error{Kind: llm.Kind(what)}}
	if status, err := strconv.Atoi(what); err == nil {
		f.err = llm.Error{Kind: llm.KindOfStatus(status), Status: status, Permanent: status == 402}
	} else {
		switch f.err.Kind {
		case llm.Auth, llm.NoModel, llm.RateLimit, llm.Context, llm.Filtered, llm.Refused, llm.Network, llm.Timeout, llm.Protocol:
		default:
			p.failf("@fail %s: after it comes an HTTP status, or auth, model, rate_limit, context, filter, refusal, network, timeout or protocol", what)
		}
	}
	var message string
	f.times, message = p.options(rest, &f.err.RetryAfter)
	message = cmp.Or(message, "the script says that this fails")
	f.err.Err = errors.New(message)
	sec.steps = append(sec.steps, f)
}

// cut parses the text after @cut.
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
