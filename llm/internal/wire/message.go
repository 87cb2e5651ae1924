package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/openmanus-go/openmanus/llm"
)

// Turn returns the encoding of msg, with a comma before each message that it
// becomes. One of the functions makes those: said for the user's, replied for the
// assistant's, found for results of tools.
func Turn[T any](msg llm.Message, said, replied func(llm.Parts) ([]T, error), found func([]llm.Result) ([]T, error)) ([]byte, error) {
	var all []T
	var err error
	switch msg.Role {
	case llm.User:
		all, err = said(msg.Parts)
	case llm.Assistant:
		all, err = replied(msg.Parts)
	case llm.Tool:
		var results []llm.Result
		if results, err = only[llm.Result](msg.Parts); err == nil {
			all, err = found(results)
		}
	default:
		err = fmt.Errorf("there is no role %q", msg.Role)
	}
	var b []byte
	for _, w := range all {
		b = append(append(b, ','), MustJSON(w)...)
	}
	return b, err
}

// only returns the parts of type T. Any other part but an unknown one is an error.
func only[T llm.Part](parts llm.Parts) (all []T, err error) {
	for _, p := range parts {
		if one, ok := p.(T); ok {
			all = append(all, one)
		} else if _, unknown := p.(llm.Unknown); !unknown {
			return nil, fmt.Errorf("a message of tools cannot hold a %T", p)
		}
	}
	return all, nil
}

// Said returns the pieces of a user's message: text, unless it is white space, and
// the files that blob accepts. The error of another file names the model and says
// what it takes.
func Said[T any](parts llm.Parts, text func(string) T, blob func(llm.Blob) (T, bool), model, takes string) (all []T, err error) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if strings.TrimSpace(p.Text) != "" {
				all = append(all, text(p.Text))
			}
		case llm.Blob:
			b, ok := blob(p)
			if !ok {
				return nil, CannotSend(p, model, takes)
			}
			all = append(all, b)
		case llm.Unknown:
		default:
			return nil, Misplaced("the user", p)
		}
	}
	return all, nil
}

// Misplaced returns the error of a part that does not belong into a message of
// whose.
func Misplaced(whose string, p llm.Part) error {
	return fmt.Errorf("a message of %s's cannot hold a %T", whose, p)
}

// ResultText returns a result as one text, for providers without structured results.
// That of a failure begins with "Error".
func ResultText(texts []string, failed bool) string {
	s := strings.Join(texts, "\n\n")
	s = cmp.Or(s, "(no output)")
	if failed && !strings.HasPrefix(s, "Error") {
		s = "Error: " + s
	}
	return s
}

// CallInput returns the arguments of a call as a JSON object, which every format sends:
// servers refuse a conversation with arguments that they cannot parse, and with it
// all that follows. They are those with which it ran. Text that is no object goes into
// one, as Anthropic's documentation recommends.
func CallInput(c llm.Call) json.RawMessage {
	text := cmp.Or(c.Ran, c.Input)
	trimmed := strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD")
	switch {
	case trimmed == "":
		return json.RawMessage("{}")
	case trimmed[0] == '{' && json.Valid([]byte(trimmed)):
		return paired(json.RawMessage(trimmed))
	}
	return MustJSON(map[string]string{"INVALID_JSON": text})
}

// CallName returns the name of the tool that a call is for, as every provider takes it:
// letters, digits, _ and -, a letter or _ first, and 64 characters at most. Models also
// write other names, or none, and a provider that refuses one refuses all that follows.
func CallName(name string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	if plain == "" {
		return "unnamed"
	}
	if c := plain[0]; c == '-' || '0' <= c && c <= '9' {
		plain = "_" + plain
	}
	return plain[:min(len(plain), 64)]
}

// paired returns JSON without halves of surrogate pairs among its escapes, which Go
// reads and other servers refuse.
func paired(data json.RawMessage) json.RawMessage {
	unit := func(i int) rune { // the UTF-16 unit that is escaped at i; -1: none is
		if i+6 > len(data) || data[i] != '\\' || data[i+1] != 'u' {
			return -1
		}
		n, err := strconv.ParseUint(string(data[i+2:i+6]), 16, 16)
		if err != nil {
			return -1
		}
		return rune(n)
	}
	var out json.RawMessage
	from := 0 // what is before is in out
	for i := 0; i < len(data); i++ {
		switch r := unit(i); {
		case data[i] != '\\':
		case !utf16.IsSurrogate(r):
			i++
		case utf16.DecodeRune(r, unit(i+6)) != unicode.ReplacementChar:
			i += 11
		default:
			out = append(append(out, data[from:i]...), `\ufffd`...)
			from = i + 6
			i += 5
		}
	}
	if from == 0 {
		return data
	}
	return append(out, data[from:]...)
}

// Seal returns s as the Opaque of a part, which goes back to the provider with it;
// nil if s is the zero value.
func Seal[T comparable](s T) json.RawMessage {
	var zero T
	if s == zero {
		return nil
	}
	return MustJSON(s)
}

// Unseal returns what was sealed for model; the zero value if another model wrote
// the part.
func Unseal[T any](opaque json.RawMessage, by, model string) T {
	var s, zero T
	if by != model || json.Unmarshal(opaque, &s) != nil {
		return zero
	}
	return s
}

// A Thought is the Opaque of Claude's [llm.Thinking].
type Thought struct {
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"`
}
