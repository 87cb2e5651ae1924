package zoo

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	_ "image/gif"  // a format of pictures
	_ "image/jpeg" // another one
	_ "image/png"  // and another one
	"regexp"
	"slices"
	"strings"
)

// breaks is what a rule looks for.
type breaks = func(*request) bool

// anyMessage breaks if bad is true of a message.
func anyMessage(bad func(m message) bool) breaks {
	return func(r *request) bool { return slices.ContainsFunc(r.messages, bad) }
}

// anyCall breaks if bad is true of a call.
func anyCall(bad func(c call) bool) breaks {
	return anyMessage(func(m message) bool { return slices.ContainsFunc(m.calls, bad) })
}

// unanswered breaks where a reply with calls is not followed by the results of all.
func unanswered(r *request) bool {
	for i, m := range r.messages {
		var open []string
		for _, c := range m.calls {
			open = append(open, c.id)
		}
		for _, next := range r.messages[i+1:] {
			if len(next.answers) == 0 && next.role != "assistant" && next.role != "reasoning" || len(open) == 0 {
				break
			}
			open = slices.DeleteFunc(open, func(id string) bool { return slices.Contains(next.answers, id) })
			if r.wire.list != "input" && len(next.answers) == 0 {
				break
			}
		}
		if len(open) > 0 {
			r.where = " " + strings.Join(open, ", ")
			return true
		}
	}
	return false
}

// orphan breaks where a result answers no call of the reply before it.
func orphan(r *request) bool {
	known := map[string]bool{}
	for _, m := range r.messages {
		if m.role == "assistant" && r.wire.list != "input" {
			clear(known)
		}
		for _, c := range m.calls {
			known[c.id] = true
		}
		for _, id := range m.answers {
			if !known[id] {
				r.where = " " + id
				return true
			}
		}
		if m.role == "user" && len(m.answers) == 0 && r.wire.list != "input" {
			clear(known)
		}
	}
	return false
}

// after breaks where a message of role follows one of the others.
func after(role string, others ...string) breaks {
	return func(r *request) bool {
		for i, m := range r.messages {
			if m.role == role && i > 0 && slices.Contains(others, r.messages[i-1].role) {
				return true
			}
		}
		return false
	}
}

// alternates breaks where the person and the model do not take turns. Calls and their
// results belong to the reply that follows, unless the template knows none.
func alternates(tools bool) breaks {
	return func(r *request) bool {
		want := "user"
		for _, m := range r.messages {
			switch {
			case m.role == "system":
			case tools && (m.role == "tool" || m.role == "assistant" && len(m.calls) > 0):
			case m.role != want:
				return true
			case want == "user":
				want = "assistant"
			default:
				want = "user"
			}
		}
		return false
	}
}

// endsWith breaks where the last n messages are of role.
func endsWith(role string, n int) breaks {
	return func(r *request) bool {
		last := r.messages[max(0, len(r.messages)-n):]
		return len(last) == n && !slices.ContainsFunc(last, func(m message) bool { return m.role != role })
	}
}

// noUser breaks where nobody asks for anything.
func noUser(r *request) bool {
	return !slices.ContainsFunc(r.messages, func(m message) bool { return m.role == "user" })
}

// lateSystem breaks where instructions are not the first message.
func lateSystem(r *request) bool {
	return slices.ContainsFunc(r.messages[min(1, len(r.messages)):], func(m message) bool { return m.role == "system" })
}

// empty reports whether a message says nothing at all.
func empty(m message) bool {
	said := slices.ContainsFunc(m.texts, func(s string) bool { return strings.TrimSpace(s) != "" })
	return !said && len(m.calls)+len(m.answers)+len(m.images) == 0
}

// emptyReply breaks where a reply says nothing.
var emptyReply = anyMessage(func(m message) bool { return m.role == "assistant" && empty(m) })

// anyEmpty breaks where any message says nothing.
var anyEmpty = anyMessage(func(m message) bool { return m.role != "reasoning" && empty(m) })

// noString breaks where the content of a reply is not a string.
var noString = anyMessage(func(m message) bool {
	_, is := m.raw["content"].(string)
	return m.role == "assistant" && !is
})

// noContent breaks where a message has no content: null and an empty list are none.
var noContent = anyMessage(func(m message) bool {
	_, is := m.raw["content"].(string)
	return !is && len(list(m.raw["content"])) == 0
})

// nullContent breaks where a message other than one with calls has null.
var nullContent = anyMessage(func(m message) bool { return m.raw["content"] == nil && len(m.calls) == 0 })

// withoutContent breaks where a message has no field for it.
var withoutContent = anyMessage(func(m message) bool { _, is := m.raw["content"]; return !is })

// listContent breaks where the content is a list.
var listContent = anyMessage(func(m message) bool { return list(m.raw["content"]) != nil })

// field breaks where a message of the model's has a field of the name.
func field(name string) breaks {
	return anyMessage(func(m message) bool { _, is := m.raw[name]; return m.role == "assistant" && is })
}

// beyond breaks where a message of the model's, or a call, has fields other than these.
func beyond(names ...string) breaks {
	return anyMessage(func(m message) bool {
		more := func(o map[string]any) bool {
			for name := range o {
				if !slices.Contains(names, name) {
					return true
				}
			}
			return false
		}
		return m.role == "assistant" && more(m.raw) || slices.ContainsFunc(m.calls, func(c call) bool { return more(c.raw) })
	})
}

// name breaks where a call or a tool has a name that does not match.
func name(pattern string) breaks {
	re := regexp.MustCompile(pattern)
	return func(r *request) bool {
		return anyCall(func(c call) bool { return !re.MatchString(c.name) })(r) ||
			slices.ContainsFunc(r.tools, func(t tool) bool { return !re.MatchString(t.name) })
	}
}

// id breaks where a call has an id that does not match.
func id(pattern string) breaks {
	re := regexp.MustCompile(pattern)
	return anyCall(func(c call) bool { return !re.MatchString(c.id) })
}

// noText breaks where arguments are not a string.
var noText = anyCall(func(c call) bool { _, is := c.arguments.(string); return !is })

// noObject breaks where arguments are neither an object nor a string of one.
var noObject = anyCall(func(c call) bool {
	if s, is := c.arguments.(string); is {
		var o map[string]any
		return json.Unmarshal([]byte(s), &o) != nil || o == nil
	}
	return object(c.arguments) == nil
})

// textForObject breaks where arguments are anything but an object.
var textForObject = anyCall(func(c call) bool { return object(c.arguments) == nil })

// gone breaks where a reply with calls lacks what the server gave with it in a field, or
// has something else there.
func gone(field string, within ...string) breaks {
	return func(r *request) bool {
		for _, m := range r.messages {
			if len(m.calls) == 0 {
				continue
			}
			from := m.raw
			if len(within) > 0 {
				from = m.calls[0].raw
			}
			s := text(path(from, append([]string{field}, within...)...))
			if s == "" || r.given != nil && !r.given[s] && s != " " { // a space, where it gave none
				return true
			}
		}
		return false
	}
}

// detailsGone breaks where a reply with calls lacks its reasoning_details.
func detailsGone(r *request) bool {
	return anyMessage(func(m message) bool {
		return len(m.calls) > 0 && !slices.ContainsFunc(list(m.raw["reasoning_details"]), func(d any) bool {
			return text(object(d)["type"]) == "reasoning.encrypted" && (r.given == nil || r.given[text(object(d)["data"])])
		})
	})(r)
}

// image breaks where a picture cannot be read.
var unreadable = anyMessage(func(m message) bool {
	return slices.ContainsFunc(m.images, func(s string) bool { _, err := picture(s); return err != nil })
})

// larger breaks where a picture has a longer side, in a request with more than n of them.
func larger(side, n int) breaks {
	return func(r *request) bool {
		all, large := 0, false
		for _, m := range r.messages {
			for _, s := range m.images {
				img, err := picture(s)
				all++
				large = large || err == nil && max(img.Bounds().Dx(), img.Bounds().Dy()) > side
			}
		}
		return large && all > n
	}
}

// pictures breaks where there is one.
var pictures = anyMessage(func(m message) bool { return len(m.images) > 0 })

// picture decodes one.
func picture(data string) (image.Image, error) {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return nil, err
	}
	img, _, err := image.Decode(bytes.NewReader(raw))
	return img, err
}

// schema breaks where the schema of a tool is one that p refuses.
func schema(p Provider) breaks {
	return func(r *request) bool {
		for _, t := range r.tools {
			if why := p.Refusal(t.name, t.schema); why != "" {
				r.where = why
				return true
			}
		}
		return false
	}
}

// Of Responses.

// bareReasoning breaks where reasoning has nothing after it that belongs to it.
func bareReasoning(r *request) bool {
	for i, m := range r.messages {
		if m.role == "reasoning" && (i+1 == len(r.messages) || r.messages[i+1].role != "assistant" && r.messages[i+1].role != "reasoning") {
			return true
		}
	}
	return false
}

// noSummary breaks where reasoning has no list of summaries.
var noSummary = anyMessage(func(m message) bool { return m.role == "reasoning" && m.raw["summary"] == nil })

// sealedByOthers breaks where reasoning is not what the server gave.
func sealedByOthers(r *request) bool {
	return anyMessage(func(m message) bool {
		s := text(m.raw["encrypted_content"])
		return m.role == "reasoning" && s != "" && (!strings.HasPrefix(s, "gAAAA") || r.given != nil && !r.given[s])
	})(r)
}

// role breaks where a message has another role than these.
func role(names ...string) breaks {
	return anyMessage(func(m message) bool {
		r, is := m.raw["role"].(string)
		return is && !slices.Contains(names, r)
	})
}

// Of Anthropic's Messages.

// block breaks if bad is true of a block.
func block(bad func(b map[string]any) bool) breaks {
	return anyMessage(func(m message) bool { return slices.ContainsFunc(m.blocks, bad) })
}

// resultsLate breaks where results are not at the beginning of a message.
var resultsLate = anyMessage(func(m message) bool {
	past := false
	for _, b := range m.blocks {
		is := b["type"] == "tool_result"
		if past && is {
			return true
		}
		past = past || !is
	}
	return false
})

// emptyText breaks where a block of text is empty, also within a result.
var emptyText = anyMessage(func(m message) bool {
	return slices.ContainsFunc(m.texts, func(s string) bool { return strings.TrimSpace(s) == "" })
})

// trailing breaks where the last message is the model's and ends with a space.
func trailing(r *request) bool {
	if len(r.messages) == 0 {
		return false
	}
	m := r.messages[len(r.messages)-1]
	return m.role == "assistant" && len(m.texts) > 0 && strings.TrimRight(m.texts[len(m.texts)-1], " \n\t") != m.texts[len(m.texts)-1]
}

// forged breaks where thinking is not what the server signed.
func forged(r *request) bool {
	return block(func(b map[string]any) bool {
		s := text(b["signature"])
		return b["type"] == "thinking" && (!strings.HasPrefix(s, "EqsB") || r.given != nil && !r.given[s+text(b["thinking"])])
	})(r)
}

// thoughtless breaks where thinking is on and the last reply with calls has none first.
func thoughtless(r *request) bool {
	kind := text(path(r.body, "thinking", "type"))
	if kind == "" || kind == "disabled" {
		return false
	}
	for _, m := range slices.Backward(r.messages) {
		if m.role == "user" && len(m.answers) == 0 {
			return false
		}
		if m.role == "assistant" && len(m.calls) > 0 {
			return !strings.HasSuffix(text(m.blocks[0]["type"]), "thinking")
		}
	}
	return false
}

// endsThinking breaks where a message ends with thinking.
var endsThinking = anyMessage(func(m message) bool {
	return len(m.blocks) > 0 && strings.HasSuffix(text(m.blocks[len(m.blocks)-1]["type"]), "thinking")
})

// marks breaks where more than four blocks are marked for the cache.
func marks(r *request) bool {
	n := 0
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if v["cache_control"] != nil {
				n++
			}
			for _, below := range v {
				look(below)
			}
		case []any:
			for _, below := range v {
				look(below)
			}
		}
	}
	look(r.body)
	r.where = fmt.Sprintf(" %d.", n)
	return n > 4
}

// strange breaks where a call has a field that it cannot have.
var strange = block(func(b map[string]any) bool { _, is := b["text"]; return b["type"] == "tool_use" && is })

// Of Google's generateContent.

// noParts breaks where a turn is empty.
var noParts = anyMessage(func(m message) bool { return len(m.blocks) == 0 })

// uneven breaks where the next turn has fewer or more results than there are calls.
func uneven(r *request) bool {
	for i, m := range r.messages {
		if len(m.calls) > 0 && i+1 < len(r.messages) && len(r.messages[i+1].answers) > 0 && len(r.messages[i+1].answers) != len(m.calls) {
			return true
		}
	}
	return false
}

// callTurn breaks where calls follow neither the person nor results.
func callTurn(r *request) bool {
	for i, m := range r.messages {
		if len(m.calls) > 0 && (i == 0 || r.messages[i-1].role != "user") {
			return true
		}
	}
	return false
}

// resultTurn breaks where results do not follow calls.
func resultTurn(r *request) bool {
	for i, m := range r.messages {
		if len(m.answers) > 0 && (i == 0 || len(r.messages[i-1].calls) == 0) {
			return true
		}
	}
	return false
}

// signed breaks where the first call of a turn has no signature.
var unsigned = anyMessage(func(m message) bool { return len(m.calls) > 0 && text(m.calls[0].raw["thoughtSignature"]) == "" })

// corrupt breaks where a signature is not one that the server gave, or the one that
// Google's documentation has for calls of other models.
func corrupt(r *request) bool {
	return block(func(b map[string]any) bool {
		s := text(b["thoughtSignature"])
		return s != "" && s != "skip_thought_signature_validator" && (!strings.HasPrefix(s, "c2ln") || r.given != nil && !r.given[s])
	})(r)
}
