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

// A responsesRequest holds the fields of a request for a response that have a
// meaning for agents.
type responsesRequest struct {
	Model        string          `json:"model"`
	Input        json.RawMessage `json:"input"` // a string or a list of items
	Instructions string          `json:"instructions"`
	Previous     string          `json:"previous_response_id"`
	Stream       bool            `json:"stream"`
}

// messages returns the instructions and the messages of the input.
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

// A response is a response, complete or in progress.
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

// responsesUsage has the tokens as the Responses API counts them: input includes
// cached tokens, and output includes reasoning. Clients require all of its fields.
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

// A responseItem is a message of the agent, or a call, which appears as
// reasoning.
type responseItem struct {
	Type    string             `json:"type"`
	ID      string             `json:"id"`
	Status  string             `json:"status,omitempty"`
	Role    string             `json:"role,omitempty"`
	Content *[]responseContent `json:"content,omitempty"` // of a message
	Summary []responseContent  `json:"summary,omitempty"` // of reasoning
}

// A responseContent is a part of a message or of a summary.
type responseContent struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Annotations *[]any `json:"annotations,omitempty"`
}

// outputText returns the content of a message. Clients require its annotations.
func outputText(text string) responseContent {
	return responseContent{Type: "output_text", Text: text, Annotations: &[]any{}}
}

// callItem returns the item for a call of the agent, which line describes. It has
// the type reasoning, since a client would take an item of type function_call for
// one that it has to run.
func callItem(line string) responseItem {
	summary := []responseContent{{Type: "summary_text", Text: strings.TrimSpace(line)}}
	return responseItem{Type: "reasoning", ID: "rs_" + ids.New(), Summary: summary}
}

// messageItem returns the item for a message of the agent. status is in_progress or
// completed.
func messageItem(id, status string, content ...responseContent) responseItem {
	if content == nil {
		content = []responseContent{}
	}
	return responseItem{Type: "message", ID: id, Status: status, Role: "assistant", Content: &content}
}

// responseID returns an id for a response that contains its session, so that a
// later request can continue it.
func responseID(session string) string { return "resp_" + session + "_" + ids.New() }

// sessionOf returns the session in an id of [responseID].
func sessionOf(response string) (string, error) {
	rest, ok := strings.CutPrefix(response, "resp_")
	i := strings.LastIndexByte(rest, '_')
	if !ok || i < 0 {
		return "", &FieldError{"previous_response_id", openmanus.ErrNoSession}
	}
	return rest[:i], nil
}

// responses serves POST /v1/responses. A response id contains its session, so
// previous_response_id continues that session.
func (s *Server) responses(w http.ResponseWriter, r *http.Request) error {
	var req responsesRequest
	if err := readOpenAI(r, &req); err != nil {
		return err
	}
	c, err := s.completeResponse(r, &req)
	if err != nil {
		return err
	}
	w.Header().Set(sessionHeader, c.id)
	out := response{
		ID: responseID(c.id), Object: "response", CreatedAt: time.Now().Unix(), Status: "in_progress",
		Model: req.Model, Output: []responseItem{}, Tools: []any{}, ToolChoice: "auto", Parallel: true,
		Metadata: map[string]any{"session": c.id},
	}
	if req.Previous != "" {
		out.Previous = &req.Previous
	}
	if req.Stream {
		(&responseStream{completion: c, out: newStream(w), response: out}).run(r)
		return nil
	}
	c.onCall = func(line string) error {
		out.Output = append(out.Output, callItem(line))
		return nil
	}
	if err := c.result(r.Context()); err != nil {
		return err
	}
	out.Output = append(out.Output, messageItem("msg_"+ids.New(), "completed", outputText(c.state.Answer)))
	c.finishResponse(&out)
	return writeJSON(w, out)
}

// completeResponse starts the completion that a request asks for.
func (s *Server) completeResponse(r *http.Request, req *responsesRequest) (*completion, error) {
	messages, err := req.messages()
	if err != nil {
		return nil, err
	}
	session := r.Header.Get(sessionHeader)
	if req.Previous != "" {
		if session, err = sessionOf(req.Previous); err != nil {
			return nil, err
		}
	}
	parts, err := prompt(session, messages)
	if err != nil {
		return nil, renameField(err, "messages", "input")
	}
	return s.complete(r.Context(), session, req.Model, parts)
}

// finishResponse sets the status and the usage of a session that has ended.
func (c *completion) finishResponse(r *response) {
	r.Status = "completed"
	if c.limited() {
		r.Status, r.Incomplete = "incomplete", map[string]any{"reason": "max_output_tokens"}
	}
	u := c.state.Usage
	r.Usage = &responsesUsage{Input: u.Input, Output: u.Output, Total: u.Input + u.Output}
	r.Usage.InputDetails.Cached, r.Usage.OutputDetails.Reasoning = u.Cached, u.Reasoning
}

// A responseStream streams a response while its session runs. Its output is a
// sequence of items; text that follows a call starts a new message.
type responseStream struct {
	*completion
	out      *stream
	response response
	events   int    // that were sent
	message  string // the id of the message in progress, or ""
	text     strings.Builder
}

// fields are the fields of an event of the stream.
type fields = map[string]any

// send writes an event, with the fields that all events have.
func (x *responseStream) send(typ string, f fields) error {
	f["type"], f["sequence_number"] = typ, x.events
	x.events++
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return x.out.writeString("event: ", typ, "\ndata: ", string(data), "\n\n")
}

// sendItem writes an event about the item that follows those in Output.
func (x *responseStream) sendItem(typ string, item responseItem) error {
	return x.send("response.output_item."+typ, fields{"output_index": len(x.response.Output), "item": item})
}

// sendContent writes an event about the content of the message in progress.
func (x *responseStream) sendContent(typ string, f fields) error {
	f["item_id"], f["output_index"], f["content_index"] = x.message, len(x.response.Output), 0
	return x.send("response."+typ, f)
}

// run runs the completion and streams it. The last event is response.completed,
// response.incomplete if a limit stopped the session, or response.failed.
func (x *responseStream) run(r *http.Request) {
	if x.send("response.created", fields{"response": x.response}) != nil {
		return
	}
	x.onText, x.onCall = x.addText, x.addCall
	err := x.completion.run(r.Context())
	if errors.Is(err, errGone) {
		return
	}
	if err = errors.Join(err, x.endMessage(), x.failure()); err != nil {
		x.response.Status, x.response.Error = "failed", fields{"code": "server_error", "message": err.Error()}
	} else {
		x.finishResponse(&x.response)
	}
	_ = x.send("response."+x.response.Status, fields{"response": x.response}) // the stream ends either way
}

// addText adds text to the message in progress, or starts a message.
func (x *responseStream) addText(text string) error {
	if x.message == "" {
		if strings.TrimSpace(text) == "" {
			return nil
		}
		x.message = "msg_" + ids.New()
		if err := x.sendItem("added", messageItem(x.message, "in_progress")); err != nil {
			return err
		}
		if err := x.sendContent("content_part.added", fields{"part": outputText("")}); err != nil {
			return err
		}
	}
	x.text.WriteString(text)
	return x.sendContent("output_text.delta", fields{"delta": text, "logprobs": []any{}})
}

// endMessage ends the message in progress, if there is one.
func (x *responseStream) endMessage() error {
	if x.message == "" {
		return nil
	}
	text := x.text.String()
	item := messageItem(x.message, "completed", outputText(text))
	err := errors.Join(
		x.sendContent("output_text.done", fields{"text": text, "logprobs": []any{}}),
		x.sendContent("content_part.done", fields{"part": outputText(text)}),
		x.sendItem("done", item))
	x.response.Output = append(x.response.Output, item)
	x.message = ""
	x.text.Reset()
	return err
}

// addCall adds an item for a call that starts. A message in progress ends.
func (x *responseStream) addCall(line string) error {
	if err := x.endMessage(); err != nil {
		return err
	}
	item := callItem(line)
	err := errors.Join(x.sendItem("added", item), x.sendItem("done", item))
	x.response.Output = append(x.response.Output, item)
	return err
}
