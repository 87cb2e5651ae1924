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

// chatRequest is what is read of a request for a chat completion.
type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type chatMessage struct {
	Role    string      `json:"role"`
	Content chatContent `json:"content"`
}

// chatContent is a string or a list of parts.
type chatContent llm.Parts

// UnmarshalJSON implements [json.Unmarshaler].
func (c *chatContent) UnmarshalJSON(data []byte) error {
	var text *string
	if json.Unmarshal(data, &text) == nil {
		if text != nil && *text != "" {
			*c = chatContent{llm.Text{Text: *text}}
		}
		return nil
	}
	var parts []struct {
		Type     string
		Text     string
		ImageURL json.RawMessage `json:"image_url"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return errors.New("content is neither text nor a list of parts")
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
			return fmt.Errorf("content of the type %q is not taken here", p.Type)
		}
	}
	return nil
}

// imageOf reads an image that stands in its URL, which is text or an object
// with a url.
func imageOf(raw json.RawMessage) (llm.Blob, error) {
	var url string
	if json.Unmarshal(raw, &url) != nil {
		var o struct{ URL string }
		if err := json.Unmarshal(raw, &o); err != nil {
			return llm.Blob{}, errors.New("an image has no url")
		}
		url = o.URL
	}
	kind, data, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
	if !ok || !strings.HasPrefix(kind, "image/") {
		return llm.Blob{}, errors.New("images are taken as data: URLs alone")
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return llm.Blob{}, fmt.Errorf("an image is not base64: %w", err)
	}
	return llm.Blob{MIME: kind, Data: raw}, nil
}

// asked is the conversation as one message: what came before is told.
func asked(messages []chatMessage) (llm.Parts, error) {
	n := len(messages) - 1
	if n < 0 || messages[n].Role != "user" || len(messages[n].Content) == 0 {
		return nil, &FieldError{"messages", errors.New("the last message must be a user's, and say something")}
	}
	var before strings.Builder
	for _, m := range messages[:n] {
		if text := llm.Parts(m.Content).Text(); text != "" {
			fmt.Fprintf(&before, "<%s>\n%s\n</%s>\n", m.Role, text, m.Role)
		}
	}
	parts := llm.Parts(messages[n].Content)
	if before.Len() > 0 {
		parts = append(llm.Parts{llm.Text{Text: "The conversation so far:\n" + before.String() + "\nNow:\n"}}, parts...)
	}
	return parts, nil
}

// A chatChunk is a chat completion, or a piece of one.
type chatChunk struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
}

type chatChoice struct {
	Index   int        `json:"index"`
	Message *chatDelta `json:"message,omitempty"`
	Delta   *chatDelta `json:"delta,omitempty"`
	Finish  *string    `json:"finish_reason"`
}

type chatDelta struct {
	Role      string  `json:"role,omitempty"`
	Content   *string `json:"content,omitempty"`
	Reasoning string  `json:"reasoning_content,omitempty"`
}

type chatUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

func (t *turn) chatUsage() *chatUsage {
	u := &chatUsage{Prompt: t.state.Usage.Input, Completion: t.state.Usage.Output, Total: t.state.Usage.Input + t.state.Usage.Output}
	u.Details.Cached = t.state.Usage.Cached
	return u
}

func (t *turn) finish() *string {
	reason := "stop"
	if t.cutOff() {
		reason = "length"
	}
	return &reason
}

func (s *Server) chatCompletions(w http.ResponseWriter, r *http.Request) {
	var req chatRequest
	if err := readOpenAI(r, &req); err != nil {
		s.openAIFail(w, r, err)
		return
	}
	id := r.Header.Get(sessionHeader)
	messages := req.Messages
	if id != "" && len(messages) > 0 {
		messages = messages[len(messages)-1:] // the session knows the others
	}
	parts, err := asked(messages)
	if err != nil {
		s.openAIFail(w, r, err)
		return
	}
	t, err := s.begin(r.Context(), id, req.Model, parts)
	if err != nil {
		s.openAIFail(w, r, err)
		return
	}
	w.Header().Set(sessionHeader, t.id)
	c := chatChunk{ID: "chatcmpl-" + ids.New(), Created: unix(time.Now()), Model: req.Model}
	if req.Stream {
		t.streamChat(r, newStream(w), c, req.StreamOptions.IncludeUsage)
		return
	}
	if err := errors.Join(t.run(r.Context()), t.outcome()); err != nil {
		openAIError(w, http.StatusInternalServerError, err.Error())
		return
	}
	c.Object, c.Usage = "chat.completion", t.chatUsage()
	c.Choices = []chatChoice{{Message: &chatDelta{Role: "assistant", Content: &t.state.Answer}, Finish: t.finish()}}
	writeJSON(w, c)
}

// streamChat sends pieces as they come.
func (t *turn) streamChat(r *http.Request, out *stream, c chatChunk, usage bool) {
	c.Object = "chat.completion.chunk"
	send := func(choices ...chatChoice) error {
		c.Choices = choices
		return out.data(c)
	}
	empty := ""
	if send(chatChoice{Delta: &chatDelta{Role: "assistant", Content: &empty}}) != nil {
		return
	}
	t.said = func(text string) error { return send(chatChoice{Delta: &chatDelta{Content: &text}}) }
	t.doing = func(text string) error { return send(chatChoice{Delta: &chatDelta{Reasoning: text}}) }
	err := t.run(r.Context())
	if errors.Is(err, errGone) {
		return
	}
	if err = errors.Join(err, t.outcome()); err != nil {
		_ = out.data(openAIProblem(http.StatusInternalServerError, err.Error())) // the stream ends either way
		return
	}
	if send(chatChoice{Delta: &chatDelta{}, Finish: t.finish()}) != nil {
		return
	}
	if usage {
		c.Usage = t.chatUsage()
		if send([]chatChoice{}...) != nil {
			return
		}
	}
	_ = out.writeString("data: [DONE]\n\n") // the last thing there is
}

// data writes an event that has no name.
func (s *stream) data(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.writeString("data: ", string(data), "\n\n")
}
