package tools

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

//go:embed bash.sh
var bashScript string

// bashState is where a shell stands.
type bashState struct {
	code  int
	flags string // of the shell, as in $-
	cwd   string
	env   string // a script that sets the exported variables
}

// maxBashRecord is how long a record may be.
const maxBashRecord = 4 << 20

// bashRecords are the records that a shell writes; see bash.sh.
type bashRecords struct {
	buf   []byte
	state *bashState // from the last one; nil if there was none
	exit  bool       // it is the shell's last
}

// write implements procRecords.
func (r *bashRecords) write(p []byte, mark string) bool {
	found := false
	r.buf = append(r.buf, p...)
	for {
		fields := bytes.SplitN(r.buf, []byte{0}, 4)
		if len(fields) < 4 {
			break
		}
		call, state, err := parseBashRecord(string(fields[0]), string(fields[1]), string(fields[2]))
		if exit := call == "exit"; err == nil && (exit || call == mark && mark != "") {
			r.state, r.exit, found = &state, exit, !exit
		}
		r.buf = fields[3]
	}
	if len(r.buf) > maxBashRecord {
		r.buf = nil // no record: somebody else writes here
	}
	r.buf = bytes.Clone(r.buf)
	return found
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

// newBashCall returns a call that makes a shell run a command with the flags
// e, v and x, as far as they are among flags; see bash.sh.
//
// The mark is two halves put together: neither the shell nor the command ever
// prints them so, not even with set -v.
func newBashCall(command, flags string) procCall {
	var set string
	for _, f := range "exv" {
		if strings.ContainsRune(flags, f) {
			set += string(f)
		}
	}
	if set != "" {
		command = "set -" + set + "\n" + command
	}
	tag := rand.Text()
	end, mark := bashFence()
	return procCall{
		// The second end is for a command that the shell gave up, with its line.
		text: fmt.Sprintf(">OPENMANUS_CALL=%s . /dev/fd/62 62<<<%s </dev/null; %s%s", tag, bashQuote(command), end[1:], end),
		mark: mark,
		// The shell may lose a line in the moment that it is interrupted: hence
		// an empty one, and the end once more.
		stop:  "!" + tag + "\n+\n" + end,
		fence: bashFence,
	}
}

// bashFence returns a line that makes a shell say that a call has ended, unless
// it has said so.
func bashFence() (text, mark string) {
	half1, half2 := rand.Text(), rand.Text()
	return fmt.Sprintf("+{ __openmanus_end $? %s %s; } 2>/dev/null\n", half1, half2), half1 + half2
}
