package tools

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A procSplitter divides what a process prints at a mark that it writes at
// the end of a call: what comes before goes to sink, what comes after to rest.
// Without a mark everything goes to rest. It is not safe for concurrent use.
type procSplitter struct {
	sink, rest *procOutput
	mark       []byte
	held       []byte // may be the beginning of the mark
}

// begin starts a call.
func (s *procSplitter) begin(mark string, sink *procOutput) {
	s.mark, s.sink, s.held = []byte(mark), sink, nil
}

// end ends the call, whether or not its mark has come.
func (s *procSplitter) end() {
	if s.mark != nil {
		s.sink.Write(s.held)
	}
	s.mark, s.sink, s.held = nil, nil, nil
}

// write takes what was printed, and reports whether the mark was in it.
func (s *procSplitter) write(p []byte) bool {
	if s.mark == nil {
		s.rest.Write(p)
		return false
	}
	if len(s.held) > 0 {
		p = append(s.held, p...)
		s.held = nil
	}
	if before, after, ok := bytes.Cut(p, s.mark); ok {
		s.sink.Write(before)
		s.mark, s.sink = nil, nil
		s.rest.Write(after)
		return true
	}
	n := len(p) - overlap(p, s.mark)
	s.sink.Write(p[:n])
	s.held = bytes.Clone(p[n:])
	return false
}

// overlap is the length of the longest end of p that is a beginning of mark,
// but not all of it.
func overlap(p, mark []byte) int {
	for n := min(len(p), len(mark)-1); n > 0; n-- {
		if bytes.HasPrefix(mark, p[len(p)-n:]) {
			return n
		}
	}
	return 0
}

// bashState is where a shell stands.
type bashState struct {
	code  int
	flags string // of the shell, as in $-
	cwd   string
	env   string // a script that sets the exported variables
}

// maxBashRecord is how long a record may be.
const maxBashRecord = 4 << 20

// bashRecords reads the records that a shell writes; see bash.sh.
type bashRecords struct{ buf []byte }

// write takes what was written, and returns the last whole record in it.
func (r *bashRecords) write(p []byte) (call string, state bashState, ok bool) {
	r.buf = append(r.buf, p...)
	for {
		fields := bytes.SplitN(r.buf, []byte{0}, 4)
		if len(fields) < 4 {
			break
		}
		if c, s, err := parseBashRecord(string(fields[0]), string(fields[1]), string(fields[2])); err == nil {
			call, state, ok = c, s, true
		}
		r.buf = fields[3]
	}
	if len(r.buf) > maxBashRecord {
		r.buf = nil // no record: somebody else writes here
	}
	r.buf = bytes.Clone(r.buf)
	return call, state, ok
}

func parseBashRecord(head, cwd, env string) (string, bashState, error) {
	f := strings.Fields(head)
	if len(f) < 3 {
		return "", bashState{}, errors.New("too few fields")
	}
	f = f[len(f)-3:]
	code, err := strconv.Atoi(f[1])
	if err != nil {
		return "", bashState{}, fmt.Errorf("exit status: %w", err)
	}
	return f[0], bashState{code, f[2], strings.TrimSuffix(cwd, "\n"), bashEnvironment(env)}, nil
}

// bashEnvironment returns a script of export -p without what belongs to one
// shell alone.
func bashEnvironment(script string) string {
	var b strings.Builder
	for line := range strings.Lines(script) {
		_, decl, ok := strings.Cut(line, "declare -x ")
		name, _, _ := strings.Cut(strings.TrimSuffix(decl, "\n"), "=")
		if ok && (name == "PWD" || name == "SHLVL" || strings.HasPrefix(name, "OPENMANUS_")) {
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

// bashQuote returns s as one word on one line of a bash script.
func bashQuote(s string) string {
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\\' || c == '\'':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// bashCall returns the lines that make a shell run a command; see bash.sh. The
// mark is the two halves put together: neither the shell nor the command ever
// prints them so, not even with set -v.
func bashCall(command, tag, half1, half2, flags string) string {
	var set string
	for _, f := range "exv" {
		if strings.ContainsRune(flags, f) {
			set += string(f)
		}
	}
	if set != "" {
		command = "set -" + set + "\n" + command
	}
	end := bashCallEnd(half1, half2)
	// The second end is for a command that the shell gave up, with its line.
	return fmt.Sprintf(">OPENMANUS_CALL=%s . /dev/fd/62 62<<<%s </dev/null; %s%s", tag, bashQuote(command), end[1:], end)
}

// bashCallEnd returns the line that makes a shell say that a call has ended,
// unless it has said so.
func bashCallEnd(half1, half2 string) string {
	return fmt.Sprintf("+{ __openmanus_end $? %s %s; } 2>/dev/null\n", half1, half2)
}
