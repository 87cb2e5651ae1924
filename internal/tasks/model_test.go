package tasks_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/scripted"
	"github.com/openmanus-go/openmanus/llm/tokens"
)

// An endpoint speaks Chat Completions. A script decides what it replies; it counts what
// is asked and replied.
type endpoint struct {
	model   llm.Model
	counter *tokens.Counter
	show    func(format string, a ...any)

	mu       sync.Mutex
	arrived  func(n, results int) // see onArrival; may be nil
	used     usage
	shown    map[string]int // by the first message of a conversation: how many messages were shown
	problems []string       // where the script did not expect what was asked
}

// onArrival has f called before each further reply, with the number of the request and of
// the results in it.
func (e *endpoint) onArrival(f func(n, results int)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.arrived = f
}

// usage is what a task needed.
type usage struct {
	calls     int // requests to the model
	toolCalls int // calls in its replies
	prompt    int // tokens of all requests
	reply     int // tokens of all replies
	largest   int // tokens of the largest request
}

func newEndpoint(script []byte) (*endpoint, error) {
	s, err := scripted.Parse(script)
	if err != nil {
		return nil, err
	}
	return &endpoint{model: s.Model(), counter: tokens.For(false, "gpt-5"), shown: map[string]int{}}, nil
}

// chatRequest is what a client of Chat Completions sends.
type chatRequest struct {
	Messages []struct {
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"`
		ToolCallID string          `json:"tool_call_id"`
		ToolCalls  []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

// content reads a message's content: text, or a list of parts.
func content(raw json.RawMessage) (parts llm.Parts, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		return llm.Parts{llm.Text{Text: s}}, err
	}
	var list []struct {
		Type  string
		Text  string
		Image struct{ URL string } `json:"image_url"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	for _, p := range list {
		switch p.Type {
		case "text":
			parts = append(parts, llm.Text{Text: p.Text})
		case "image_url":
			kind, data, _ := strings.Cut(strings.TrimPrefix(p.Image.URL, "data:"), ";base64,")
			b, err := base64.StdEncoding.DecodeString(data)
			if err != nil {
				return nil, err
			}
			parts = append(parts, llm.Blob{MIME: kind, Data: b})
		default:
			return nil, fmt.Errorf("a part of type %q", p.Type)
		}
	}
	return parts, nil
}

// request reads what was sent as the request that a script looks at. The results of
// calls are one message; pictures, which follow in a user's message, belong to the last
// of them.
func request(in *chatRequest) (*llm.Request, error) {
	req := &llm.Request{}
	for _, m := range in.Messages {
		parts, err := content(m.Content)
		if err != nil {
			return nil, err
		}
		last := len(req.Messages) - 1
		afterResults := last >= 0 && req.Messages[last].Role == llm.Tool
		switch m.Role {
		case "system", "developer":
			for _, p := range parts {
				req.System += p.(llm.Text).Text
			}
		case "user":
			if afterResults && slices.ContainsFunc(parts, func(p llm.Part) bool { _, is := p.(llm.Blob); return is }) {
				to := &req.Messages[last]
				r := to.Parts[len(to.Parts)-1].(llm.Result)
				r.Parts = append(r.Parts, parts...)
				to.Parts[len(to.Parts)-1] = r
				continue
			}
			req.Messages = append(req.Messages, llm.Message{Role: llm.User, Parts: parts})
		case "assistant":
			for _, c := range m.ToolCalls {
				parts = append(parts, llm.Call{ID: c.ID, Name: c.Function.Name, Input: c.Function.Arguments})
			}
			req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Parts: parts})
		case "tool":
			r := llm.Result{ID: m.ToolCallID, Parts: parts}
			if afterResults {
				req.Messages[last].Parts = append(req.Messages[last].Parts, r)
				continue
			}
			req.Messages = append(req.Messages, llm.Message{Role: llm.Tool, Parts: llm.Parts{r}})
		default:
			return nil, fmt.Errorf("a message of role %q", m.Role)
		}
	}
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, llm.ToolSpec{
			Name: t.Function.Name, Description: t.Function.Description, Input: t.Function.Parameters,
		})
	}
	return req, nil
}

// perMessage is what the frame around a message or a tool costs.
const perMessage = 4

// size returns the tokens of a request.
func (e *endpoint) size(req *llm.Request) int {
	n := e.counter.Text(req.System)
	for _, t := range req.Tools {
		n += perMessage + e.counter.Text(t.Name) + e.counter.Text(t.Description) + e.counter.Text(string(t.Input))
	}
	for _, m := range req.Messages {
		n += perMessage + e.weigh(m.Parts)
	}
	return n
}

func (e *endpoint) weigh(parts llm.Parts) (n int) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			n += e.counter.Text(p.Text)
		case llm.Call:
			n += e.counter.Text(p.Name) + e.counter.Text(p.Input)
		case llm.Blob:
			n += e.counter.Blob(p)
		case llm.Result:
			n += e.weigh(p.Parts)
		}
	}
	return n
}

// transcript prints the messages of a conversation that were not printed before.
func (e *endpoint) transcript(req *llm.Request, size int) {
	if e.show == nil {
		return
	}
	var lines []string
	for _, m := range req.Messages {
		lines = append(lines, fmt.Sprintf("[%s] %s", m.Role, plain(m.Parts)))
	}
	key := ""
	if len(lines) > 0 {
		key = lines[0]
	}
	from := min(e.shown[key], len(lines))
	e.shown[key] = len(lines)
	e.show("---- request of %d tokens\n%s", size, strings.Join(lines[from:], "\n"))
}

// plain returns parts as text for people.
func plain(parts llm.Parts) string {
	var all []string
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			all = append(all, p.Text)
		case llm.Call:
			all = append(all, "@call "+p.Name+" "+p.Input)
		case llm.Blob:
			all = append(all, fmt.Sprintf("[%s, %d bytes]", p.MIME, len(p.Data)))
		case llm.Result:
			all = append(all, "> "+strings.ReplaceAll(plain(p.Parts), "\n", "\n> "))
		}
	}
	return strings.Join(all, "\n")
}

// ServeHTTP answers a request for a completion, as a stream.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in chatRequest
	err := json.NewDecoder(r.Body).Decode(&in)
	var req *llm.Request
	if err == nil {
		req, err = request(&in)
	}
	if err != nil {
		e.fail(w, http.StatusBadRequest, "this is no request for a completion: "+err.Error())
		return
	}
	size := e.size(req)
	e.mu.Lock()
	e.used.calls++
	e.used.prompt += size
	e.used.largest = max(e.used.largest, size)
	n, arrived := e.used.calls, e.arrived
	e.transcript(req, size)
	e.mu.Unlock()
	if arrived != nil {
		results := 0
		for _, m := range req.Messages {
			if m.Role == llm.Tool {
				results += len(m.Parts)
			}
		}
		arrived(n, results)
	}

	type object = map[string]any
	begun := false
	write := func(delta object, stop any, more object) {
		if !begun {
			w.Header().Set("Content-Type", "text/event-stream")
			begun = true
		}
		chunk := object{"id": "c", "object": "chat.completion.chunk", "model": "tasks"}
		chunk["choices"] = []any{object{"index": 0, "delta": delta, "finish_reason": stop}}
		for k, v := range more {
			chunk[k] = v
		}
		b, _ := json.Marshal(chunk)
		fmt.Fprintf(w, "data: %s\n\n", b)
	}
	var text strings.Builder
	calls, at := 0, map[int]int{} // a part: the index of its call
	for d, err := range e.model.Stream(r.Context(), req) {
		var wanted *llm.Error
		if errors.As(err, &wanted) && wanted.Status != 0 {
			http.Error(w, wanted.Error(), wanted.Status)
			return
		}
		if r.Context().Err() != nil {
			return // the program was killed
		}
		if err != nil {
			e.fail(w, http.StatusBadRequest, err.Error())
			return
		}
		switch p := d.Piece.(type) {
		case llm.Text:
			text.WriteString(p.Text)
			write(object{"content": p.Text}, nil, nil)
		case llm.Call:
			i, known := at[d.Part]
			c := object{"function": object{"arguments": p.Input}}
			if !known {
				if !slices.ContainsFunc(req.Tools, func(t llm.ToolSpec) bool { return t.Name == p.Name }) {
					e.fail(w, http.StatusBadRequest, "the script calls "+p.Name+", which a model cannot: the request does not have it")
					return
				}
				i = calls
				at[d.Part] = i
				calls++
				c["id"], c["type"], c["function"] = p.ID, "function", object{"name": p.Name, "arguments": p.Input}
			}
			c["index"] = i
			text.WriteString(p.Name + p.Input)
			write(object{"tool_calls": []any{c}}, nil, nil)
		}
		if d.Stop == "" {
			continue
		}
		reason := map[llm.Stop]string{llm.ToolUse: "tool_calls", llm.Length: "length", llm.Filter: "content_filter"}[d.Stop]
		if reason == "" {
			reason = "stop"
		}
		out := e.counter.Text(text.String())
		e.mu.Lock()
		e.used.toolCalls += calls
		e.used.reply += out
		e.mu.Unlock()
		write(object{}, reason, object{
			"usage": object{"prompt_tokens": size, "completion_tokens": out, "total_tokens": size + out},
		})
		fmt.Fprint(w, "data: [DONE]\n\n")
	}
}

// fail answers with an error, and records that the task cannot succeed.
func (e *endpoint) fail(w http.ResponseWriter, status int, problem string) {
	e.mu.Lock()
	e.problems = append(e.problems, problem)
	e.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": problem, "type": "script"}})
}
