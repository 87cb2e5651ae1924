package openai_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/openai"
)

// slow is a transport that sends a sign of life each minute, and then the rest.
type slow struct {
	sign  string
	times int // below 0: for ever
	rest  string
	asked int
}

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked++
	body, w := io.Pipe()
	go func() {
		for i := 0; i != s.times; i++ {
			select {
			case <-time.After(time.Minute):
			case <-r.Context().Done():
			}
			if _, err := io.WriteString(w, s.sign); err != nil || r.Context().Err() != nil {
				w.CloseWithError(r.Context().Err())
				return
			}
		}
		io.WriteString(w, s.rest)
		w.Close()
	}()
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body}, nil
}

// A server that shows signs of life is waited for: what it does is not thrown away.
// One that does nothing else is given up when the reply takes too long.
func TestSignsOfLife(t *testing.T) {
	chat := "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	responses := "data: {\"type\":\"response.completed\",\"response\":{\"object\":\"response\",\"status\":\"completed\"," +
		"\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"Hello.\"}]}]}}\n\n"
	begun := "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null}}]}\n\n"
	for _, c := range []struct {
		name, api, sign string
		times           int
		rest            string
		asked           int
		fails           bool
	}{
		{"comments", openai.Chat, ":\n\n", 20, chat, 1, false},
		{"comments with words", openai.Responses, ": keep-alive\n", 20, responses, 1, false},
		{"pings", openai.Chat, "event: ping\ndata: {}\n\n", 20, chat, 1, false},
		{"events without data", openai.Chat, "event: ping\n\n", 20, chat, 1, false},
		{"empty lines", openai.Chat, "\n", 20, chat, 1, false},
		{"fragments of nothing", openai.Chat, begun, 20, chat, 1, false},
		{"no sign", openai.Chat, "", 20, chat, 2, true},
		{"comments for ever", openai.Chat, ":\n\n", -1, chat, 2, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &slow{sign: c.sign, times: c.times, rest: c.rest}
				m := llm.Retry(openai.New(openai.Options{Model: "m", API: c.api, HTTPClient: &http.Client{Transport: s}}),
					llm.RetryOptions{Attempts: 2, Limit: time.Hour})
				shown := 0
				r, err := llm.Collect(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "go")}}, func(d llm.Delta) {
					if d.Reset || d.Piece != nil {
						shown++
					}
				})
				switch {
				case s.asked != c.asked:
					t.Errorf("it was asked %d times, %v", s.asked, err)
				case c.fails && (llm.KindOf(err) != llm.Timeout || shown != 0):
					t.Errorf("error %v after %d fragments", err, shown)
				case !c.fails && (err != nil || strings.TrimSpace(r.Message.Text()) != "Hello."):
					t.Errorf("%q, %v", r.Message.Text(), err)
				}
			})
		})
	}
}
