package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// An Answer is what a deciding hook says.
type Answer struct {
	Decision string          // "allow", "deny" or "ask"
	Reason   string          // for the model, or the person who is asked
	Input    json.RawMessage // an object: the arguments instead of the call's; nil: those of the call
}

// maxReason is how many characters of a reason count.
const maxReason = 1000

// ParseAnswer reads the answer of a hook: one JSON object and nothing else. The error is
// a clause that says what is wrong with it.
func ParseAnswer(data []byte) (Answer, error) {
	fields, err := object(data)
	if err != nil {
		return Answer{}, err
	}
	var a Answer
	if a.Decision, err = text(fields, "decision"); err != nil {
		return Answer{}, err
	}
	if a.Reason, err = text(fields, "reason"); err != nil {
		return Answer{}, err
	}
	switch a.Decision {
	case "allow", "deny", "ask":
	case "":
		return Answer{}, errors.New(`its answer has no "decision", which is "allow", "deny" or "ask"`)
	default:
		return Answer{}, fmt.Errorf(`its answer has the decision %q; there are "allow", "deny" and "ask"`, clip.Text(a.Decision, 40))
	}
	a.Reason = reason(a.Reason)
	a.Input, err = input(fields, "input")
	return a, err
}

// object reads one JSON object without doubled keys.
func object(data []byte) (map[string]json.RawMessage, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("it answered nothing")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	notJSON := fmt.Errorf("its answer is not a JSON object: %q", clip.Text(clip.Clean(string(data)), 80))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, notJSON
	}
	fields := map[string]json.RawMessage{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, notJSON
		}
		name, _ := t.(string)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, notJSON
		}
		if _, doubled := fields[name]; doubled {
			return nil, fmt.Errorf("its answer has %q twice", clip.Text(name, 40))
		}
		fields[name] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, notJSON
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("its answer has something after the JSON object")
	}
	return fields, nil
}

// text returns the text of a field, or "".
func text(fields map[string]json.RawMessage, name string) (s string, err error) {
	if v, ok := fields[name]; ok && json.Unmarshal(v, &s) != nil {
		return "", fmt.Errorf("%q in its answer is no text", name)
	}
	return s, nil
}

// input returns the object of a field, or nil.
func input(fields map[string]json.RawMessage, name string) (json.RawMessage, error) {
	v, ok := fields[name]
	if !ok || string(v) == "null" {
		return nil, nil
	}
	if v[0] != '{' {
		return nil, fmt.Errorf("%q in its answer is no object: it has the arguments of the call", name)
	}
	return v, nil
}

// reason returns a reason as it is recorded.
func reason(s string) string { return clip.Text(strings.TrimSpace(clip.Clean(s)), maxReason) }
