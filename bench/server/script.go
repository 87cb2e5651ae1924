package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// A Script says what the model answers when it has seen step tool results.
// It is a function: the same step always gets the same reply.
type Script func(step int) Reply

// A Reply is one answer of the model. One without calls ends the
// conversation.
type Reply struct {
	Text  string
	Calls []Call
}

// A Call asks for a tool.
type Call struct {
	Name      string
	Arguments string // as the model writes them, whether or not it is JSON
}

// Tool is the name of the tool that [Steps] calls. Its arguments are an
// object with the integers i, which differs in every call, and size, the
// number of bytes of the result.
const Tool = "noop"

// Steps knows the models "steps-N-SIZE": N calls of [Tool] with results of
// SIZE bytes, one at a time, then a text.
func Steps(model string) (Script, error) {
	var n, size int
	if _, err := fmt.Sscanf(model, "steps-%d-%d", &n, &size); err != nil || n < 0 || size < 0 ||
		model != fmt.Sprintf("steps-%d-%d", n, size) {
		return nil, fmt.Errorf("no such model: %q; there are steps-N-SIZE, such as steps-100-1024", model)
	}
	return func(step int) Reply {
		if step >= n {
			return Reply{Text: "All steps are done."}
		}
		return Reply{Calls: []Call{{Tool, fmt.Sprintf(`{"i":%d,"size":%d}`, step, size)}}}
	}, nil
}

// Result is what [Tool] returns: text of size bytes in lines, the same for
// the same arguments.
func Result(i, size int) string {
	line := fmt.Sprintf("result %06d: the quick brown fox jumps over the lazy \"dog\"\n", i)
	return strings.Repeat(line, size/len(line)+1)[:size]
}

// A query is what the server needs of a request.
type query struct {
	model  string
	stream bool
	step   int
	size   int
	sum    bool // a summary is asked for
}

// The mark of a request for a summary, and the answer: the product's own words
// begin so.
const (
	askForSummary = `"content":"This conversation grows too long`
	summary       = "All went as planned so far; the log of the journey is in the results."
)

// parse looks for the few fields it needs without decoding the document,
// which may be megabytes. That is exact for the encoders at hand: quotes in a
// JSON string are escaped, so `"model":"` is found as a key only.
//
// A model that numbers its replies ("On the way, step 12.") goes on from the last number,
// so that it knows where it is when what came before was left out.
func parse(body []byte) (q query, err error) {
	q.size = len(body)
	_, rest, ok := cutKey(body, "model")
	if !ok {
		return q, fmt.Errorf("the request names no model")
	}
	end := bytes.IndexByte(rest, '"')
	if end < 0 {
		return q, fmt.Errorf("the request is cut in its model")
	}
	q.model = string(rest[:end])
	q.stream = bytes.Contains(body, []byte(`"stream":true`)) || bytes.Contains(body, []byte(`"stream": true`))
	q.sum = bytes.Contains(body, []byte(askForSummary))
	if i := bytes.LastIndex(body, []byte(numbered)); i >= 0 {
		body = body[i+len(numbered):]
		number, _, _ := bytes.Cut(body, []byte("."))
		if q.step, err = strconv.Atoi(string(number)); err != nil {
			return q, fmt.Errorf("a reply that is numbered: %w", err)
		}
	}
	q.step += bytes.Count(body, []byte(`"role":"tool"`)) + bytes.Count(body, []byte(`"role": "tool"`))
	return q, nil
}

// numbered is how a reply with a number begins.
const numbered = `"content":"On the way, step `

// cutKey splits body around `"key":"`.
func cutKey(body []byte, key string) (before, after []byte, ok bool) {
	if before, after, ok = bytes.Cut(body, []byte(`"`+key+`":"`)); ok {
		return before, after, ok
	}
	return bytes.Cut(body, []byte(`"`+key+`": "`))
}

func (q query) usage() map[string]any {
	return map[string]any{"prompt_tokens": q.size / 4, "completion_tokens": 10, "total_tokens": q.size/4 + 10}
}

func (r Reply) finish() string {
	if len(r.Calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func callID(step, i int) string { return "call_" + strconv.Itoa(step) + "_" + strconv.Itoa(i) }

func writePlain(w http.ResponseWriter, q query, r Reply) {
	message := map[string]any{"role": "assistant", "content": nil}
	if r.Text != "" || len(r.Calls) == 0 {
		message["content"] = r.Text
	}
	var calls []any
	for i, c := range r.Calls {
		calls = append(calls, map[string]any{"id": callID(q.step, i), "type": "function",
			"function": map[string]any{"name": c.Name, "arguments": c.Arguments}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	data := encode(map[string]any{"id": "chatcmpl-" + strconv.Itoa(q.step), "object": "chat.completion", "created": 1, "model": q.model,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": r.finish()}}, "usage": q.usage()})
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.Write(data)
}

// writeStream sends the reply in the fragments in which providers send it,
// each in a write of its own, save that the end comes in one.
func writeStream(w http.ResponseWriter, q query, r Reply) {
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(delta map[string]any, finish any) {
		choices := []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}
		event(w, map[string]any{"id": "chatcmpl-" + strconv.Itoa(q.step), "object": "chat.completion.chunk", "created": 1, "model": q.model, "choices": choices})
	}
	flush := http.NewResponseController(w).Flush
	for i, piece := range halves(r.Text) {
		delta := map[string]any{"content": piece}
		if i == 0 {
			delta["role"] = "assistant"
		}
		chunk(delta, nil)
		flush()
	}
	for i, c := range r.Calls {
		begin := map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": callID(q.step, i), "type": "function",
			"function": map[string]any{"name": c.Name, "arguments": ""}}}}
		if i == 0 && r.Text == "" {
			begin["role"] = "assistant"
		}
		chunk(begin, nil)
		flush()
		for _, piece := range halves(c.Arguments) {
			chunk(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": piece}}}}, nil)
			flush()
		}
	}
	chunk(map[string]any{}, r.finish())
	event(w, map[string]any{"id": "chatcmpl-" + strconv.Itoa(q.step), "object": "chat.completion.chunk", "created": 1, "model": q.model,
		"choices": []any{}, "usage": q.usage()})
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// halves splits s in two, or returns what there is of it.
func halves(s string) []string {
	switch n := len(s) / 2; {
	case s == "":
		return nil
	case n == 0:
		return []string{s}
	default:
		return []string{s[:n], s[n:]}
	}
}

func event(w http.ResponseWriter, v any) {
	fmt.Fprintf(w, "data: %s\n\n", encode(v))
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of strings and numbers always encode
	}
	return data
}

func fail(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(encode(map[string]any{"error": map[string]any{"message": err.Error(), "type": "invalid_request_error"}}))
}
