package zoo

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// A wire is an interface: how a request is read, and how a reply is written.
type wire struct {
	list  string // the field with the conversation
	base  string // what the base URL ends with
	parse func(*request)
	reply func(w io.Writer, o *Opened, n int, t Turn) // n is the number of the reply, from 1
}

var (
	chat      = wire{"messages", "/v1", parseChat, replyChat}
	responses = wire{"input", "/v1", parseResponses, replyResponses}
	messages  = wire{"messages", "", parseMessages, replyMessages}
	gemini    = wire{"contents", "", parseGemini, replyGemini}
	ollama    = wire{"messages", "", parseChat, replyOllama}
)

// parseChat reads a request of Chat Completions, or of Ollama.
func parseChat(r *request) {
	for _, one := range list(r.body["messages"]) {
		raw := object(one)
		m := message{role: text(raw["role"]), raw: raw}
		if s, ok := raw["content"].(string); ok {
			m.texts = append(m.texts, s)
		}
		for _, p := range list(raw["content"]) {
			b := object(p)
			m.blocks = append(m.blocks, b)
			if s, ok := b["text"].(string); ok {
				m.texts = append(m.texts, s)
			}
			if url := text(path(b, "image_url", "url")); url != "" {
				_, data, _ := strings.Cut(url, ",")
				m.images = append(m.images, data)
			}
		}
		for _, i := range list(raw["images"]) {
			m.images = append(m.images, text(i))
		}
		for _, c := range list(raw["tool_calls"]) {
			f := object(path(c, "function"))
			m.calls = append(m.calls, call{text(object(c)["id"]), text(f["name"]), f["arguments"], object(c)})
		}
		if m.role == "tool" {
			id, _ := raw["tool_call_id"].(string)
			if id == "" {
				id = text(raw["tool_name"])
			}
			m.answers = append(m.answers, id)
		}
		r.messages = append(r.messages, m)
	}
	for _, t := range list(r.body["tools"]) {
		f := object(path(t, "function"))
		r.tool(f["name"], f["parameters"])
	}
}

// tool adds a tool that is offered.
func (r *request) tool(name, schema any) {
	data, _ := json.Marshal(schema)
	r.tools = append(r.tools, tool{text(name), data})
}

// parseResponses reads a request of Responses: each item is a message.
func parseResponses(r *request) {
	for _, one := range list(r.body["input"]) {
		raw := object(one)
		m := message{role: text(raw["role"]), raw: raw}
		content := list(raw["content"])
		switch text(raw["type"]) {
		case "function_call":
			m.role = "assistant"
			m.calls = []call{{text(raw["call_id"]), text(raw["name"]), raw["arguments"], raw}}
		case "function_call_output":
			m.role, m.answers, content = "tool", []string{text(raw["call_id"])}, list(raw["output"])
		case "reasoning":
			m.role = "reasoning"
		}
		for _, p := range content {
			b := object(p)
			m.blocks = append(m.blocks, b)
			if s, ok := b["text"].(string); ok {
				m.texts = append(m.texts, s)
			}
			if url := text(b["image_url"]); url != "" {
				_, data, _ := strings.Cut(url, ",")
				m.images = append(m.images, data)
			}
		}
		r.messages = append(r.messages, m)
	}
	for _, t := range list(r.body["tools"]) {
		r.tool(object(t)["name"], object(t)["parameters"])
	}
}

// parseMessages reads a request of Anthropic's Messages.
func parseMessages(r *request) {
	for _, one := range list(r.body["messages"]) {
		raw := object(one)
		m := message{role: text(raw["role"]), raw: raw}
		if s, ok := raw["content"].(string); ok {
			m.texts = append(m.texts, s)
		}
		var look func([]any)
		look = func(content []any) {
			for _, p := range content {
				b := object(p)
				switch text(b["type"]) {
				case "text":
					m.texts = append(m.texts, text(b["text"]))
				case "tool_use":
					m.calls = append(m.calls, call{text(b["id"]), text(b["name"]), b["input"], b})
				case "tool_result":
					m.answers = append(m.answers, text(b["tool_use_id"]))
					look(list(b["content"]))
				case "image":
					m.images = append(m.images, text(path(b, "source", "data")))
				}
			}
		}
		for _, p := range list(raw["content"]) {
			m.blocks = append(m.blocks, object(p))
		}
		look(list(raw["content"]))
		r.messages = append(r.messages, m)
	}
	for _, t := range list(r.body["tools"]) {
		r.tool(object(t)["name"], object(t)["input_schema"])
	}
}

// parseGemini reads a request of generateContent.
func parseGemini(r *request) {
	for _, one := range list(r.body["contents"]) {
		raw := object(one)
		m := message{role: text(raw["role"]), raw: raw}
		if m.role == "model" {
			m.role = "assistant"
		}
		for _, p := range list(raw["parts"]) {
			b := object(p)
			m.blocks = append(m.blocks, b)
			if s, ok := b["text"].(string); ok {
				m.texts = append(m.texts, s)
			}
			if c := object(b["functionCall"]); c != nil {
				m.calls = append(m.calls, call{"", text(c["name"]), c["args"], b})
			}
			if f := object(b["functionResponse"]); f != nil {
				m.answers = append(m.answers, text(f["name"]))
			}
			if data := text(path(b, "inlineData", "data")); data != "" {
				m.images = append(m.images, data)
			}
		}
		r.messages = append(r.messages, m)
	}
	for _, t := range list(r.body["tools"]) {
		for _, f := range list(object(t)["functionDeclarations"]) {
			r.tool(object(f)["name"], object(f)["parametersJsonSchema"])
		}
	}
}

// o is an object of JSON.
type o = map[string]any

// event writes an event of a stream.
func event(w io.Writer, name string, v any) {
	data, _ := json.Marshal(v)
	if name != "" {
		fmt.Fprintf(w, "event: %s\n", name)
	}
	fmt.Fprintf(w, "data: %s\n\n", data)
}

// halves returns a text in two fragments.
func halves(s string) []string { return []string{s[:len(s)/2], s[len(s)/2:]} }

// replyChat writes a stream of Chat Completions.
func replyChat(w io.Writer, z *Opened, n int, t Turn) {
	send := func(delta o, finish any) {
		event(w, "", o{"choices": []any{o{"index": 0, "delta": delta, "finish_reason": finish}}})
	}
	signature := fmt.Sprintf("c2lnbmF0dXJl%04d", n)
	send(o{"role": "assistant", "content": ""}, nil)
	for _, piece := range halves(t.Thought) {
		switch {
		case piece == "":
		case z.gives.chunks:
			send(o{"content": []any{o{"type": "thinking", "thinking": []any{o{"type": "text", "text": piece}}}}}, nil)
		case z.gives.details:
			send(o{z.gives.thought: piece, "reasoning_details": []any{o{"type": "reasoning.text", "text": piece, "index": 0, "format": "google-gemini-v1"}}}, nil)
		case z.gives.thought != "":
			send(o{z.gives.thought: piece}, nil)
		}
	}
	if z.gives.details && (t.Thought != "" || len(t.Calls) > 0) {
		send(o{"reasoning_details": []any{o{"type": "reasoning.encrypted", "data": signature, "index": 1}}}, nil)
		z.given[signature] = true
	} else if t.Thought != "" {
		z.given[t.Thought] = true
	}
	for _, piece := range halves(t.Text) {
		if piece != "" {
			send(o{"content": piece}, nil)
		}
	}
	for i, c := range t.Calls {
		one := o{"index": i, "id": fmt.Sprintf("call_%d_%d", n, i), "type": "function", "function": o{"name": c.Name, "arguments": ""}}
		if z.gives.signature && i == 0 {
			one["extra_content"] = o{"google": o{"thought_signature": signature}}
			z.given[signature] = true
		}
		send(o{"tool_calls": []any{one}}, nil)
		for _, piece := range halves(c.Arguments) {
			send(o{"tool_calls": []any{o{"index": i, "function": o{"arguments": piece}}}}, nil)
		}
	}
	finish := "stop"
	switch {
	case t.Cut:
		finish = "length"
	case len(t.Calls) > 0:
		finish = "tool_calls"
	}
	send(o{}, finish)
	event(w, "", o{"choices": []any{}, "usage": o{"prompt_tokens": 100, "completion_tokens": 10}})
	io.WriteString(w, "data: [DONE]\n\n")
}

// replyResponses writes a stream of Responses.
func replyResponses(w io.Writer, z *Opened, n int, t Turn) {
	var output []any
	add := func(item o) {
		event(w, "", o{"type": "response.output_item.added", "output_index": len(output), "item": o{"type": item["type"], "id": item["id"], "call_id": item["call_id"], "name": item["name"]}})
		event(w, "", o{"type": "response.output_item.done", "output_index": len(output), "item": item})
		output = append(output, item)
	}
	if t.Thought != "" {
		sealed := fmt.Sprintf("gAAAAsealed%04d", n)
		z.given[sealed] = true
		add(o{"type": "reasoning", "id": fmt.Sprintf("rs_%d", n), "summary": []any{o{"type": "summary_text", "text": t.Thought}}, "encrypted_content": sealed})
	}
	if t.Text != "" {
		add(o{"type": "message", "id": fmt.Sprintf("msg_%d", n), "role": "assistant", "content": []any{o{"type": "output_text", "text": t.Text}}})
	}
	for i, c := range t.Calls {
		add(o{"type": "function_call", "id": fmt.Sprintf("fc_%d_%d", n, i), "call_id": fmt.Sprintf("call_%d_%d", n, i), "name": c.Name, "arguments": c.Arguments})
	}
	res := o{"object": "response", "status": "completed", "output": output, "usage": o{"input_tokens": 100, "output_tokens": 10}}
	if t.Cut {
		res["status"], res["incomplete_details"] = "incomplete", o{"reason": "max_output_tokens"}
	}
	event(w, "", o{"type": "response." + res["status"].(string), "response": res})
}

// replyMessages writes a stream of Messages.
func replyMessages(w io.Writer, z *Opened, n int, t Turn) {
	event(w, "message_start", o{"type": "message_start", "message": o{"role": "assistant", "usage": o{"input_tokens": 100}}})
	at := 0
	block := func(begin o, deltas ...o) {
		event(w, "content_block_start", o{"type": "content_block_start", "index": at, "content_block": begin})
		for _, d := range deltas {
			event(w, "content_block_delta", o{"type": "content_block_delta", "index": at, "delta": d})
		}
		event(w, "content_block_stop", o{"type": "content_block_stop", "index": at})
		at++
	}
	if t.Thought != "" {
		signature := fmt.Sprintf("EqsBsigned%04d", n)
		z.given[signature+t.Thought] = true
		block(o{"type": "thinking", "thinking": ""}, o{"type": "thinking_delta", "thinking": t.Thought}, o{"type": "signature_delta", "signature": signature})
	}
	if t.Text != "" {
		block(o{"type": "text", "text": ""}, o{"type": "text_delta", "text": t.Text})
	}
	for i, c := range t.Calls {
		block(o{"type": "tool_use", "id": fmt.Sprintf("toolu_%d_%d", n, i), "name": c.Name, "input": o{}}, o{"type": "input_json_delta", "partial_json": c.Arguments})
	}
	why := "end_turn"
	switch {
	case t.Cut:
		why = "max_tokens"
	case len(t.Calls) > 0:
		why = "tool_use"
	}
	event(w, "message_delta", o{"type": "message_delta", "delta": o{"stop_reason": why}, "usage": o{"output_tokens": 10}})
	event(w, "message_stop", o{"type": "message_stop"})
}

// replyGemini writes a stream of generateContent.
func replyGemini(w io.Writer, z *Opened, n int, t Turn) {
	send := func(finish string, parts ...any) {
		c := o{"index": 0, "content": o{"role": "model", "parts": parts}}
		if finish != "" {
			c["finishReason"] = finish
		}
		event(w, "", o{"candidates": []any{c}, "usageMetadata": o{"promptTokenCount": 100, "candidatesTokenCount": 10}})
	}
	if t.Thought != "" {
		send("", o{"text": t.Thought, "thought": true})
	}
	if t.Text != "" {
		send("", o{"text": t.Text})
	}
	for i, c := range t.Calls {
		var args any = o{}
		json.Unmarshal([]byte(c.Arguments), &args) // it gives nothing but objects
		if object(args) == nil {
			args = o{}
		}
		p := o{"functionCall": o{"name": c.Name, "args": args}}
		if i == 0 {
			signature := fmt.Sprintf("c2lnbmF0dXJl%04d", n)
			p["thoughtSignature"] = signature
			z.given[signature] = true
		}
		send("", p)
	}
	if t.Cut {
		send("MAX_TOKENS")
		return
	}
	send("STOP")
}

// replyOllama writes the lines of Ollama.
func replyOllama(w io.Writer, z *Opened, n int, t Turn) {
	line := func(v o) {
		data, _ := json.Marshal(v)
		fmt.Fprintf(w, "%s\n", data)
	}
	if t.Thought != "" {
		line(o{"message": o{"role": "assistant", "content": "", "thinking": t.Thought}})
	}
	if t.Text != "" {
		line(o{"message": o{"role": "assistant", "content": t.Text}})
	}
	for _, c := range t.Calls {
		var args any = o{}
		json.Unmarshal([]byte(c.Arguments), &args)
		if object(args) == nil {
			args = o{}
		}
		line(o{"message": o{"role": "assistant", "content": "", "tool_calls": []any{o{"function": o{"name": c.Name, "arguments": args}}}}})
	}
	why := "stop"
	if t.Cut {
		why = "length"
	}
	line(o{"message": o{"role": "assistant", "content": ""}, "done": true, "done_reason": why, "prompt_eval_count": 100, "eval_count": 10})
}
