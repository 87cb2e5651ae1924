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

// bashState is the state of a shell after a command.
type bashState struct {
	code  int    // exit status of the last command
	flags string // options of the shell, as in $-
	cwd   string // working directory
	env   string // a script that sets the exported variables
}

// maxBashRecord is how many bytes a record may have.
const maxBashRecord = 4 << 20

// bashRecords reads the records that a shell writes. Their format is described
// in bash.sh.
type bashRecords struct {
	buf   []byte     // the beginning of the next record
	state *bashState // from the last record; nil if there was none
	exit  bool       // the last record is that of the exiting shell
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
		r.buf = nil // not a record: another program writes to this descriptor
	}
	r.buf = bytes.Clone(r.buf)
	return found
}

// parseBashRecord reads the three fields of a record. It returns the mark of
// the call, or "exit".
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

// bashEnvironment returns the output of export -p without the variables that
// belong to one shell alone.
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

// bashQuote returns s as one word on one line of a bash script, whatever bytes it has but
// NUL.
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

// newBashCall returns the call that runs a command, with those of the flags e,
// v and x that are among flags; see bash.sh.
//
// The mark consists of two halves that stand apart in the input. So neither the
// shell nor the command prints it by itself, not even with set -v.
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
		// The second end is for a command that made the shell drop its line.
		text: fmt.Sprintf(">OPENMANUS_CALL=%s . /dev/fd/62 62<<<%s </dev/null; %s%s",
			tag, bashQuote(command), end[1:], end),
		mark: mark,
		// An interrupted shell may lose a line: hence an empty one, and the end
		// once more.
		stop:  "!" + tag + "\n+\n" + end,
		fence: bashFence,
	}
}

// bashFence returns a line that makes a shell print the mark and write the
// record, unless it has done so for the call.
func bashFence() (text, mark string) {
	half1, half2 := rand.Text(), rand.Text()
	return fmt.Sprintf("+{ __openmanus_end $? %s %s; } 2>/dev/null\n", half1, half2), half1 + half2
}
