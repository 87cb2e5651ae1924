package tools

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

var (
	//go:embed bash.sh
	bashSh string

	//go:embed bash_end.sh
	bashEndSh string
)

// A bashTexts is the script of the shell and the lines that it is sent; see bash.sh and
// bash_end.sh.
type bashTexts struct{ script, call, end string }

// bashText returns the texts, made from the files once.
var bashText = sync.OnceValue(func() bashTexts {
	part := func(name string) string {
		_, text, _ := strings.Cut(bashEndSh, "\n# "+name+" ")
		_, text, _ = strings.Cut(text, "\n")
		text, _, _ = strings.Cut(text, "\n\n")
		return text
	}
	return bashTexts{
		script: strings.NewReplacer("=LOOK", "="+bashQuote(part("LOOK")), "=FINISH", "="+bashQuote(part("FINISH")),
			"=RECORD", "="+bashQuote(part("RECORD"))).Replace(bashSh),
		call: part("CALL"),
		end:  part("END"),
	}
})

// bashState is the state of a shell after a command.
type bashState struct {
	code  int    // exit status of the last command
	flags string // options of the shell, as in $-
	undid string // what the command did to the shell and was undone: "exec" and names of functions, with commas
	cwd   string // working directory
	env   string // a script that sets the exported variables
	traps string // a script that sets the traps that watch commands
}

// maxBashRecord is how many bytes a record may have.
const maxBashRecord = 4 << 20

// bashRecords reads the records that a shell writes. Their format is described
// in bash.sh.
type bashRecords struct {
	buf   []byte     // the beginning of the next record
	state *bashState // from the last record; nil if there was none
	exit  bool       // the last record is that of the exiting shell
	mute  bool       // the shell could not say that a call was over, and was killed
}

// write implements procRecords.
func (r *bashRecords) write(p []byte, mark string) bool {
	found := false
	r.buf = append(r.buf, p...)
	for {
		fields := bytes.SplitN(r.buf, []byte{0}, 5)
		if len(fields) < 5 {
			break
		}
		call, state, err := parseBashRecord(fields)
		switch {
		case err != nil:
		case call == "unheard":
			r.mute = true
		case call == "exit" || call == mark && mark != "":
			r.state, r.exit, found = &state, call == "exit", call != "exit"
		}
		r.buf = fields[4]
	}
	if len(r.buf) > maxBashRecord {
		r.buf = nil // not a record: another program writes to this descriptor
	}
	r.buf = bytes.Clone(r.buf)
	return found
}

// parseBashRecord reads the four fields of a record. It returns the mark of
// the call, or "exit", or "unheard".
func parseBashRecord(fields [][]byte) (string, bashState, error) {
	f := strings.Fields(string(fields[0]))
	if len(f) < 4 {
		return "", bashState{}, errors.New("too few fields")
	}
	f = f[len(f)-4:]
	code, err := strconv.Atoi(f[1])
	if err != nil {
		return "", bashState{}, fmt.Errorf("exit status: %w", err)
	}
	return f[0], bashState{
		code: code, flags: f[2], undid: strings.Trim(f[3], "-,"),
		cwd: strings.TrimSuffix(string(fields[1]), "\n"), env: bashEnvironment(string(fields[2])), traps: string(fields[3]),
	}, nil
}

// bashEnvironment returns the output of export -p without the variables that
// belong to one shell alone.
func bashEnvironment(script string) string {
	var b strings.Builder
	for line := range strings.Lines(script) {
		_, decl, ok := strings.Cut(line, "declare -x ")
		name, _, _ := strings.Cut(strings.TrimSuffix(decl, "\n"), "=")
		if ok && (name == "PWD" || name == "SHLVL" || strings.HasPrefix(name, "OPENMANUS_") || strings.HasPrefix(name, "__om_")) {
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

// newBashCall returns the call that runs a command in a shell with the state before: with
// those of the flags e, v and x that it had, and its traps; see bash_end.sh.
//
// The mark consists of two halves that stand apart in the input. So neither the
// shell nor the command prints it by itself.
func newBashCall(command string, before bashState) procCall {
	var set string
	for _, f := range "exv" {
		if strings.ContainsRune(before.flags, f) {
			set += string(f)
		}
	}
	if set != "" {
		command = "set -" + set + "\n" + command
	}
	command = before.traps + command
	tag := rand.Text()
	end, mark := bashFence()
	half1, half2 := mark[:len(mark)/2], mark[len(mark)/2:]
	text := strings.NewReplacer("TAG", tag, "COMMAND", bashQuote(command), "MARK1", half1, "MARK2", half2).Replace(bashText().call)
	return procCall{
		text: ">" + text + "\n" + end,
		mark: mark,
		// An interrupted shell may lose a line: hence an empty one, and the end
		// once more.
		stop:  "!" + tag + "\n+\n" + end,
		ask:   "?\n",
		fence: bashFence,
	}
}

// bashFence returns a line that makes a shell print the mark and write the
// record, unless it has done so for the call.
func bashFence() (text, mark string) {
	half1, half2 := rand.Text()[:16], rand.Text()[:16]
	return "+" + strings.NewReplacer("MARK1", half1, "MARK2", half2).Replace(bashText().end) + "\n", half1 + half2
}
