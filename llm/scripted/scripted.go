// Package scripted is a model that plays a script: for the demo, for tests,
// and for whoever wants to try something without a model. It streams like a
// real one, word by word.
//
// # The script
//
// A script is a txtar file (golang.org/x/tools/txtar) that a person can write
// by hand. What stands before the first section is a remark. Each section is
// a reply; its name is free:
//
//	A run that looks at a file and answers.
//
//	-- look --
//	I'll see what is in the file.
//	@call bash {"command": "head -3 sales.csv"}
//	-- answer --
//	It has three columns.
//
// The n-th section answers a conversation in which the model has spoken n-1
// times, so that a run that is killed and resumed gets the same replies, and
// any number of sessions can share a script.
//
// Lines are the text of the reply, save those that begin with @:
//
//	@call TOOL {JSON}       a call; without JSON its arguments are {}
//	@arg NAME <<END         a further argument of the call before, a text: the
//	…                       lines up to one that is END (any word will do)
//	END
//	@raw <<END … END        the call's arguments as they are, JSON or not
//	@thinking TEXT          reasoning
//	@stop REASON            why the reply ends: length, filter, refusal
//	@usage IN OUT [CACHED]  tokens; counted as bytes/4 if not given
//	@pace DURATION          wait so long between fragments, as in 20ms
//	@fail [TIMES] KIND TEXT fail instead, the first TIMES it is asked (always
//	                        if not given), with an error of that kind
//	@cut BYTES              the stream breaks off after so many bytes, once
//	@expect REGEXP          what is to be answered must match, else it fails
//	@when REGEXP            this section is not the n-th but answers whatever
//	                        matches, before any other
//	@repeat [TIMES]         this section stands for so many replies; without
//	                        TIMES for all that follow
//	@@                      a line of text that begins with @
//
// In arguments, ${turn} is how often the model has spoken. @expect and @when
// look at the last message: what the person said, or the results of the
// calls.
package scripted

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openmanus-go/openmanus/llm"
)

// A Script is a conversation's one side. It does not change, save that it
// counts failures that are to happen a number of times.
type Script struct {
	Remark   string // what stands before the first section
	sections []*section
}

// A section is one reply.
type section struct {
	name   string
	line   int
	parts  llm.Parts
	stop   llm.Stop
	usage  *llm.Usage
	pace   time.Duration
	fail   *llm.Error
	fails  int64 // how often; -1: always
	cut    int   // after so many bytes; -1: not
	expect *regexp.Regexp
	when   *regexp.Regexp
	repeat int // replies that it stands for; -1: all that follow

	failed, wasCut atomic.Int64
}

// Open reads the script in a file.
func Open(file string) (*Script, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	s, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("script %s: %w", file, err)
	}
	return s, nil
}

// Model returns a model that plays s.
func (s *Script) Model() llm.Model { return model{s} }

type model struct{ script *Script }

// Stream implements [llm.Model].
func (m model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(llm.Delta{}, err)
			return
		}
		turn, last := position(req)
		sec, err := m.script.find(turn, last)
		if err == nil {
			err = sec.check(last)
		}
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		sec.play(ctx, req, turn, yield)
	}
}

// position returns how often the model has spoken, and what is to be answered.
func position(req *llm.Request) (turn int, last string) {
	for _, m := range req.Messages {
		if m.Role == llm.Assistant {
			turn++
		}
	}
	if n := len(req.Messages); n > 0 {
		last = render(req.Messages[n-1].Parts)
	}
	return turn, last
}

func render(ps llm.Parts) string {
	var b strings.Builder
	for _, p := range ps {
		switch p := p.(type) {
		case llm.Text:
			b.WriteString(p.Text)
		case llm.Result:
			b.WriteString(render(p.Parts) + "\n")
		case llm.Blob:
			fmt.Fprintf(&b, "[%s %s, %d bytes]", p.MIME, p.Name, len(p.Data))
		}
	}
	return b.String()
}

// find returns the section that answers.
func (s *Script) find(turn int, last string) (*section, error) {
	n := 0
	for _, sec := range s.sections {
		if sec.when != nil && sec.when.MatchString(last) {
			return sec, nil
		}
	}
	for _, sec := range s.sections {
		if sec.when != nil {
			continue
		}
		if n += sec.repeat; sec.repeat < 0 || turn < n {
			return sec, nil
		}
	}
	return nil, &llm.Error{Kind: llm.ScriptOver, Err: fmt.Errorf("the script is over: it has %d replies, and this would be number %d", n, turn+1)}
}

// check says what is wrong if the section does not answer this.
func (sec *section) check(last string) error {
	if sec.expect != nil && !sec.expect.MatchString(last) {
		return &llm.Error{Kind: llm.ScriptOver, Err: fmt.Errorf("the reply %q (line %d of the script) expects /%s/, but is to answer:\n%s",
			sec.name, sec.line, sec.expect, last)}
	}
	if sec.fail != nil && (sec.fails < 0 || sec.failed.Add(1) <= sec.fails) {
		return sec.fail
	}
	return nil
}

var errCut = &llm.Error{Kind: llm.Protocol, Err: errors.New("the stream broke off, as the script says")}

// play yields the reply in fragments.
func (sec *section) play(ctx context.Context, req *llm.Request, turn int, yield func(llm.Delta, error) bool) {
	left := sec.cut
	if left >= 0 && sec.wasCut.Swap(1) != 0 {
		left = -1
	}
	usage := llm.Usage{Input: bytesOf(req) / 4}
	for i, p := range sec.parts {
		for _, f := range fragments(fill(p, turn)) {
			n := size(f)
			if left >= 0 && n > left {
				yield(llm.Delta{}, errCut)
				return
			}
			if left >= 0 {
				left -= n
			}
			usage.Output += n
			if err := sec.wait(ctx); err != nil {
				yield(llm.Delta{}, err)
				return
			}
			if !yield(llm.Delta{Part: i, Piece: f}, nil) {
				return
			}
		}
	}
	usage.Output = (usage.Output + 3) / 4
	if sec.usage != nil {
		usage = *sec.usage
	}
	yield(llm.Delta{Stop: sec.stop, Usage: &usage}, nil)
}

func (sec *section) wait(ctx context.Context) error {
	if sec.pace == 0 {
		return ctx.Err()
	}
	t := time.NewTimer(sec.pace)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fill replaces what stands for the moment in a call's arguments.
func fill(p llm.Part, turn int) llm.Part {
	if c, ok := p.(llm.Call); ok {
		c.Input = strings.ReplaceAll(c.Input, "${turn}", strconv.Itoa(turn))
		return c
	}
	return p
}

// fragments are the pieces in which a part is streamed: a call's name, and
// words.
func fragments(p llm.Part) []llm.Part {
	switch p := p.(type) {
	case llm.Text:
		return each(words(p.Text), func(s string) llm.Part { return llm.Text{Text: s} })
	case llm.Thinking:
		return each(words(p.Text), func(s string) llm.Part { return llm.Thinking{Text: s} })
	case llm.Call:
		head := llm.Call{ID: p.ID, Name: p.Name}
		return append([]llm.Part{head}, each(words(p.Input), func(s string) llm.Part { return llm.Call{Input: s} })...)
	}
	return []llm.Part{p}
}

func each(ss []string, f func(string) llm.Part) []llm.Part {
	ps := make([]llm.Part, len(ss))
	for i, s := range ss {
		ps[i] = f(s)
	}
	return ps
}

// words cuts text behind its spaces, so that the pieces add up to it.
func words(text string) []string { return strings.SplitAfter(text, " ") }

func size(p llm.Part) int {
	switch p := p.(type) {
	case llm.Text:
		return len(p.Text)
	case llm.Thinking:
		return len(p.Text)
	case llm.Call:
		return len(p.Name) + len(p.Input)
	}
	return 0
}

// bytesOf is about how much a request says.
func bytesOf(req *llm.Request) int {
	n := len(req.System)
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Input)
	}
	for _, m := range req.Messages {
		n += len(render(m.Parts))
		for _, c := range m.Calls() {
			n += size(c)
		}
	}
	return n
}
