package scripted

import (
	"bytes"
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

// A Script is a parsed script. It does not change.
type Script struct {
	name     string
	sections []*section
}

// A section is one section of the file: a reply.
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

// Open reads a script from a file, in the format that the package describes. An error
// names the file and the line.
func Open(file string) (*Script, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	return parse(filepath.Base(file), data)
}

// Parse reads a script. The error names every line at fault.
func Parse(data []byte) (*Script, error) { return parse("script", data) }

// parse reads a script. The error is a list of all mistakes, with their lines.
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

// A parser reads the lines of a section. line is the number of the last line that
// was taken from lines.
type parser struct {
	name  string
	lines []string
	line  int
	errs  []error
}

// failf adds a mistake at the current line.
func (p *parser) failf(format string, a ...any) {
	p.errs = append(p.errs, fmt.Errorf("%s:%d: %s", p.name, p.line, fmt.Sprintf(format, a...)))
}

// next returns the next line; ok is false after the last.
func (p *parser) next() (string, bool) {
	if len(p.lines) == 0 {
		return "", false
	}
	line := p.lines[0]
	p.lines = p.lines[1:]
	p.line++
	return line, true
}

// head parses the text before the first section.
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

// number parses the name of a section. A word counts as the reply after last.
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

// atoi parses digits. A number that is too large counts as the largest possible.
func atoi(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil && digits != "" {
		return 1 << 30
	}
	return min(n, 1<<30)
}

// section parses the lines of a reply.
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
