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

// Repair returns input as valid JSON. Valid JSON is returned unchanged, except
// that an object encoded as a JSON string is decoded. Blank input becomes an
// empty object.
//
// It repairs faults with only one possible meaning: a Markdown fence or prose
// around one object, line breaks and tabs within strings, wrong quotes and
// commas, unquoted names, and Python's constants. It never adds or removes a
// word. It refuses input that is cut off, whose end is unknown, and an invalid
// escape sequence, after which the text may differ from what was meant.
//
// The order of attempts matters: the least invasive comes first. The text
// between the first brace and the last one is taken as it is if it is valid, then
// with control characters in strings escaped, and only then given to a library.
// The library's result counts only if it has the same words in the same order.
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
		return "", fmt.Errorf(`the arguments are not valid JSON: %s is not an escape sequence; within a JSON string a backslash is written twice, as in \%[1]s`, s.badEscape)
	case json.Valid([]byte(s.escaped)):
		return s.escaped, nil
	}
	return mend(s)
}

var errCutOff = errors.New("the arguments are not valid JSON: they are cut off before their end; " +
	"if they are too long for one reply, do it in smaller steps")

// maxMend is the most bytes that are given to the library, which takes quadratic
// time: 200 ms for this size.
const maxMend = 32 << 10

// mend repairs the remaining faults with a library. It refuses a result that has
// other words than the model wrote.
func mend(s scanned) (string, error) {
	if len(s.escaped) <= maxMend && s.depth < 1000 {
		fixed, err := jsonrepair.Repair(s.escaped)
		if err == nil && json.Valid([]byte(fixed)) && words(fixed) == words(s.escaped) {
			return fixed, nil
		}
	}
	return "", syntax(s.escaped)
}

// syntax returns an error that says where a text is not JSON.
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

// sameWord removes what a repair may change within and between words.
var sameWord = strings.NewReplacer(`\\`, `\\`, `\"`, ``, `\'`, ``, "none", "null")

// words returns what a repair must not change: the letters, digits, dots, signs
// and backslashes of a JSON text, in lower case.
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

// fence reports whether the text after the object is empty or the end of a
// Markdown fence.
func fence(tail string) bool {
	return strings.Trim(tail, "` \t\r\n;") == ""
}

// scanned describes a text that starts with a brace.
type scanned struct {
	open      bool   // it ends within a string or a bracket
	depth     int    // the deepest nesting of brackets
	badEscape string // the first invalid escape sequence of a string, or ""
	escaped   string // the text with control characters within strings escaped
}

// scan describes s. Unlike a JSON decoder, it does not stop at faults.
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

// control returns the escape sequence of a control character.
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

// unwrap returns the object that s encodes as a JSON string, or s.
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
