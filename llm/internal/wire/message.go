package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
)

// Turn is what msg becomes on the wire, with a comma before each message: it
// is said by the user, replied by the model, or what tools found.
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

// only are the parts, which are all of one kind but for what is not known.
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

// Said are the pieces of a message of the user's: text that is more than white
// space, and what blob can make of files. Of others, model and takes, which
// says what it does take, are for the error.
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

// Misplaced is the error of a part that a message of whose cannot hold.
func Misplaced(whose string, p llm.Part) error {
	return fmt.Errorf("a message of %s's cannot hold a %T", whose, p)
}

// ResultText is what a result says where that is one text.
func ResultText(texts []string, failed bool) string {
	s := strings.Join(texts, "\n\n")
	if s == "" {
		s = "(no output)"
	}
	if failed && !strings.HasPrefix(s, "Error") {
		s = "Error: " + s
	}
	return s
}

// CallInput is the input of a call as an object. What is none goes back in
// one, in the way that Anthropic's documentation has it.
func CallInput(text string) json.RawMessage {
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		return json.RawMessage("{}")
	case trimmed[0] == '{' && json.Valid([]byte(trimmed)):
		return json.RawMessage(trimmed)
	}
	return MustJSON(map[string]string{"INVALID_JSON": text})
}

// CallNames are the names of the tools that the calls of the last reply are
// of, by the calls' ids.
func CallNames(before []llm.Message) map[string]string {
	all := map[string]string{}
	for _, msg := range slices.Backward(before) {
		if msg.Role == llm.Assistant {
			for _, c := range msg.Calls() {
				all[c.ID] = c.Name
			}
			break
		}
	}
	return all
}

// Seal is what a part needs to go back, as [llm.Text] and others keep it:
// nothing, if it is the zero value.
func Seal[T comparable](s T) json.RawMessage {
	var zero T
	if s == zero {
		return nil
	}
	return MustJSON(s)
}

// Unseal is what model sealed, or the zero value if that was another's.
func Unseal[T any](opaque json.RawMessage, by, model string) T {
	var s, zero T
	if by != model || json.Unmarshal(opaque, &s) != nil {
		return zero
	}
	return s
}

// Thought is what [llm.Thinking] of Claude's needs to go back.
type Thought struct {
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"`
}
