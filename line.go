package openmanus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus/llm"
)

// line is an event in the encoding that exports, --output jsonl and SSE use.
type line struct {
	Seq  int64           `json:"seq"`
	Time time.Time       `json:"time"`
	Type string          `json:"type"`
	Key  string          `json:"key,omitempty"`
	Body json.RawMessage `json:"body"`
}

// MarshalJSON encodes ev on its own, large strings in place.
func (ev Event) MarshalJSON() ([]byte, error) {
	if ev.Body == nil {
		return nil, errors.New("an event without a body")
	}
	data, err := marshal(ev.Body)
	if err != nil {
		return nil, err
	}
	return json.Marshal(line{ev.Seq, ev.Time, TypeName(ev.Body), ev.Body.Key(), data})
}

// Line returns a stored event in the encoding of [Event.MarshalJSON]. Nothing is
// decoded for that, unless large strings have to be put back or somebody else
// encoded it.
func (c Codec) Line(ctx context.Context, seq int64, at time.Time, s Stored) ([]byte, error) {
	if typeOf[s.Type] == nil || bytes.Contains(s.Body, blobMark) || bytes.IndexByte(s.Body, '\n') >= 0 {
		b, err := c.Decode(ctx, s)
		if err != nil {
			return nil, err
		}
		return Event{seq, at, b}.MarshalJSON()
	}
	b, err := json.Marshal(line{seq, at, s.Type, s.Key, json.RawMessage("0")})
	if err != nil {
		return nil, err
	}
	b = b[:len(b)-len("0}")]
	return append(append(slices.Grow(b, len(s.Body)+1), s.Body...), '}'), nil
}

// UnmarshalJSON decodes what MarshalJSON made.
func (ev *Event) UnmarshalJSON(data []byte) error {
	var l line
	if err := json.Unmarshal(data, &l); err != nil {
		return err
	}
	b, err := Codec{}.Decode(context.Background(), Stored{l.Type, l.Key, l.Body})
	if err != nil {
		return err
	}
	*ev = Event{l.Seq, l.Time, b}
	return nil
}

// AppendJSON appends to b what MarshalJSON returns. What is typed, of which
// there is an event for every few letters, it encodes without reflection.
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

// appendFragment appends the encoding of one part.
func appendFragment(b []byte, p llm.Part) ([]byte, error) {
	var kind, text, by string
	switch p := p.(type) {
	case llm.Text:
		if p.Opaque == nil {
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
