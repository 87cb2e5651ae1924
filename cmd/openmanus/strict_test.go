package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// A strict server speaks Chat Completions, or Responses, and refuses what DeepSeek,
// Kimi, vLLM and llama.cpp refuse. It replies with a function of the number of replies
// that it has given, from 0.
type strict struct {
	*httptest.Server
	play   func(n int) turn
	blind  bool   // it has no eyes, and says so as llama.cpp does
	window int    // bytes of a request
	sign   string // it refuses requests that have this, with says
	says   string

	mu       sync.Mutex
	given    []turn         // the replies with calls
	bodies   []string       // of the requests that were accepted
	refusals map[string]int // by the words
}

// A turn is a reply: text, or a call of bash with arguments, and fields beside them.
type turn struct {
	text, arguments, finish string
	fields                  map[string]any
	whole                   bool // it is not streamed
}

func newStrict(t *testing.T, play func(int) turn) *strict {
	s := &strict{play: play, refusals: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// desk returns a desk whose model is at s.
func (s *strict) desk(t *testing.T, api string) *desk {
	return newDesk(t, map[string]string{"OPENMANUS_LLM_BASE_URL": s.URL + "/v1", "OPENMANUS_LLM_API_KEY": "sk-x",
		"OPENMANUS_LLM_API": api, "OPENMANUS_MODEL": "openai/strict", "OPENMANUS_RUN_APPROVE": "all", "OPENMANUS_RUN_STUCK": "100"})
}

func (s *strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	var req struct{ Messages, Input []map[string]any }
	if json.Unmarshal(body, &req) != nil {
		http.Error(w, `{"error":{"message":"the body is no JSON"}}`, 400)
		return
	}
	status, why := s.objection(append(req.Messages, req.Input...))
	if s.window > 0 && len(body) > s.window {
		status, why = 400, "the request exceeds the available context size, try increasing it"
	}
	if s.sign != "" && strings.Contains(string(body), s.sign) {
		status, why = 400, s.says
	}
	if why != "" {
		s.refusals[why]++
		http.Error(w, fmt.Sprintf(`{"error":{"message":%q}}`, why), status)
		return
	}
	if bytes.Contains(body, []byte("is about to be replaced by a summary")) {
		s.reply(w, r, turn{text: "I looked at numbers."})
		return
	}
	next := s.play(len(s.bodies))
	s.bodies = append(s.bodies, string(body))
	if next.arguments != "" {
		s.given = append(s.given, next)
	}
	s.reply(w, r, next)
}

// objection returns what is wrong with a conversation, in the words of servers; "" if
// nothing is.
func (s *strict) objection(messages []map[string]any) (status int, why string) {
	calls := 0
	for i, m := range messages {
		list, _ := m["tool_calls"].([]any)
		for _, c := range list {
			f, _ := c.(map[string]any)["function"].(map[string]any)
			if text, _ := f["arguments"].(string); !isObject(text) {
				return 400, "Function call arguments must be a JSON object"
			}
		}
		if m["type"] == "function_call" {
			if text, _ := m["arguments"].(string); !isObject(text) {
				return 400, "Function call arguments must be a JSON object"
			}
		}
		if len(list) > 0 && s.window == 0 {
			for name, want := range s.given[calls].fields {
				if !reflect.DeepEqual(m[name], want) {
					return 400, fmt.Sprintf("Missing `%s` field in the assistant message at message index %d", name, i)
				}
			}
			calls++
		}
		content, _ := m["content"].([]any)
		for _, p := range content {
			part, _ := p.(map[string]any)
			u, _ := part["image_url"].(map[string]any)
			if u == nil {
				continue
			}
			if s.blind {
				return 500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"
			}
			_, data, _ := strings.Cut(fmt.Sprint(u["url"]), ",")
			raw, _ := base64.StdEncoding.DecodeString(data)
			img, _, err := image.Decode(bytes.NewReader(raw))
			if err != nil || max(img.Bounds().Dx(), img.Bounds().Dy()) > 8000 {
				return 400, "Could not process image"
			}
		}
	}
	return 0, ""
}

func isObject(text string) bool {
	var v map[string]any
	return json.Unmarshal([]byte(text), &v) == nil && v != nil
}

// reply writes a reply in the interface that was asked.
func (s *strict) reply(w http.ResponseWriter, r *http.Request, t turn) {
	if strings.HasSuffix(r.URL.Path, "/responses") {
		item := map[string]any{"type": "message", "content": []any{map[string]any{"type": "output_text", "text": t.text}}}
		if t.arguments != "" {
			item = map[string]any{"type": "function_call", "call_id": "x", "name": "bash", "arguments": t.arguments}
		}
		res := map[string]any{"object": "response", "status": "completed", "output": []any{item}}
		if t.finish == "length" {
			res["status"], res["incomplete_details"] = "incomplete", map[string]any{"reason": "max_output_tokens"}
		}
		json.NewEncoder(w).Encode(res)
		return
	}
	message, finish := map[string]any{"role": "assistant", "content": t.text}, "stop"
	if t.arguments != "" {
		finish = "tool_calls"
		message["content"] = nil
		message["tool_calls"] = []any{map[string]any{"index": 0, "id": "x", "type": "function", "function": map[string]any{"name": "bash", "arguments": t.arguments}}}
	}
	if t.finish != "" {
		finish = t.finish
	}
	if t.whole {
		for name, v := range t.fields {
			message[name] = v
		}
		json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}}})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta any, finish any) {
		data, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
	send(t.fields, nil)
	send(message, nil)
	send(map[string]any{}, finish)
	io.WriteString(w, "data: [DONE]\n\n")
}

// last returns the last request that was accepted.
func (s *strict) last() string { return s.bodies[len(s.bodies)-1] }

// The fields that a server gives with a turn go back in every later one, in another
// process, too; another model gets nothing of them.
func TestAStrictServerGetsItsFieldsBack(t *testing.T) {
	for name, fields := range map[string]map[string]any{
		"DeepSeek":   {"reasoning_content": "I see."},
		"vLLM":       {"reasoning": "I see."},
		"OpenRouter": {"reasoning": "I see.", "reasoning_details": []any{map[string]any{"type": "reasoning.text", "text": "I see.", "signature": "c2ln", "index": 0.0}}},
	} {
		for _, whole := range []bool{false, true} {
			t.Run(fmt.Sprint(name, whole), func(t *testing.T) {
				gives := fields
				s := newStrict(t, func(n int) turn {
					if n%3 == 2 {
						return turn{text: "Done.", fields: gives, whole: whole}
					}
					return turn{arguments: `{"command":"echo hi"}`, fields: gives, whole: whole}
				})
				d := s.desk(t, "chat")
				d.must("run", "look")
				d.must("sessions", "resume", "last", "and again")
				if len(s.bodies) != 6 || len(s.refusals) != 0 {
					t.Errorf("%d requests; refused: %v", len(s.bodies), s.refusals)
				}
				gives = nil
				for i := range s.given { // of which the other model knows nothing
					s.given[i].fields = nil
				}
				d.must("sessions", "resume", "last", "and again", "--model", "openai/other")
				if strings.Contains(s.last(), "I see.") || strings.Contains(s.last(), "c2ln") {
					t.Errorf("another model reads %s", s.last())
				}
			})
		}
	}
}

// A person can say how reasoning goes back, and that stream_options do not go along.
func TestAStrictServerIsToldOtherwise(t *testing.T) {
	for thoughts, want := range map[string]string{"auto": `"reasoning_content":"I see."`, "musings": `"musings":"I see."`, "none": ""} {
		s := newStrict(t, func(n int) turn {
			if n == 0 {
				return turn{arguments: `{"command":"echo hi"}`, fields: map[string]any{"reasoning_content": "I see."}}
			}
			return turn{text: "Done."}
		})
		s.window = 1 << 30 // so that it does not look for its fields
		d := s.desk(t, "chat")
		d.env["OPENMANUS_LLM_THOUGHTS"], d.env["OPENMANUS_LLM_STREAM_OPTIONS"] = thoughts, "false"
		d.must("run", "look")
		if got := s.last(); !strings.Contains(got, want) || (want == "") == strings.Contains(got, "I see.") || strings.Contains(got, "stream_options") {
			t.Errorf("%s: %s", thoughts, got)
		}
		d.env["OPENMANUS_LLM_THOUGHTS"] = "content"
		if _, errs, code := d.run("run", "look"); code != exitUsage || !strings.Contains(errs, "thoughts") {
			t.Errorf("exit code %d: %s", code, errs)
		}
	}
}

// Arguments that cannot be read are refused once, and end no session; those that were
// repaired are repaired in the conversation.
func TestAStrictServerReadsNothingButObjects(t *testing.T) {
	for _, api := range []string{"chat", "responses"} {
		for _, c := range []struct{ name, arguments, finish, reads string }{
			{"cut off", `{"command":"echo h`, "length", `INVALID_JSON`},
			{"cut off, and called whole", `{"command":"echo h`, "", `INVALID_JSON`},
			{"two objects", `{}{"command":"echo hi"}`, "", `INVALID_JSON`},
			{"a list", `["echo hi"]`, "", `INVALID_JSON`},
			{"prose", `I echo hi`, "", `INVALID_JSON`},
			{"quotes", `{'command':'echo hi'}`, "", `{\"command\":\"echo hi\"}`},
			{"a fence", "```json\n{\"command\":\"echo hi\"}\n```", "", `{\"command\":\"echo hi\"}`},
			{"encoded twice", `"{\"command\":\"echo hi\"}"`, "", `{\"command\":\"echo hi\"}`},
			{"right", `{"command": "echo hi"}`, "", `{\"command\": \"echo hi\"}`},
		} {
			t.Run(api+", "+c.name, func(t *testing.T) {
				s := newStrict(t, func(n int) turn {
					if n == 0 {
						return turn{arguments: c.arguments, finish: c.finish}
					}
					return turn{text: "Done."}
				})
				d := s.desk(t, api)
				d.must("run", "look")
				d.must("sessions", "resume", "last", "and again")
				if len(s.refusals) != 0 || len(s.bodies) != 3 {
					t.Fatalf("%d requests; refused: %v", len(s.bodies), s.refusals)
				}
				for i, body := range s.bodies[1:] {
					if !strings.Contains(body, c.reads) {
						t.Errorf("request %d does not have %s: %s", i+2, c.reads, body)
					}
				}
				if wrong := "not valid JSON"; c.name == "cut off, and called whole" && !strings.Contains(s.last(), wrong) {
					t.Errorf("the model does not read what was wrong: %s", s.last())
				}
			})
		}
	}
}

// A picture ends no session: one that is damaged or too large is made to fit or becomes
// words, and a model without eyes is asked again with words, once in a process. The
// check calls such a model working.
func TestAStrictServerAndPictures(t *testing.T) {
	var wide bytes.Buffer
	if err := png.Encode(&wide, image.NewGray(image.Rect(0, 0, 9000, 40))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		picture  []byte
		blind    bool
		refusals int // in all: another process remembers
		reads    string
	}{
		{"a damaged one", wide.Bytes()[:60], false, 0, "cannot be shown to you: it is damaged"},
		{"a wide one", wide.Bytes(), false, 0, "image_url"},
		{"no eyes", wide.Bytes(), true, 1, "You cannot see images"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStrict(t, func(n int) turn {
				if n%2 == 0 {
					return turn{arguments: `{"command":"echo hi"}`}
				}
				return turn{text: "Done."}
			})
			s.blind = c.blind
			d := s.desk(t, "chat")
			if err := os.WriteFile(filepath.Join(d.dir, "x.png"), c.picture, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"run", "look", "--attach", "x.png"}, {"sessions", "resume", "last", "and again"}} {
				d.must(args...)
				sum := 0
				for _, n := range s.refusals {
					sum += n
				}
				if sum != c.refusals || !strings.Contains(s.last(), c.reads) {
					t.Errorf("%v: refused %v; the model reads %.3000s", args, s.refusals, s.last())
				}
			}
			if !c.blind {
				return
			}
			if out := d.must("models", "check", "--json"); !strings.Contains(out, `"ok": true`) || !strings.Contains(out, `"vision": "no"`) {
				t.Errorf("the check says %s", out)
			}
		})
	}
}

// A session survives any number of overflows of a window whose size is unknown.
func TestAStrictServerWithASmallWindow(t *testing.T) {
	const most = 60
	s := newStrict(t, func(n int) turn {
		if n < most {
			return turn{arguments: fmt.Sprintf(`{"command":"seq %d %d"}`, n, n+500)}
		}
		return turn{text: "Done."}
	})
	s.window = 80_000
	d := s.desk(t, "chat")
	if out := d.must("run", "--max-steps", "200", "look at numbers"); !strings.Contains(out, "Done.") {
		t.Errorf("it says %q", out)
	}
	if n := s.refusals["the request exceeds the available context size, try increasing it"]; n < 1 {
		t.Errorf("%d refusals", n)
	}
	d.must("sessions", "resume", "last", "and again")
	d.must("sessions", "replay", "--check", "last")
}

// A setting that a server refuses, or tools, are left out from then on: in later requests, and
// by other processes. The person reads the server's words.
func TestAStrictServerRefusesASettingOnce(t *testing.T) {
	for _, c := range []struct{ sign, says, told string }{
		{`"stream_options"`, "Unrecognized request argument supplied: stream_options", "asked again without stream_options"},
		{`"tools"`, "m does not support tools", "asked again with tools described in words"},
	} {
		s := newStrict(t, func(n int) turn {
			if n%2 == 0 && c.sign == `"tools"` {
				return turn{text: "<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"command\": \"echo once\"}}\n</tool_call>"}
			} else if n%2 == 0 {
				return turn{arguments: `{"command":"echo once"}`}
			}
			return turn{text: "Done."}
		})
		s.sign, s.says = c.sign, c.says
		d := s.desk(t, "chat")
		_, errs, code := d.run("run", "look")
		if code != 0 || !strings.Contains(errs, c.says) || !strings.Contains(errs, c.told) {
			t.Errorf("exit code %d: %s", code, errs)
		}
		d.must("sessions", "resume", "last", "and again")
		if len(s.bodies) != 4 || s.refusals[c.says] != 1 || len(s.refusals) != 1 || !strings.Contains(s.last(), "once") {
			t.Errorf("%d requests; refused: %v", len(s.bodies), s.refusals)
		}
	}
}
