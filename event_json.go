package openmanus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus/llm"
)

// eventJSON is the JSON of an event: in exports, on the command line with --output
// jsonl, and in server-sent events.
type eventJSON struct {
	Seq  int64           `json:"seq"`
	Time time.Time       `json:"time"`
	Type string          `json:"type"`
	Key  string          `json:"key,omitempty"`
	Body json.RawMessage `json:"body"`
}

// MarshalJSON encodes ev, large strings included.
func (ev Event) MarshalJSON() ([]byte, error) {
	if ev.Body == nil {
		return nil, errors.New("an event without a body")
	}
	data, err := EncodeBody(ev.Body)
	if err != nil {
		return nil, err
	}
	return json.Marshal(eventJSON{ev.Seq, ev.Time, TypeName(ev.Body), ev.Body.Key(), data})
}

// UnmarshalJSON decodes the result of MarshalJSON.
func (ev *Event) UnmarshalJSON(data []byte) error {
	var l eventJSON
	if err := json.Unmarshal(data, &l); err != nil {
		return err
	}
	b, err := DecodeBody(l.Type, l.Key, l.Body)
	if err != nil {
		return fmt.Errorf("event %s: %w", l.Key, err)
	}
	*ev = Event{l.Seq, l.Time, b}
	return nil
}

// AppendJSON appends the result of MarshalJSON to b. It encodes deltas without
// reflection, because there is one for every few letters of a reply.
func (ev Event) AppendJSON(b []byte) ([]byte, error) {
	t, ok := ev.Body.(Typing)
	if !ok || ev.Seq != 0 {
		data, err := ev.MarshalJSON()
		return append(b, data...), err
	}
	b = append(b, `{"seq":0,"time":"`...)
	b = ev.Time.AppendFormat(b, time.RFC3339Nano)
	b = strconv.AppendInt(append(b, `","type":"typing","body":{"turn":`...), int64(t.Turn), 10)
	if t.Reset {
		b = append(b, `,"reset":true`...)
	}
	b = strconv.AppendInt(append(b, `,"part":`...), int64(t.Part), 10)
	for i, p := range t.Parts {
		if i == 0 {
			b = append(b, `,"parts":[`...)
		} else {
			b = append(b, ',')
		}
		var err error
		if b, err = appendFragment(b, p); err != nil {
			return b, err
		}
	}
	if len(t.Parts) > 0 {
		b = append(b, ']')
	}
	return append(b, "}}"...), nil
}

// appendFragment appends the JSON of one part of a delta, as [llm.Parts] encodes
// it. Parts that need escaping go through encoding/json.
func appendFragment(b []byte, p llm.Part) ([]byte, error) {
	var kind, text, by string
	switch p := p.(type) {
	case llm.Text:
		if p.Opaque == nil && !p.View {
			kind, text, by = "text", p.Text, p.By
		}
	case llm.Thinking:
		if p.Opaque == nil {
			kind, text, by = "thinking", p.Text, p.By
		}
	}
	if kind == "" || !utf8.ValidString(text) {
		data, err := llm.Parts{p}.MarshalJSON()
		if err != nil {
			return b, err
		}
		return append(b, data[1:len(data)-1]...), nil // without the brackets
	}
	b = append(append(append(b, `{"type":"`...), kind...), '"')
	if text != "" {
		b = appendString(append(b, `,"text":`...), text)
	}
	if by != "" {
		b = appendString(append(b, `,"by":`...), by)
	}
	return append(b, '}'), nil
}

// appendString appends s as a JSON string.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			data, _ := json.Marshal(s) // a string always encodes
			return append(b, data...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// BodyTypes returns a zero body of every type of the format by its name in it,
// the provisional ones included.
func BodyTypes() map[string]Body {
	return map[string]Body{
		"opened": Opened{}, "configured": Configured{}, "user_said": UserSaid{},
		"model_said": ModelSaid{}, "called": Called{}, "model_failed": ModelFailed{}, "stopped": Stopped{}, "ended": Ended{},
		"resumed": Resumed{}, "interrupted": Interrupted{}, "asked": Asked{}, "answered": Answered{},
		"ruled": Ruled{}, "call_started": CallStarted{}, "call_done": CallDone{}, "call_late": CallLate{},
		"child_opened": ChildOpened{}, "child_done": ChildDone{}, "taken": TakenOver{},
		"elided": Elided{}, "compacted": Compacted{},
		"snapped": Snapped{}, "rewound": Rewound{}, "mode_set": ModeSet{},
		"titled": Titled{}, "noted": Noted{},
		"typing": Typing{}, "output": Output{}, "reading": Reading{},
	}
}

var (
	typeOf = BodyTypes()
	nameOf = func() map[reflect.Type]string {
		m := make(map[reflect.Type]string)
		for name, b := range BodyTypes() {
			m[reflect.TypeOf(b)] = name
		}
		return m
	}()
)

// TypeName returns the name of b's type in the journal format, or "" if b is not
// part of the format.
func TypeName(b Body) string {
	if f, ok := b.(Foreign); ok {
		return f.Type
	}
	return nameOf[reflect.TypeOf(b)]
}

// IsBodyType reports whether name is the name of a type of body that this
// version knows.
func IsBodyType(name string) bool { return typeOf[name] != nil }

// EncodeBody returns the JSON of b, without its type and key. It keeps large
// strings and secrets: journals use journal.Codec.
func EncodeBody(b Body) ([]byte, error) {
	if f, ok := b.(Foreign); ok {
		if !json.Valid(f.Content) {
			return nil, errors.New("its content is not JSON")
		}
		return f.Content, nil
	}
	return json.Marshal(b)
}

// DecodeBody returns the body of the given type and key that [EncodeBody]
// encoded. A type that this version does not know becomes [Foreign].
func DecodeBody(name, key string, data []byte) (Body, error) {
	zero, ok := typeOf[name]
	if !ok {
		return Foreign{name, key, bytes.Clone(data)}, nil
	}
	p := reflect.New(reflect.TypeOf(zero))
	if err := json.Unmarshal(data, p.Interface()); err != nil {
		return nil, err
	}
	return p.Elem().Interface().(Body), nil
}

// EventLine returns what [Event.MarshalJSON] returns for an event whose body is
// already encoded as EncodeBody does. It does not look into the body.
func EventLine(seq int64, at time.Time, name, key string, body []byte) ([]byte, error) {
	b, err := json.Marshal(eventJSON{seq, at, name, key, json.RawMessage("0")})
	if err != nil {
		return nil, err
	}
	b = b[:len(b)-len("0}")]
	return append(append(slices.Grow(b, len(body)+1), body...), '}'), nil
}
