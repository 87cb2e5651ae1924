package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// responseRules are the fields of a request for a response.
var responseRules = rules{}.
	takes(done, "model", "input", "instructions", "previous_response_id", "stream", "text", "tools", "tool_choice",
		"parallel_tool_calls", "max_output_tokens", "temperature", "reasoning", "background").
	takes(ignored, "user", "metadata", "store", "service_tier", "prompt_cache_key", "prompt_cache_retention", "safety_identifier",
		"include", "truncation", "stream_options").
	takes(only("1", "1.0"), "top_p").takes(only("0"), "top_logprobs").
	takes(only(), "conversation", "prompt", "max_tool_calls", "context_management")

type responsesRequest struct {
	Model        string          `json:"model"`
	Input        json.RawMessage `json:"input"`
	Instructions string          `json:"instructions"`
	Previous     string          `json:"previous_response_id"`
	Stream       bool            `json:"stream"`
	Background   bool            `json:"background"`
	Text         struct {
		Format *form `json:"format"`
	} `json:"text"`
	Tools       []tool   `json:"tools"`
	Choice      choice   `json:"tool_choice"`
	Parallel    *bool    `json:"parallel_tool_calls"`
	Max         int      `json:"max_output_tokens"`
	Temperature *float64 `json:"temperature"`
	Reasoning   struct {
		Effort string `json:"effort"`
	} `json:"reasoning"`
}

// An inputItem is an element of input.
type inputItem struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Call    string          `json:"call_id"`
	Name    string          `json:"name"`
	Input   string          `json:"arguments"`
	Text    string          `json:"input"` // of a custom tool
	Output  json.RawMessage `json:"output"`
}

// decodeResponse reads a request for a response.
func decodeResponse(ctx context.Context, fetch fetcher, v *responsesRequest, session string) (*request, error) {
	q := &request{agent: v.Model, session: session, stream: v.Stream, background: v.Background}
	err := q.set(settings{tools: v.Tools, choice: v.Choice, parallel: v.Parallel, format: v.Text.Format, formatAt: "text.format",
		max: v.Max, maxAt: "max_output_tokens", temperature: v.Temperature, most: 2, effort: v.Reasoning.Effort, effortAt: "reasoning.effort"})
	if err != nil {
		return nil, err
	}
	if v.Previous != "" {
		if q.session, _, _, err = sessionOf(v.Previous); err != nil {
			return nil, bad("previous_response_id", "there is no response "+quote(v.Previous))
		}
	}
	var items []item
	if v.Instructions != "" {
		items = append(items, item{role: "system", parts: llm.Parts{llm.Text{Text: v.Instructions}}})
	}
	var text string
	if json.Unmarshal(v.Input, &text) == nil {
		v.Input, _ = json.Marshal([]fields{{"role": "user", "content": text}}) // a string encodes
	}
	var input []inputItem
	if len(v.Input) == 0 {
		return nil, bad("input", "it is missing: give a text or a list of items")
	}
	if err := decodeInto("input", v.Input, &input); err != nil {
		return nil, err
	}
	r := reader{ctx: ctx, fetch: fetch}
	for i, in := range input {
		it, err := in.item(r.at(i, len(input), func(i int) string { return input[i].speaker() }), fmt.Sprintf("input[%d]", i))
		if err != nil {
			return nil, err
		}
		if it.role != "" {
			items = append(items, it)
		}
	}
	return q, q.say(items, "input")
}

// speaker returns who made an element of input: "tool" for results, and "assistant" for
// whatever else is no message.
func (in inputItem) speaker() string {
	switch {
	case in.Type == "" || in.Type == "message":
		return in.Role
	case strings.HasSuffix(in.Type, "_output"):
		return "tool"
	}
	return "assistant"
}

// item reads an element of input. Reasoning has no role: it is not said again.
func (in inputItem) item(r reader, at string) (it item, err error) {
	it = item{at: at}
	switch in.Type {
	case "", "message":
		switch in.Role {
		case "system", "developer":
			it.role = "system"
		case "user", "assistant":
			it.role = in.Role
		default:
			return it, bad(at+".role", "it must be system, developer, user or assistant")
		}
		it.parts, err = r.content(at+".content", in.Content)
	case "function_call", "custom_tool_call":
		it.role, it.calls = "assistant", []llm.Call{{ID: in.Call, Name: in.Name, Input: cmp.Or(in.Input, in.Text)}}
	case "function_call_output", "custom_tool_call_output":
		it.role, it.call = "tool", in.Call
		it.parts, err = r.content(at+".output", in.Output)
	case "reasoning":
	default:
		if !r.past || in.Type == "item_reference" {
			return it, bad(at+".type", quote(in.Type)+" is not supported: give messages, function calls and their outputs")
		}
		it.role, it.parts = "assistant", llm.Parts{llm.Text{Text: "[" + in.Type + ", which is not repeated here]"}}
	}
	return it, err
}

// respond serves POST /v1/responses.
func (a *API) respond(w http.ResponseWriter, r *http.Request) error {
	v, q, t, err := read(a, r, responseRules, decodeResponse)
	if err != nil {
		return err
	}
	f := &responseFormat{turn: t, model: v.Model, previous: v.Previous, background: v.Background}
	var also struct {
		Metadata map[string]any `json:"metadata"`
	}
	_ = json.Unmarshal(q.body, &also) // other metadata than an object is ignored
	f.metadata = also.Metadata
	return t.serve(w, r, q, f)
}

// stored returns the turn of a response that the path names.
func (a *API) stored(r *http.Request) (*turn, *responseFormat, error) {
	id, since, limit, err := sessionOf(r.PathValue("id"))
	if err != nil {
		return nil, nil, err
	}
	_, err = a.Journal.Mine(r.Context(), id)
	if err != nil && a.problem(r.Context(), err).Status == http.StatusNotFound {
		err = &Error{Status: http.StatusNotFound, Code: "response_not_found", Message: "there is no response " + quote(r.PathValue("id"))}
	}
	t := &turn{API: a, id: id, projector: projector{since: since, upTo: since + 1, cut: cutter{max: limit}}}
	return t, &responseFormat{turn: t, background: true}, err
}

// readStored is stored with what is stored of the turn.
func (a *API) readStored(r *http.Request) (*turn, *responseFormat, error) {
	t, f, err := a.stored(r)
	if err == nil {
		err = t.read(r.Context(), f)
	}
	return t, f, err
}

// retrieve serves GET /v1/responses/ID, also as a stream from a position on.
func (a *API) retrieve(w http.ResponseWriter, r *http.Request) error {
	t, f, err := a.stored(r)
	if err != nil {
		return err
	}
	if r.URL.Query().Get("stream") == "true" {
		after, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
		if text := r.URL.Query().Get("starting_after"); text != "" {
			if after, err = strconv.Atoi(text); err != nil || after < 0 {
				return bad("starting_after", "it must be a sequence_number")
			}
		}
		return t.send(w, r, f, after, true)
	}
	if err := t.read(r.Context(), f); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, f.whole(&t.projector))
	return nil
}

// read folds what is stored of a response.
func (t *turn) read(ctx context.Context, f format) error {
	at := 0
	err := t.past(ctx, func(s step) {
		for _, fr := range f.frames(&t.projector, s, at) {
			at += fr.size()
		}
	})
	if err == nil && t.began.Seq == 0 {
		err = &Error{Status: http.StatusNotFound, Code: "response_not_found", Message: "there is no such response"}
	}
	return err
}

// cancel serves POST /v1/responses/ID/cancel.
func (a *API) cancel(w http.ResponseWriter, r *http.Request) error {
	t, f, err := a.readStored(r)
	if err == nil && !t.over {
		if err = t.interrupt(r.Context()); err == nil {
			t, f, err = a.readStored(r)
		}
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, f.whole(&t.projector))
	return nil
}

// remove serves DELETE /v1/responses/ID. The session goes with its only response.
func (a *API) remove(w http.ResponseWriter, r *http.Request) error {
	t, _, err := a.readStored(r)
	if err != nil {
		return err
	}
	said := 0
	for ev, err := range a.Journal.Events(r.Context(), t.id, 0) {
		if err != nil {
			return err
		}
		switch ev.Body.(type) {
		case openmanus.UserSaid, openmanus.Answered:
			if ev.Seq == t.since+1 || ev.Seq > t.since+1 && !t.over {
				continue
			}
			said++
		}
	}
	if said > 0 {
		return &Error{Status: http.StatusConflict, Code: "has_others", Final: true,
			Message: "other responses belong to the same session: DELETE /api/v1/sessions/" + t.id + " removes all of them"}
	}
	if err := a.Sessions.End(r.Context(), t.id, true); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, fields{"id": r.PathValue("id"), "object": "response", "deleted": true})
	return nil
}

// inputItems serves GET /v1/responses/ID/input_items.
func (a *API) inputItems(w http.ResponseWriter, r *http.Request) error {
	t, _, err := a.readStored(r)
	if err != nil {
		return err
	}
	data := []any{}
	for ev, err := range a.Journal.Events(r.Context(), t.id, t.since) {
		if err != nil {
			return err
		}
		o := inputObject(t.id, ev)
		if o == nil {
			break
		}
		data = append(data, o)
	}
	slices.Reverse(data)
	if r.URL.Query().Get("order") == "asc" {
		slices.Reverse(data)
	}
	first, last := any(nil), any(nil)
	if len(data) > 0 {
		first, last = data[0].(fields)["id"], data[len(data)-1].(fields)["id"]
	}
	writeJSON(w, http.StatusOK, fields{"object": "list", "data": data, "has_more": false, "first_id": first, "last_id": last})
	return nil
}

// inputObject returns what an event of a request was in input, or nil if it is none.
func inputObject(session string, ev openmanus.Event) any {
	id := "msg_" + session + "_in" + strconv.FormatInt(ev.Seq, 10)
	switch b := ev.Body.(type) {
	case openmanus.UserSaid:
		content := []any{}
		for _, p := range b.Message.Parts {
			switch p := p.(type) {
			case llm.Text:
				content = append(content, fields{"type": "input_text", "text": p.Text})
			case llm.Blob:
				content = append(content, fields{"type": "input_file", "filename": p.Name})
			}
		}
		return fields{"type": "message", "id": id, "role": "user", "status": "completed", "content": content}
	case openmanus.Answered:
		return fields{"type": "function_call_output", "id": id, "call_id": callID(session, b.Call), "output": b.Text, "status": "completed"}
	}
	return nil
}
