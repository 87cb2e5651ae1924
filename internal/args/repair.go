package args

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kaptinlin/jsonrepair"
)

// Repair returns input as valid JSON. What is valid comes back as it is, save
// an object that is encoded twice; nothing at all is an empty object.
//
// It mends what leaves no doubt: a Markdown fence or prose around one object,
// line breaks and tabs within strings, quotes, commas, bare names, Python's
// constants. It never adds or leaves out a word, and it refuses what is
// unfinished, since nobody knows how it would have gone on, and a backslash
// that JSON does not know, since half of what follows may be lost.
func Repair(input string) (string, error) {
	if !utf8.ValidString(input) {
		return "", errors.New("the arguments are not valid JSON: they contain bytes that are not UTF-8")
	}
	trimmed := strings.TrimSpace(input)
	if trimmed == "" {
		return "{}", nil
	}
	if json.Valid([]byte(input)) {
		return unwrap(input), nil
	}
	begin, end := strings.IndexByte(trimmed, '{'), strings.LastIndexByte(trimmed, '}')
	switch {
	case begin < 0 || trimmed[0] == '[' || trimmed[0] == '"':
		return "", errNoObject
	case end < begin:
		return "", errCutOff
	}
	body, tail := trimmed[begin:end+1], trimmed[end+1:]
	s := scan(body)
	switch {
	case s.open:
		return "", errCutOff
	case json.Valid([]byte(body)):
		return body, nil
	case !fence(tail):
		return "", errCutOff
	case s.badEscape != "":
		return "", fmt.Errorf(`the arguments are not valid JSON: %s is no escape; within a JSON string a backslash is written twice, as in \%[1]s`, s.badEscape)
	case json.Valid([]byte(s.escaped)):
		return s.escaped, nil
	}
	return mend(s)
}

var errCutOff = errors.New("the arguments are not valid JSON: they are cut off before their end; if they are too long for one reply, do it in smaller steps")

// maxMend is the size in bytes up to which the library is tried: it takes
// quadratic time, 200 ms for this much.
const maxMend = 32 << 10

// mend leaves the rest to a library, but takes nothing from it that has other
// words than what the model wrote.
func mend(s scanned) (string, error) {
	if len(s.escaped) <= maxMend && s.depth < 1000 {
		fixed, err := jsonrepair.Repair(s.escaped)
		if err == nil && json.Valid([]byte(fixed)) && words(fixed) == words(s.escaped) {
			return fixed, nil
		}
	}
	return "", syntax(s.escaped)
}

// syntax says what is wrong with a text that is not JSON, and where.
func syntax(s string) error {
	err := json.Unmarshal([]byte(s), new(any))
	var at *json.SyntaxError
	if errors.As(err, &at) {
		n := min(max(int(at.Offset), 0), len(s))
		near := s[max(0, n-30):min(n+10, len(s))]
		return fmt.Errorf("the arguments are not valid JSON: %w, near %q", err, strings.ToValidUTF8(near, ""))
	}
	return fmt.Errorf("the arguments are not valid JSON: %w", err)
}

var sameWord = strings.NewReplacer(`\\`, `\\`, `\"`, ``, `\'`, ``, "none", "null")

// words returns the letters, digits, dots, signs and backslashes of a JSON
// text in lower case: what a repair must not change.
func words(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Quotation_Mark), r == '´':
			return -1
		case unicode.IsLetter(r), unicode.IsDigit(r), r >= utf8.RuneSelf, strings.ContainsRune(`.-+\`, r):
			return r
		}
		return -1
	}, sameWord.Replace(strings.ToLower(s)))
}

// fence reports whether what follows the object belongs to a Markdown fence,
// or is nothing.
func fence(tail string) bool {
	return strings.Trim(tail, "` \t\r\n;") == ""
}

// scanned is what a look at a text that begins with a brace shows.
type scanned struct {
	open      bool   // it ends within a string or a bracket
	depth     int    // of brackets, at most
	badEscape string // a backslash within a string that JSON does not know, with the character after it
	escaped   string // the text with control characters within strings escaped
}

func scan(s string) scanned {
	var (
		r      scanned
		b      strings.Builder
		depth  int
		quoted bool
	)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quoted && c == '\\' && i+1 < len(s):
			i++
			if r.badEscape == "" && !strings.ContainsRune(`"\/bfnrtu'`, rune(s[i])) {
				_, n := utf8.DecodeRuneInString(s[i:])
				r.badEscape = s[i-1 : i+n]
			}
			b.WriteByte(c)
			c = s[i]
		case c == '"':
			quoted = !quoted
		case quoted && c < ' ':
			b.WriteString(control(c))
			continue
		case quoted:
		case c == '{' || c == '[':
			depth++
			r.depth = max(r.depth, depth)
		case c == '}' || c == ']':
			depth--
		}
		b.WriteByte(c)
	}
	r.open = quoted || depth > 0
	r.escaped = b.String()
	return r
}

func control(c byte) string {
	switch c {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	return fmt.Sprintf(`\u%04x`, c)
}

// unwrap returns the object inside a JSON string, if that is what s is.
func unwrap(s string) string {
	var inner string
	if strings.TrimSpace(s)[0] != '"' || json.Unmarshal([]byte(s), &inner) != nil {
		return s
	}
	if t := strings.TrimSpace(inner); strings.HasPrefix(t, "{") && json.Valid([]byte(t)) {
		return t
	}
	return s
}
