package openai

import (
	"strconv"

	"github.com/openmanus-go/openmanus"
)

// A responseFormat writes responses. The output is a list of items: messages of the agent,
// calls that the client runs, and as reasoning the calls that the agent's own tools run.
// Ids of items are positions, so they are the same when the response is made again.
type responseFormat struct {
	*turn
	model      string // "": the agent's
	previous   string
	background bool
	metadata   map[string]any

	output  []any
	message string // the id of the message in progress, or ""
	text    string // of it
}

func (f *responseFormat) frames(p *projector, s step, at int) []frame {
	x := items{f: f, at: at}
	switch {
	case s.begin:
		x.add("response.created", fields{"response": f.object(p, "in_progress", nil)})
		x.add("response.in_progress", fields{"response": f.object(p, "in_progress", nil)})
	case s.text != "":
		x.addText(s.text)
	case s.work != "":
		x.endMessage()
		x.item(f.reasoning(s.work, at))
	case s.call != nil:
		x.endMessage()
		id := "fc_" + callID(f.id, s.call.ID)
		begun := f.call(id, "in_progress", s.call.Name, callID(f.id, s.call.ID), "")
		whole := f.call(id, "completed", s.call.Name, callID(f.id, s.call.ID), s.call.Input)
		n := len(f.output)
		x.add("response.output_item.added", fields{"output_index": n, "item": begun})
		x.add("response.function_call_arguments.delta", fields{"item_id": id, "output_index": n, "delta": s.call.Input})
		x.add("response.function_call_arguments.done", fields{"item_id": id, "output_index": n, "name": s.call.Name, "arguments": s.call.Input})
		x.add("response.output_item.done", fields{"output_index": n, "item": whole})
		f.output = append(f.output, whole)
	default:
		x.endMessage()
		status := f.status(p)
		x.add("response."+ended[status], fields{"response": f.object(p, status, f.output)})
	}
	return x.all
}

// ended names the last event by the status. There is none for cancelled responses.
var ended = map[string]string{"completed": "completed", "incomplete": "incomplete", "failed": "failed", "cancelled": "incomplete"}

// items collects frames of a step. at is the position of the next one.
type items struct {
	f   *responseFormat
	at  int
	all []frame
}

func (x *items) add(typ string, v fields) {
	v["type"] = typ
	x.all = append(x.all, frame{event: typ, data: func(_ string, n int) any {
		v["sequence_number"] = n
		return v
	}})
	x.at++
}

func (x *items) item(item fields) {
	n := len(x.f.output)
	x.add("response.output_item.added", fields{"output_index": n, "item": item})
	x.add("response.output_item.done", fields{"output_index": n, "item": item})
	x.f.output = append(x.f.output, item)
}

// addText adds to the message in progress, or begins one.
func (x *items) addText(text string) {
	f, n := x.f, len(x.f.output)
	if f.message == "" {
		f.message, f.text = f.itemID("msg", x.at), ""
		x.add("response.output_item.added", fields{"output_index": n, "item": f.said(f.message, "in_progress", nil)})
		x.add("response.content_part.added", fields{"output_index": n, "item_id": f.message, "content_index": 0, "part": outputText("")})
	}
	f.text += text
	message := f.message
	x.all = append(x.all, frame{event: "response.output_text.delta", text: text, data: func(text string, at int) any {
		return fields{"type": "response.output_text.delta", "sequence_number": at, "output_index": n, "item_id": message,
			"content_index": 0, "delta": text, "logprobs": []any{}}
	}})
	x.at += max(1, len(text))
}

func (x *items) endMessage() {
	f, n := x.f, len(x.f.output)
	if f.message == "" {
		return
	}
	in := func(more fields) fields {
		more["output_index"], more["item_id"], more["content_index"] = n, f.message, 0
		return more
	}
	item := f.said(f.message, "completed", []any{outputText(f.text)})
	x.add("response.output_text.done", in(fields{"text": f.text, "logprobs": []any{}}))
	x.add("response.content_part.done", in(fields{"part": outputText(f.text)}))
	x.add("response.output_item.done", fields{"output_index": n, "item": item})
	f.output = append(f.output, item)
	f.message = ""
}

func outputText(text string) fields {
	return fields{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

func (f *responseFormat) itemID(kind string, at int) string {
	return kind + "_" + f.id + "_" + strconv.FormatInt(f.since, 10) + "_" + strconv.Itoa(at)
}

func (f *responseFormat) said(id, status string, content []any) fields {
	if content == nil {
		content = []any{}
	}
	return fields{"type": "message", "id": id, "status": status, "role": "assistant", "content": content}
}

// reasoning is an item for a call that the agent's own tools run: a client would run an
// item of type function_call.
func (f *responseFormat) reasoning(line string, at int) fields {
	return fields{"type": "reasoning", "id": f.itemID("rs", at), "summary": []any{fields{"type": "summary_text", "text": line}}}
}

func (f *responseFormat) call(id, status, name, call, input string) fields {
	return fields{"type": "function_call", "id": id, "status": status, "call_id": call, "name": name, "arguments": input}
}

// status is that of the response.
func (f *responseFormat) status(p *projector) string {
	switch {
	case !p.over && len(p.state.Calls) == 0 && p.state.Seq == p.upTo:
		return "queued"
	case !p.over:
		return "in_progress"
	case p.state.Outcome.Reason == openmanus.ByPerson:
		return "cancelled"
	case p.failure() != nil:
		return "failed"
	case p.limited():
		return "incomplete"
	}
	return "completed"
}

// whole is the response without a stream: what was said on the way is left out.
func (f *responseFormat) whole(p *projector) any {
	output := []any{}
	calls := []any{}
	for _, o := range f.output {
		switch o.(fields)["type"] {
		case "reasoning":
			output = append(output, o)
		case "function_call":
			calls = append(calls, o)
		}
	}
	if text := p.answer(); p.over && text != "" {
		output = append(output, f.said(f.itemID("msg", 0), "completed", []any{outputText(text)}))
	}
	return f.object(p, f.status(p), append(output, calls...))
}

// object is the response with a status and an output.
func (f *responseFormat) object(p *projector, status string, output []any) fields {
	if output == nil {
		output = []any{}
	}
	spec := p.state.Config.Spec
	model, tools, choice, format := f.model, []any{}, "auto", fields{"type": "text"}
	if model == "" {
		model = spec.Agent
	}
	parallel, instructions := true, any(nil)
	if c := spec.Client; c != nil {
		for _, t := range c.Tools {
			tools = append(tools, fields{"type": "function", "name": t.Name, "description": t.Description, "parameters": t.Input, "strict": false})
		}
		if c.MustCall {
			choice = "required"
		}
		parallel, instructions = !c.OneByOne, orNil(c.Instructions)
	}
	if p.structured() {
		format = fields{"type": "json_schema", "name": "answer", "schema": spec.Answer, "strict": true}
	}
	metadata := map[string]any{"session": f.id}
	for k, v := range f.metadata {
		metadata[k] = v
	}
	o := fields{"id": f.responseID(), "object": "response", "created_at": p.began.Time.Unix(), "status": status, "model": model,
		"output": output, "error": nil, "incomplete_details": nil, "instructions": instructions, "metadata": metadata, "tools": tools,
		"tool_choice": choice, "parallel_tool_calls": parallel, "previous_response_id": orNil(f.previous), "background": f.background,
		"temperature": nil, "top_p": nil, "max_output_tokens": orZero(p.cut.max), "text": fields{"format": format},
		"truncation": "disabled", "reasoning": fields{"effort": nil, "summary": nil}, "usage": nil, "store": true}
	switch status {
	case "failed":
		e := p.failure()
		o["error"] = fields{"code": "server_error", "message": e.Message}
	case "incomplete":
		o["incomplete_details"] = fields{"reason": "max_output_tokens"}
	}
	if p.over {
		u := p.used()
		o["usage"] = fields{"input_tokens": u.Input, "output_tokens": u.Output, "total_tokens": u.Input + u.Output,
			"input_tokens_details": fields{"cached_tokens": u.Cached}, "output_tokens_details": fields{"reasoning_tokens": u.Reasoning}}
	}
	return o
}

func orZero(n int) any {
	if n == 0 {
		return nil
	}
	return n
}
