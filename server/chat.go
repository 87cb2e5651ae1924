package server

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/llm"
)

// A chatRequest holds the fields of a chat completion request that have a
// meaning for agents.
type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// A chatMessage is a message of a conversation that the client sends.
type chatMessage struct {
	Role    string      `json:"role"`
	Content chatContent `json:"content"`
}

// chatContent is the content of a message, which in JSON is a string or a list
// of parts.
type chatContent llm.Parts

// UnmarshalJSON implements [json.Unmarshaler].
func (c *chatContent) UnmarshalJSON(data []byte) error {
	var text *string // null in messages that consist of tool calls
	if json.Unmarshal(data, &text) == nil {
		if text != nil {
			*c = textContent(*text)
		}
		return nil
	}
	var parts []struct {
		Type     string
		Text     string
		ImageURL json.RawMessage `json:"image_url"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return errors.New("content must be a string or a list of parts")
	}
	for _, p := range parts {
		switch p.Type {
		case "text", "input_text", "output_text":
			*c = append(*c, llm.Text{Text: p.Text})
		case "image_url", "input_image":
			blob, err := imageOf(p.ImageURL)
			if err != nil {
				return err
			}
			*c = append(*c, blob)
		default:
			return fmt.Errorf("content of type %q is not supported", p.Type)
		}
	}
	return nil
}

// textContent returns text as content. Empty text is no content.
func textContent(text string) chatContent {
	if text == "" {
		return nil
	}
	return chatContent{llm.Text{Text: text}}
}

// imageOf decodes an image from a data URL, which is a string in the Responses
// API and an object with a url in chat completions. It loads nothing from the
// network.
func imageOf(raw json.RawMessage) (llm.Blob, error) {
	var url string
	if json.Unmarshal(raw, &url) != nil {
		var o struct{ URL string }
		if err := json.Unmarshal(raw, &o); err != nil {
			return llm.Blob{}, errors.New("the image has no url")
		}
		url = o.URL
	}
	kind, data, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
	if !ok || !strings.HasPrefix(kind, "image/") {
		return llm.Blob{}, errors.New("images must be data: URLs")
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return llm.Blob{}, fmt.Errorf("the image is not base64: %w", err)
	}
	return llm.Blob{MIME: kind, Data: raw}, nil
}

// prompt returns a conversation as one message to a session: its last message,
// after a transcript of the others. If the session exists already, it knows
// the others, and they are left out.
func prompt(session string, messages []chatMessage) (llm.Parts, error) {
	last := len(messages) - 1
	if last < 0 || messages[last].Role != "user" || len(messages[last].Content) == 0 {
		return nil, &FieldError{"messages", errors.New("the last message must be a user message with content")}
	}
	parts := llm.Parts(messages[last].Content)
	if session != "" {
		return parts, nil
	}
	var transcript strings.Builder
	for _, m := range messages[:last] {
		if text := llm.Parts(m.Content).Text(); text != "" {
			fmt.Fprintf(&transcript, "<%s>\n%s\n</%s>\n", m.Role, text, m.Role)
		}
	}
	if transcript.Len() > 0 {
		before := llm.Text{Text: "The conversation so far:\n" + transcript.String() + "\nNow:\n"}
		parts = append(llm.Parts{before}, parts...)
	}
	return parts, nil
}

// A chatChunk is a chat completion, or one event of its stream.
type chatChunk struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
}

// A chatChoice is the only choice of a completion: Message in a whole one, Delta
// in an event of a stream.
type chatChoice struct {
	Index   int        `json:"index"`
	Message *chatDelta `json:"message,omitempty"`
	Delta   *chatDelta `json:"delta,omitempty"`
	Finish  *string    `json:"finish_reason"`
}

// A chatDelta is a message or a piece of one. Reasoning is the field by which
// several providers stream reasoning; it carries the agent's calls.
type chatDelta struct {
	Role      string  `json:"role,omitempty"`
	Content   *string `json:"content,omitempty"`
	Reasoning string  `json:"reasoning_content,omitempty"`
}

// chatUsage has the tokens as chat completions count them: the prompt includes the
// cached tokens, and the completion the reasoning.
type chatUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// chatUsage returns the usage of the whole session, which is more than that of
// the request if the session has earlier ones.
func (c *completion) chatUsage() *chatUsage {
	u := c.state.Usage
	v := &chatUsage{Prompt: u.Input, Completion: u.Output, Total: u.Input + u.Output}
	v.Details.Cached = u.Cached
	return v
}

// finishReason returns "length" if a limit stopped the session.
func (c *completion) finishReason() *string {
	reason := "stop"
	if c.limited() {
		reason = "length"
	}
	return &reason
}

// chatCompletions serves POST /v1/chat/completions. The messages before the last
// one are passed to a new session as a transcript.
func (s *Server) chatCompletions(w http.ResponseWriter, r *http.Request) error {
	var req chatRequest
	if err := readOpenAI(r, &req); err != nil {
		return err
	}
	session := r.Header.Get(sessionHeader)
	parts, err := prompt(session, req.Messages)
	if err != nil {
		return err
	}
	c, err := s.complete(r.Context(), session, req.Model, parts)
	if err != nil {
		return err
	}
	w.Header().Set(sessionHeader, c.id)
	out := chatChunk{ID: "chatcmpl-" + ids.New(), Created: time.Now().Unix(), Model: req.Model}
	if req.Stream {
		c.streamChat(r, newStream(w), out, req.StreamOptions.IncludeUsage)
		return nil
	}
	if err := c.result(r.Context()); err != nil {
		return err
	}
	out.Object, out.Usage = "chat.completion", c.chatUsage()
	answer := &chatDelta{Role: "assistant", Content: &c.state.Answer}
	out.Choices = []chatChoice{{Message: answer, Finish: c.finishReason()}}
	return writeJSON(w, out)
}

// streamChat runs the completion and streams it: the agent's text as content,
// and its calls as reasoning.
func (c *completion) streamChat(r *http.Request, out *stream, chunk chatChunk, usage bool) {
	chunk.Object = "chat.completion.chunk"
	send := func(choices ...chatChoice) error {
		chunk.Choices = choices
		return out.sendData(chunk)
	}
	empty := ""
	if send(chatChoice{Delta: &chatDelta{Role: "assistant", Content: &empty}}) != nil {
		return
	}
	c.onText = func(text string) error { return send(chatChoice{Delta: &chatDelta{Content: &text}}) }
	c.onCall = func(line string) error { return send(chatChoice{Delta: &chatDelta{Reasoning: line}}) }
	err := c.run(r.Context())
	if errors.Is(err, errGone) {
		return
	}
	if err = errors.Join(err, c.failure()); err != nil {
		_ = out.sendData(openAIProblem(http.StatusInternalServerError, err.Error())) // the stream ends either way
		return
	}
	if send(chatChoice{Delta: &chatDelta{}, Finish: c.finishReason()}) != nil {
		return
	}
	if usage {
		chunk.Usage = c.chatUsage()
		if send([]chatChoice{}...) != nil {
			return
		}
	}
	_ = out.writeString("data: [DONE]\n\n") // the stream ends either way
}

// sendData writes an event without a name.
func (s *stream) sendData(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.writeString("data: ", string(data), "\n\n")
}
