package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
)

// chatRules are the fields of a chat completion.
var chatRules = rules{}.
	takes(done, "model", "messages", "stream", "stream_options", "response_format", "tools", "tool_choice", "parallel_tool_calls",
		"max_tokens", "max_completion_tokens", "stop", "temperature", "reasoning_effort").
	takes(ignored, "user", "metadata", "store", "seed", "service_tier", "prompt_cache_key", "prompt_cache_retention",
		"safety_identifier", "prediction", "verbosity").
	takes(only("1", "1.0"), "n", "top_p").takes(only("0", "0.0"), "frequency_penalty", "presence_penalty", "top_logprobs").
	takes(only("false"), "logprobs").takes(only("{}"), "logit_bias").takes(only(`["text"]`), "modalities").
	takes(only("[]"), "functions").takes(only(`"auto"`, `"none"`), "function_call").takes(only(), "audio", "web_search_options")

type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Format      *form    `json:"response_format"`
	Tools       []tool   `json:"tools"`
	Choice      choice   `json:"tool_choice"`
	Parallel    *bool    `json:"parallel_tool_calls"`
	Max         int      `json:"max_tokens"`
	MaxNew      int      `json:"max_completion_tokens"`
	Stop        words    `json:"stop"`
	Temperature *float64 `json:"temperature"`
	Effort      string   `json:"reasoning_effort"`
}

type chatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Calls   []chatCall      `json:"tool_calls"`
	Call    string          `json:"tool_call_id"`
	Old     *chatFunction   `json:"function_call"` // in place of tool_calls, before 2023-11
}

// A chatCall is a call of one of the client's tools.
type chatCall struct {
	Index    *int         `json:"index,omitempty"` // in a stream
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
	Custom   *struct {
		Name  string `json:"name"`
		Input string `json:"input"`
	} `json:"custom,omitempty"`
}

type chatFunction struct {
	Name  string `json:"name"`
	Input string `json:"arguments"`
}

// words are one text or several.
type words []string

// UnmarshalJSON implements [json.Unmarshaler]. One string counts as a list of one.
func (w *words) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*w = words{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(w))
}

// settings puts what all formats have into a request.
type settings struct {
	tools       []tool
	choice      choice
	parallel    *bool
	format      *form
	formatAt    string
	stop        []string
	stopAt      string
	max         int
	maxAt       string
	temperature *float64
	effort      string
	effortAt    string
	most        float64 // of temperature
}

// set takes the settings that all formats have. An error names the field as the client's
// format calls it.
func (q *request) set(s settings) (err error) {
	if q.client.Tools, err = specs(s.tools); err != nil {
		return err
	}
	if q.client.Tools, q.client.MustCall, err = s.choice.choose(q.client.Tools); err != nil {
		return err
	}
	q.client.OneByOne = s.parallel != nil && !*s.parallel || s.choice.Alone
	if q.answer, err = s.format.schema(s.formatAt); err != nil {
		return err
	}
	if s.max < 0 {
		return bad(s.maxAt, "it must be at least 1")
	}
	if len(s.stop) > 16 || slices.Contains(s.stop, "") {
		return bad(s.stopAt, "give at most 16 texts that are not empty")
	}
	if t := s.temperature; t != nil && (*t < 0 || *t > s.most) {
		return bad("temperature", fmt.Sprintf("it must be from 0 to %g", s.most))
	}
	q.cut = cutter{stop: s.stop, max: s.max}
	q.client.Temperature = s.temperature
	switch s.effort {
	case "", "none": // as configured
	case "minimal", "low":
		q.client.Effort = "low"
	case "medium":
		q.client.Effort = "medium"
	case "high", "xhigh", "max":
		q.client.Effort = "high"
	default:
		return bad(s.effortAt, "it must be none, minimal, low, medium or high")
	}
	return nil
}

// decodeChat reads a chat completion. An error names the field. Files at addresses are
// fetched, which ctx bounds.
func decodeChat(ctx context.Context, fetch fetcher, v *chatRequest, session string) (*request, error) {
	q := &request{agent: v.Model, session: session, stream: v.Stream}
	err := q.set(settings{tools: v.Tools, choice: v.Choice, parallel: v.Parallel, format: v.Format, formatAt: "response_format",
		stop: v.Stop, stopAt: "stop", max: max(v.Max, v.MaxNew), maxAt: "max_completion_tokens", temperature: v.Temperature, most: 2,
		effort: v.Effort, effortAt: "reasoning_effort"})
	if err == nil && min(v.Max, v.MaxNew) < 0 {
		err = bad("max_tokens", "it must be at least 1")
	}
	if err != nil {
		return nil, err
	}
	r := reader{ctx: ctx, fetch: fetch}
	var items []item
	for i, m := range v.Messages {
		it := item{at: fmt.Sprintf("messages[%d]", i), call: m.Call}
		switch m.Role {
		case "system", "developer":
			it.role = "system"
		case "user", "assistant", "tool":
			it.role = m.Role
		case "function":
			it.role = "tool"
		default:
			return nil, bad(it.at+".role", "it must be system, developer, user, assistant or tool")
		}
		r := r.at(i, len(v.Messages), func(i int) string { return v.Messages[i].Role })
		if it.parts, err = r.content(it.at+".content", m.Content); err != nil {
			return nil, err
		}
		if m.Old != nil {
			m.Calls = append(m.Calls, chatCall{Function: *m.Old})
		}
		for _, c := range m.Calls {
			if c.Custom != nil {
				c.Function = chatFunction(*c.Custom)
			}
			it.calls = append(it.calls, llm.Call{ID: c.ID, Name: c.Function.Name, Input: c.Function.Input})
		}
		items = append(items, it)
	}
	return q, q.say(items, "messages")
}

// fetcher is [API].Fetch.
type fetcher = func(ctx context.Context, url string) (mime string, data []byte, err error)

// chat serves POST /v1/chat/completions.
func (a *API) chat(w http.ResponseWriter, r *http.Request) error {
	v, q, t, err := read(a, r, chatRules, decodeChat)
	if err != nil {
		return err
	}
	return t.serve(w, r, q, &chatFormat{session: t.id, model: v.Model, usage: v.StreamOptions.IncludeUsage, stream: v.Stream})
}

// A chatFormat writes chat completions. Calls of the agent's own tools are reasoning.
type chatFormat struct {
	session, model string
	usage          bool // whether a stream has it
	stream         bool
	work           string
	calls          []chatCall
}

// fields are the fields of an object in JSON.
type fields = map[string]any

// frames returns the chunks for a step. Text may be split at any character where a limit
// or a stop sequence demands that.
func (f *chatFormat) frames(p *projector, s step, _ int) []frame {
	chunk := func(choices ...any) frame {
		if choices == nil {
			choices = []any{}
		}
		return frame{data: func(string, int) any { return f.object(p, "chat.completion.chunk", choices) }}
	}
	delta := func(d fields) frame { return chunk(fields{"index": 0, "delta": d, "finish_reason": nil}) }
	switch {
	case s.begin:
		return []frame{delta(fields{"role": "assistant", "content": ""})}
	case s.text != "":
		return []frame{{text: s.text, data: func(text string, _ int) any {
			choice := fields{"index": 0, "delta": fields{"content": text}, "finish_reason": nil}
			return f.object(p, "chat.completion.chunk", []any{choice})
		}}}
	case s.work != "":
		f.work += s.work + "\n"
		return []frame{delta(fields{"reasoning_content": s.work + "\n"})}
	case s.call != nil:
		c := chatCall{ID: callID(f.session, s.call.ID), Type: "function"}
		c.Function.Name, c.Function.Input = s.call.Name, s.call.Input
		f.calls = append(f.calls, c)
		n := len(f.calls) - 1
		c.Index = &n
		return []frame{delta(fields{"tool_calls": []chatCall{c}})}
	}
	if e := p.failure(); e != nil {
		return []frame{{data: func(string, int) any { return e.body(false) }}}
	}
	all := []frame{chunk(fields{"index": 0, "delta": fields{}, "finish_reason": f.reason(p)})}
	if f.usage {
		all = append(all, frame{data: func(string, int) any {
			o := f.object(p, "chat.completion.chunk", []any{})
			o["usage"] = chatUsage(p.used())
			return o
		}})
	}
	return append(all, frame{raw: "[DONE]"})
}

// object has the fields of a completion and of a piece of one.
func (f *chatFormat) object(p *projector, kind string, choices []any) fields {
	return fields{"id": "chatcmpl-" + f.session + "-" + strconv.FormatInt(p.since, 10), "object": kind, "created": p.began.Time.Unix(),
		"model": f.model, "choices": choices}
}

// reason returns the finish_reason: calls for the client, a limit of tokens, or a whole
// answer.
func (f *chatFormat) reason(p *projector) string {
	switch {
	case len(f.calls) > 0:
		return "tool_calls"
	case p.limited():
		return "length"
	}
	return "stop"
}

// whole returns the completion of an answer that is not streamed.
func (f *chatFormat) whole(p *projector) any {
	m := fields{"role": "assistant", "content": p.answer(), "refusal": nil}
	if f.work != "" {
		m["reasoning_content"] = strings.TrimSuffix(f.work, "\n")
	}
	if len(f.calls) > 0 {
		m["tool_calls"] = f.calls
		if m["content"] == "" {
			m["content"] = nil
		}
	}
	o := f.object(p, "chat.completion", []any{fields{"index": 0, "message": m, "finish_reason": f.reason(p), "logprobs": nil}})
	o["usage"] = chatUsage(p.used())
	return o
}

// chatUsage has the tokens as chat completions count them: the prompt includes the cached
// tokens, and the completion the reasoning.
func chatUsage(u llm.Usage) fields {
	return fields{"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details": fields{"cached_tokens": u.Cached}, "completion_tokens_details": fields{"reasoning_tokens": u.Reasoning}}
}
