package chat

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// ours matches the names of the fields beside OpenAI's in which servers put a model's
// reasoning and its signatures: reasoning_content (DeepSeek, Kimi, GLM, SGLang, llama.cpp),
// reasoning (OpenRouter, vLLM, Ollama), reasoning_details (OpenRouter, MiniMax),
// reasoning_opaque (GitHub), thinking_blocks and provider_specific_fields (LiteLLM),
// extra_content and thought_signature (Google). Many refuse the next request of a
// conversation without them.
var ours = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`reason|think|thought|signature|encrypted|extra_content|provider_specific_fields`)
})

// isOurs reports whether a field with the name goes back to the server.
func isOurs(name string) bool { return ours().MatchString(name) }

// extra is the fields of an object beside OpenAI's, by name.
type extra map[string]json.RawMessage

// extraOf returns those fields of the object data. A null is none.
func extraOf(data []byte) extra {
	if !ours().Match(data) { // most fragments have none
		return nil
	}
	var all, own extra
	if json.Unmarshal(data, &all) != nil {
		return nil
	}
	for name, value := range all {
		if !isOurs(name) || string(value) == "null" {
			continue
		}
		if own == nil {
			own = extra{}
		}
		own[name] = bytes.ToValidUTF8(value, []byte("\uFFFD"))
	}
	return own
}

// splice returns the object of JSON with the fields of e at its end.
func (e extra) splice(object []byte) []byte {
	for _, name := range slices.Sorted(maps.Keys(e)) {
		object = append(append(append(append(object[:len(object)-1:len(object)-1], ','), wire.MustJSON(name)...), ':'), e[name]...)
		object = append(object, '}')
	}
	return object
}

// thoughtFields are the fields with reasoning for people to read. Where a server sends
// several, they say the same, and the first is shown.
var thoughtFields = []string{"reasoning_content", "reasoning", "reasoning_text", "thinking", "thought", "reasoning_details", "thinking_blocks"}

// thought returns the reasoning in e for people; "" if there is none.
func (e extra) thought() (text string) {
	for _, name := range thoughtFields {
		var p prose
		if raw, ok := e[name]; ok && json.Unmarshal(raw, &p) == nil && p != "" {
			return string(p)
		}
	}
	return ""
}

// A collector puts together the fields of a reply that arrive in fragments. The zero
// collector is empty.
type collector struct {
	texts map[string]*strings.Builder
	lists map[string][]extra // of objects
	other extra
}

// add adds the fields of a fragment, or of a whole message. Texts grow, the objects of
// lists grow, and of all else the last counts.
func (c *collector) add(e extra, whole bool) {
	if len(e) > 0 && c.texts == nil {
		c.texts, c.lists, c.other = map[string]*strings.Builder{}, map[string][]extra{}, extra{}
	}
	for name, raw := range e {
		var text string
		var list []extra
		switch {
		case json.Unmarshal(raw, &text) == nil:
			if c.texts[name] == nil {
				c.texts[name] = new(strings.Builder)
			}
			c.texts[name].WriteString(text)
		case !whole && json.Unmarshal(raw, &list) == nil && !slices.ContainsFunc(list, func(o extra) bool { return o == nil }):
			for _, o := range list {
				c.lists[name] = grow(c.lists[name], o)
			}
		default:
			c.other[name] = raw
		}
	}
}

// grow adds an object of a fragment to a list: to the object that it continues, or as
// another one.
func grow(list []extra, o extra) []extra {
	for i := len(list) - 1; i >= 0; i-- {
		if continues(list[i], o) {
			for name, raw := range o {
				var was, more string
				if slices.Contains(growing, name) && json.Unmarshal(list[i][name], &was) == nil && json.Unmarshal(raw, &more) == nil {
					raw = wire.MustJSON(was + more)
				}
				if string(raw) != "null" && string(raw) != `""` || list[i][name] == nil {
					list[i][name] = raw
				}
			}
			return list
		}
		if o["index"] == nil {
			break // only the last can go on
		}
	}
	return append(list, o)
}

// growing are the fields of an object in a list that arrive in fragments.
var growing = []string{"text", "summary", "thinking"}

// continues reports whether o is a further fragment of the object was. Encrypted
// objects arrive whole.
func continues(was, o extra) bool {
	for _, name := range []string{"type", "index"} {
		if !bytes.Equal(was[name], o[name]) {
			return false
		}
	}
	id := func(e extra) string {
		if string(e["id"]) == "null" {
			return ""
		}
		return string(e["id"])
	}
	if a, b := id(was), id(o); a != "" && b != "" && a != b {
		return false
	}
	return slices.ContainsFunc(growing, func(name string) bool { return was[name] != nil })
}

// A sealed is the Opaque of a part: in which fields the server gave it.
type sealed struct {
	// Text are the fields that held the text of the part; tagged stands for the
	// content, with the text between tags.
	Text []string `json:"text,omitempty"`
	// Fields are the others, as they came; of a call, those of the call.
	Fields extra `json:"fields,omitempty"`
	// Function are those of the function of a call.
	Function extra `json:"function,omitempty"`
}

// tagged is the field that reasoning stood in that came between tags in the text.
const tagged = "content"

// opaque returns s as an Opaque; nil if it says nothing.
func (s sealed) opaque() json.RawMessage {
	if len(s.Text) == 0 && len(s.Fields) == 0 && len(s.Function) == 0 {
		return nil
	}
	return wire.MustJSON(s)
}

// seal returns the fields of a message whose reasoning, as people read it, is text.
func (c *collector) seal(text string) (s sealed) {
	s.Fields = c.all()
	for name, b := range c.texts {
		if b.String() == text {
			s.Text = append(s.Text, name)
			delete(s.Fields, name)
		}
	}
	slices.Sort(s.Text)
	return s
}

// all returns all fields.
func (c *collector) all() extra {
	all := extra{}
	maps.Copy(all, c.other)
	for name, list := range c.lists {
		all[name] = wire.MustJSON(list)
	}
	for name, b := range c.texts {
		all[name] = wire.MustJSON(b.String())
	}
	return all
}

// silent reports whether nothing but empty texts arrived.
func (c *collector) silent() bool {
	for _, b := range c.texts {
		if b.Len() > 0 {
			return false
		}
	}
	return len(c.lists) == 0 && len(c.other) == 0
}

// The values of [Encoder.Thoughts] that name no field.
const (
	Auto = "auto" // "" means the same
	None = "none"
)

// names reports whether [Encoder.Thoughts] names a field.
func (m *Encoder) names() bool { return m.Thoughts != "" && m.Thoughts != Auto && m.Thoughts != None }

// think adds the reasoning of a part to a message that goes back to its model.
func (m *Encoder) think(w *wireMessage, p llm.Thinking) {
	if p.By != m.Model {
		return
	}
	s := wire.Unseal[sealed](p.Opaque, p.By, m.Model)
	put := func(name string, raw json.RawMessage) {
		if w.extra == nil {
			w.extra = extra{}
		}
		w.extra[name] = raw
	}
	switch m.Thoughts {
	case None:
	case "", Auto:
		for _, name := range s.Text {
			if name == tagged {
				w.tagged += p.Text
			} else if isOurs(name) {
				put(name, wire.MustJSON(p.Text))
			}
		}
		for name, raw := range s.Fields {
			if isOurs(name) {
				put(name, raw)
			}
		}
	default:
		if raw, given := s.Fields[m.Thoughts]; given {
			put(m.Thoughts, raw)
		} else if w.field += p.Text; w.field != "" {
			put(m.Thoughts, wire.MustJSON(w.field))
		}
	}
}

// call encodes a call. The fields beside OpenAI's go back to the model that wrote it.
func (m *Encoder) call(p llm.Call) wireCall {
	s := wire.Unseal[sealed](p.Opaque, p.By, m.Model)
	own := func(name string, _ json.RawMessage) bool { return !isOurs(name) }
	maps.DeleteFunc(s.Fields, own)
	maps.DeleteFunc(s.Function, own)
	return wireCall{ID: m.callID(p.ID), Type: "function", extra: s.Fields,
		Function: wireFunction{Name: wire.CallName(p.Name), Arguments: string(wire.CallInput(p)), extra: s.Function}}
}
