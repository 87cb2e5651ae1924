package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus/llm/provider"
)

// CheckScheduleName says what is wrong with the name of a schedule: sessions have it in
// their ids.
func CheckScheduleName(name string) error { return checkShortName("a schedule", name) }

// ErrNoSchedule is in the chain of the error if a file has no section [schedules.NAME].
var ErrNoSchedule = errors.New("there is no such schedule")

// AddSchedule writes [schedules.NAME] into the file at path, in place of the lines that it
// has there, and makes the file if there is none. It keeps every other line. A file that it
// cannot change without a mistake is left as it was.
func AddSchedule(path, name string, s Schedule, env Lookup, providers provider.List) error {
	if err := CheckScheduleName(name); err != nil {
		return err
	}
	var lines strings.Builder
	for _, l := range []struct{ key, value string }{
		{"cron", s.Cron}, {"every", s.Every}, {"at", s.At}, {"rrule", s.RRule}, {"zone", s.Zone}, {"jitter", s.Jitter},
		{"missed", s.Missed}, {"overlap", s.Overlap}, {"task", s.Task}, {"agent", s.Agent}, {"model", s.Model},
		{"workspace", s.Workspace}, {"approve", s.Approve}, {"result", s.Result}, {"mail", s.Mail}, {"user", s.User},
	} {
		if l.value != "" {
			fmt.Fprintf(&lines, "%s = %s\n", l.key, tomlText(l.value))
		}
	}
	if s.SameSession {
		lines.WriteString("same_session = true\n")
	}
	if s.MaxSteps != 0 {
		fmt.Fprintf(&lines, "max_steps = %d\n", s.MaxSteps)
	}
	if s.Tokens != 0 {
		fmt.Fprintf(&lines, "budget_tokens = %d\n", s.Tokens)
	}
	if s.MaxCost != 0 {
		fmt.Fprintf(&lines, "max_cost = %s\n", strconv.FormatFloat(s.MaxCost.USD(), 'f', -1, 64))
	}
	if s.Timeout != 0 {
		fmt.Fprintf(&lines, "timeout = %q\n", s.Timeout)
	}
	return putSection(path, "schedules."+name, everyLine, lines.String(), "", env, providers)
}

// everyLine matches every line of a section that sets something.
var everyLine = regexp.MustCompile(`^\s*[a-z_]+\s*=`)

// tomlText returns a text as a basic string of TOML, whose escapes are not all those of Go.
func tomlText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '"' || r == '\\':
			b.WriteString("\\" + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

// RemoveSchedule removes [schedules.NAME] from the file at path, with the lines of that
// section. If it is not there, the error is [ErrNoSchedule].
func RemoveSchedule(path, name string, env Lookup, providers provider.List) error {
	return removeSection(path, "schedules", name, ErrNoSchedule, env, providers)
}
