// Package hooks asks programs of the person before calls run and requests are sent, and
// tells them what has happened.
//
// A deciding hook may refuse a call, ask the person about it, or change its arguments:
// [Set] asks them, and is a [run.Hooks]. Whatever is not an answer is a refusal: silence,
// a crash, another exit code than 0, a text that cannot be read, too much of it, or none in
// time. A watching hook hears of events after they were stored: see [Watcher].
//
// What runs a hook is a [Runner]: [Programs] starts processes and sends requests. Hooks
// have the rights of the person and no sandbox, so they come from the person's own
// configuration, or from a file that the person approved with its content.
package hooks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The events of hooks that decide.
const (
	BeforeCall    = "before_call"
	BeforeRequest = "before_request"
)

// Events are the events that a hook can be on: those before something decide, and the
// others watch.
var Events = []string{
	BeforeCall, BeforeRequest, "after_call", "session_start", "session_end", "waiting", "finished", "failed", "budget", "files", "compacted",
}

// DefaultTimeout is how long a hook may take that does not say it.
const DefaultTimeout = 10 * time.Second

// A Hook is a program of the person, or an address of theirs.
type Hook struct {
	Name    string
	On      string        // one of Events
	Run     string        // a command for a shell; or
	URL     string        // where the event is posted
	Tools   string        // patterns of tools, with | between them; "": all
	Timeout time.Duration // 0: DefaultTimeout
	Dir     string        // where the command runs
	Env     []string      // the names of variables that it gets besides the usual ones
	Source  string        // where it is configured, for people
	Claude  bool          // it reads and answers as Claude Code's hooks do
}

// Decides reports whether the hook is asked before something happens.
func (h Hook) Decides() bool { return h.On == BeforeCall || h.On == BeforeRequest }

// Limit returns how long the hook may take.
func (h Hook) Limit() time.Duration {
	if h.Timeout > 0 {
		return h.Timeout
	}
	return DefaultTimeout
}

// Fits reports whether the hook is about calls of a tool.
func (h Hook) Fits(tool string) bool {
	names := []string{tool}
	if h.Claude {
		names = append(names, claudeNames(tool)...)
	}
	return slices.ContainsFunc(strings.Split(h.Tools, "|"), func(pattern string) bool {
		pattern = strings.TrimSpace(pattern)
		return h.Tools == "" || slices.ContainsFunc(names, func(name string) bool { return matches(pattern, name) })
	})
}

// matches reports whether name fits a pattern, in which * stands for any letters.
func matches(pattern, name string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, head)
	for ok && strings.Contains(rest, "*") {
		var part string
		part, rest, _ = strings.Cut(rest, "*")
		i := strings.Index(name, part)
		if ok = i >= 0; ok {
			name = name[i+len(part):]
		}
	}
	return ok && strings.HasSuffix(name, rest)
}

// A Runner runs hooks. It is safe for concurrent use.
type Runner interface {
	// Run gives a hook its input and returns what it answered. It ends promptly when
	// ctx does. The error says what went wrong: it is a clause.
	Run(ctx context.Context, h Hook, in Input) (Output, error)
}

// Input is what a hook reads.
type Input struct {
	JSON      []byte
	Session   string
	Workspace string
}

// Output is what a hook answered.
type Output struct {
	Text   []byte // at most MaxOutput bytes
	Said   string // on standard error, cut
	Denied bool   // by the exit code 2
}

// MaxOutput is how many bytes a hook may answer.
const MaxOutput = 64 << 10

// errTooMuch says that a hook answered more.
var errTooMuch = fmt.Errorf("it answered more than %d bytes", MaxOutput)
