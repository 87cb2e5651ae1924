package gist

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/llm"
)

// earlierFile has what tools say in journals that were recorded before tools had
// [openmanus.ToolSpec].Says. It is history: no tool is added to it. The page has it, too.
//
//go:embed earlier.json
var earlierFile []byte

// earlier returns it by the names of tools.
var earlier = sync.OnceValue(func() (all map[string][]openmanus.Saying) {
	if err := json.Unmarshal(earlierFile, &all); err != nil {
		panic("gist: " + err.Error()) // the file is part of the program
	}
	return all
})

// A Tense says where a call is.
type Tense int

const (
	Done    Tense = iota // it has ended: "Ran"
	Running              // it runs: "Running"
	Waiting              // it has not begun, and may wait for a person: "Wants to run"
	Never                // it was not allowed: "Wanted to run"
)

// Phrase returns what a call does as a verb and what it works on, such as "Ran" and "go
// test ./...", in a tense, by what its tool says. A tool that says nothing is its own verb.
// Both are one line; the text is the model's, as that of [Call].
func Phrase(c llm.Call, t Tense, says ...openmanus.Saying) (does, target string) {
	args := arguments(c)
	s := saying(c.Name, args, says)
	forms := strings.Split(s.Words["en"], ", ")
	if len(forms) != 3 {
		return clip.OneLine(c.Name), Call(c)
	}
	switch t {
	case Waiting:
		does = "Wants to " + forms[0]
	case Never:
		does = "Wanted to " + forms[0]
	case Running:
		does = capital(forms[1])
	default:
		does = capital(forms[2])
	}
	target = Call(c)
	if args != nil && len(s.On) > 0 {
		target = ""
		for _, name := range slices.Backward(s.On) {
			if text := words(args[name]); text != "" {
				target = text
			}
		}
	}
	return clip.OneLine(filled(does, args)), clip.OneLine(target)
}

// capital returns a text with a capital at its beginning.
func capital(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + text[n:]
}

// SaysOf returns what a tool says, as a session has recorded it.
func SaysOf(tools []openmanus.ToolSpec, name string) []openmanus.Saying {
	if i := slices.IndexFunc(tools, func(t openmanus.ToolSpec) bool { return t.Name == name }); i >= 0 {
		return tools[i].Says
	}
	return nil
}

// Kind returns what a call is for, by what its tool says.
func Kind(c llm.Call, says ...openmanus.Saying) openmanus.ToolKind {
	return saying(c.Name, arguments(c), says).Kind
}

// Looks reports whether a call only shows the model a file: a person can open it.
func Looks(c llm.Call, says ...openmanus.Saying) bool {
	args := arguments(c)
	return words(args["path"]) != "" && saying(c.Name, args, says).Kind == openmanus.ToolReads
}

// arguments returns the arguments of a call, or nil if they are no JSON object.
func arguments(c llm.Call) (args map[string]any) {
	if json.Unmarshal([]byte(c.Input), &args) != nil {
		return nil
	}
	return args
}

// saying returns what is said of a call with these arguments: of what its tool says, or of
// what tools of that name said earlier.
func saying(tool string, args map[string]any, says []openmanus.Saying) openmanus.Saying {
	if len(says) == 0 {
		says = earlier()[tool]
	}
	for _, s := range says {
		name, values, _ := strings.Cut(s.If, "=")
		if s.If == "" || slices.Contains(strings.Split(values, "|"), words(args[name])) {
			return s
		}
	}
	return openmanus.Saying{}
}

// words returns an argument as a text: of a list, the first element.
func words(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []any:
		if len(v) > 0 {
			return words(v[0])
		}
		return ""
	}
	return fmt.Sprint(v)
}

// blank matches an argument in words.
var blank = regexp.MustCompile(`\{(\w+)(\+1)?\}`)

// filled returns a text with the arguments that stand in it in braces.
func filled(text string, args map[string]any) string {
	return blank.ReplaceAllStringFunc(text, func(in string) string {
		m := blank.FindStringSubmatch(in)
		v := words(args[m[1]])
		if n, err := strconv.Atoi(v); err == nil && m[2] != "" {
			return strconv.Itoa(n + 1)
		}
		return v
	})
}
