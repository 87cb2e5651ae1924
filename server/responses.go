package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/ids"
)

// responsesRequest is what is read of a request for a response.
type responsesRequest struct {
	Model        string          `json:"model"`
	Input        json.RawMessage `json:"input"`
	Instructions string          `json:"instructions"`
	Previous     string          `json:"previous_response_id"`
	Stream       bool            `json:"stream"`
}

// messages are the input and the instructions.
func (r *responsesRequest) messages() ([]chatMessage, error) {
	var all []chatMessage
	if r.Instructions != "" {
		all = append(all, chatMessage{Role: "system", Content: textContent(r.Instructions)})
	}
	var text string
	if json.Unmarshal(r.Input, &text) == nil {
		return append(all, chatMessage{Role: "user", Content: textContent(text)}), nil
	}
	var items []struct {
		Type    string
		Role    string
		Content chatContent
	}
	if err := json.Unmarshal(r.Input, &items); err != nil {
		return nil, &FieldError{"input", err}
	}
	for _, i := range items {
		if i.Type == "" || i.Type == "message" {
			all = append(all, chatMessage{i.Role, i.Content})
		}
	}
	return all, nil
}

func textContent(text string) (c chatContent) {
	// Text always is content.
	data, _ := json.Marshal(text)
	_ = c.UnmarshalJSON(data)
	return c
}

// A response is an answer, whole or on its way.
type response struct {
	ID         string          `json:"id"`
	Object     string          `json:"object"`
	CreatedAt  int64           `json:"created_at"`
	Status     string          `json:"status"`
	Model      string          `json:"model"`
	Output     []responseItem  `json:"output"`
	Error      any             `json:"error"`
	Incomplete any             `json:"incomplete_details"`
	Usage      *responsesUsage `json:"usage"`
	Tools      []any           `json:"tools"`
	ToolChoice string          `json:"tool_choice"`
	Parallel   bool            `json:"parallel_tool_calls"`
	Metadata   map[string]any  `json:"metadata"`
	Previous   *string         `json:"previous_response_id"`
}

type responsesUsage struct {
	Input        int `json:"input_tokens"`
	InputDetails struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Output        int `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int `json:"total_tokens"`
}

// A responseItem is a message, or what the agent did before it.
type responseItem struct {
	Type    string             `json:"type"`
	ID      string             `json:"id"`
	Status  string             `json:"status,omitempty"`
	Role    string             `json:"role,omitempty"`
	Content *[]responseContent `json:"content,omitempty"` // of a message
	Summary []responseContent  `json:"summary,omitempty"` // of what was done
}

type responseContent struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Annotations *[]any `json:"annotations,omitempty"`
}

func outputText(text string) responseContent {
	return responseContent{Type: "output_text", Text: text, Annotations: &[]any{}}
}

func doingItem(text string) responseItem {
	return responseItem{Type: "reasoning", ID: "rs_" + ids.New(), Summary: []responseContent{{Type: "summary_text", Text: strings.TrimSpace(text)}}}
}

func messageItem(id, text string) responseItem {
	return responseItem{Type: "message", ID: id, Status: "completed", Role: "assistant", Content: &[]responseContent{outputText(text)}}
}

// responseID names a response by its session, so that the next one can go on
// with it.
func responseID(session string) string { return "resp_" + session + "_" + ids.New() }

func sessionOf(response string) (string, error) {
	rest, ok := strings.CutPrefix(response, "resp_")
	i := strings.LastIndexByte(rest, '_')
	if !ok || i < 0 {
		return "", &FieldError{"previous_response_id", openmanus.ErrNoSession}
	}
	return rest[:i], nil
}

func (s *Server) responses(w http.ResponseWriter, r *http.Request) {
	var req responsesRequest
	if err := readOpenAI(r, &req); err != nil {
		s.openAIFail(w, r, err)
		return
	}
	t, err := s.beginResponse(r, &req)
	if err != nil {
		s.openAIFail(w, r, err)
		return
	}
	w.Header().Set(sessionHeader, t.id)
	out := response{ID: responseID(t.id), Object: "response", CreatedAt: unix(time.Now()), Status: "in_progress", Model: req.Model, Output: []responseItem{},
		Tools: []any{}, ToolChoice: "auto", Parallel: true, Metadata: map[string]any{"session": t.id}}
	if req.Previous != "" {
		out.Previous = &req.Previous
	}
	if req.Stream {
		(&responseStream{turn: t, out: newStream(w), response: out}).run(r)
		return
	}
	t.doing = func(text string) error {
		out.Output = append(out.Output, doingItem(text))
		return nil
	}
	if err := errors.Join(t.run(r.Context()), t.outcome()); err != nil {
		openAIError(w, http.StatusInternalServerError, err.Error())
		return
	}
	out.Output = append(out.Output, messageItem("msg_"+ids.New(), t.state.Answer))
	t.complete(&out)
	writeJSON(w, out)
}

func (s *Server) beginResponse(r *http.Request, req *responsesRequest) (*turn, error) {
	messages, err := req.messages()
	if err != nil {
		return nil, err
	}
	id := r.Header.Get(sessionHeader)
	if req.Previous != "" {
		if id, err = sessionOf(req.Previous); err != nil {
			return nil, err
		}
	}
	if id != "" && len(messages) > 0 {
		messages = messages[len(messages)-1:] // the session knows the others
	}
	parts, err := asked(messages)
	if err != nil {
		return nil, renamed(err, "messages", "input")
	}
	return s.begin(r.Context(), id, req.Model, parts)
}

// complete fills in how the turn ended.
func (t *turn) complete(r *response) {
	r.Status = "completed"
	if t.cutOff() {
		r.Status, r.Incomplete = "incomplete", map[string]any{"reason": "max_output_tokens"}
	}
	u := t.state.Usage
	r.Usage = &responsesUsage{Input: u.Input, Output: u.Output, Total: u.Input + u.Output}
	r.Usage.InputDetails.Cached, r.Usage.OutputDetails.Reasoning = u.Cached, u.Reasoning
}

// A responseStream sends a response as it comes about.
type responseStream struct {
	*turn
	out      *stream
	response response
	n        int    // events sent
	message  string // the id of the message on its way
	text     strings.Builder
}

// send sends an event, with the fields that all of them have.
func (x *responseStream) send(typ string, fields map[string]any) error {
	fields["type"], fields["sequence_number"] = typ, x.n
	x.n++
	data, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return x.out.writeString("event: ", typ, "\ndata: ", string(data), "\n\n")
}

func (x *responseStream) run(r *http.Request) {
	if x.send("response.created", map[string]any{"response": x.response}) != nil {
		return
	}
	x.said, x.doing = x.say, x.do
	err := x.turn.run(r.Context())
	if errors.Is(err, errGone) {
		return
	}
	if err = errors.Join(err, x.endMessage(), x.outcome()); err != nil {
		x.response.Status, x.response.Error = "failed", map[string]any{"code": "server_error", "message": err.Error()}
		_ = x.send("response.failed", map[string]any{"response": x.response}) // the stream ends either way
		return
	}
	x.complete(&x.response)
	_ = x.send("response."+x.response.Status, map[string]any{"response": x.response}) // the last thing there is
}

// say adds to the message on its way, or begins one.
func (x *responseStream) say(text string) error {
	at := len(x.response.Output)
	if x.message == "" {
		if strings.TrimSpace(text) == "" {
			return nil
		}
		x.message = "msg_" + ids.New()
		item := responseItem{Type: "message", ID: x.message, Status: "in_progress", Role: "assistant", Content: &[]responseContent{}}
		if err := x.send("response.output_item.added", map[string]any{"output_index": at, "item": item}); err != nil {
			return err
		}
		if err := x.send("response.content_part.added", map[string]any{"item_id": x.message, "output_index": at, "content_index": 0, "part": outputText("")}); err != nil {
			return err
		}
	}
	x.text.WriteString(text)
	return x.send("response.output_text.delta", map[string]any{"item_id": x.message, "output_index": at, "content_index": 0, "delta": text, "logprobs": []any{}})
}

// endMessage ends the message on its way, if there is one.
func (x *responseStream) endMessage() error {
	if x.message == "" {
		return nil
	}
	at, text := len(x.response.Output), x.text.String()
	item := messageItem(x.message, text)
	x.response.Output = append(x.response.Output, item)
	id := x.message
	x.message = ""
	x.text.Reset()
	return errors.Join(
		x.send("response.output_text.done", map[string]any{"item_id": id, "output_index": at, "content_index": 0, "text": text, "logprobs": []any{}}),
		x.send("response.content_part.done", map[string]any{"item_id": id, "output_index": at, "content_index": 0, "part": outputText(text)}),
		x.send("response.output_item.done", map[string]any{"output_index": at, "item": item}))
}

// do shows what the agent does as an item of its own.
func (x *responseStream) do(text string) error {
	if err := x.endMessage(); err != nil {
		return err
	}
	at, item := len(x.response.Output), doingItem(text)
	x.response.Output = append(x.response.Output, item)
	return errors.Join(
		x.send("response.output_item.added", map[string]any{"output_index": at, "item": item}),
		x.send("response.output_item.done", map[string]any{"output_index": at, "item": item}))
}
