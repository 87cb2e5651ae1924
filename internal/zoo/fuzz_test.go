package zoo_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/zoo"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/provider"
	"github.com/openmanus-go/openmanus/llm/providers"
)

// spoilt returns a response with events that are left out, doubled, swapped, cut in the
// middle, or changed: other indexes, and null in place of values.
func spoilt(response []byte, r *rand.Rand) []byte {
	sep := []byte("\n\n")
	if !bytes.Contains(response, sep) {
		sep = []byte("\n")
	}
	events := bytes.Split(bytes.TrimSpace(response), sep)
	for range 1 + r.IntN(3) {
		i, k := r.IntN(len(events)), r.IntN(len(events))
		switch r.IntN(7) {
		case 0:
			events = append(events[:i:i], events[i+1:]...)
		case 1:
			events = append(events[:i+1:i+1], events[i:]...)
		case 2:
			events[i], events[k] = events[k], events[i]
		case 3:
			events = append(events[:i:i], events[i][:r.IntN(len(events[i])+1)])
		case 4:
			events[i] = index.ReplaceAll(events[i], fmt.Appendf(nil, `${1}%d`, r.IntN(3)))
		case 5:
			events[i] = value.ReplaceAllFunc(events[i], func(b []byte) []byte {
				if r.IntN(4) > 0 {
					return b
				}
				return append(bytes.Clone(b[:bytes.IndexByte(b, ':')+1]), "null"...)
			})
		case 6:
			events = append(events[:i:i], append([][]byte{[]byte(": alive")}, events[i:]...)...)
		}
		if len(events) == 0 {
			return nil
		}
	}
	return append(bytes.Join(events, sep), sep...)
}

var (
	index   = regexp.MustCompile(`("(?:output_)?index":)\d+`)
	value   = regexp.MustCompile(`"\w+":(?:"[^"\\]*"|\d+|true|false)`)
	letters = regexp.MustCompile(`[a-z]{3,}`)
	texts   = regexp.MustCompile(`"(?:text|content|delta|thinking|summary)":"([^"\\]*)"`)
)

// FuzzStreams: whatever comes of a response, it is a reply of what was said, or an error
// that says something and names the model; no call is lost; and every server takes the conversation that goes on with it.
func FuzzStreams(f *testing.F) {
	servers := zoo.Servers()
	for i := range 600 {
		f.Add(uint64(i), uint8(i))
	}
	var response []byte
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write(response)
	}))
	f.Cleanup(h.Close)
	models := make([]llm.Model, len(servers))
	for i, s := range servers {
		m, err := providers.All().Named(s.Provider).New(provider.Options{Model: s.Model, BaseURL: h.URL, Key: "k", API: s.API})
		if err != nil {
			f.Fatal(err)
		}
		models[i] = m
	}
	f.Fuzz(func(t *testing.T, seed uint64, which uint8) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := servers[int(which)%len(servers)]
		turn := script[int(seed%uint64(len(script)))]
		response = spoilt(s.Stream(turn), r)
		asked := []llm.Message{llm.Say(llm.User, "go")}
		reply, err := llm.Generate(t.Context(), models[int(which)%len(servers)], &llm.Request{Messages: asked})
		if err != nil {
			if e := (*llm.Error)(nil); !errors.As(err, &e) || len(e.Error()) < 20 || !strings.Contains(e.Error(), s.Model) {
				t.Errorf("%s: the error %v\n%s", s.Name, err, response)
			}
			return
		}
		isWhatWasSaid(t, s, response, reply)
		goesOn(t, s, models, servers, append(asked, reply.Message))
	})
}

// isWhatWasSaid holds a reply against the response that it was read from: its words and its
// calls are there, and no call that was announced is lost.
func isWhatWasSaid(t *testing.T, s zoo.Server, response []byte, reply *llm.Reply) {
	var said strings.Builder // all that is in the response, in order
	for _, m := range texts.FindAllSubmatch(response, -1) {
		said.Write(m[1])
	}
	for _, word := range strings.Fields(reply.Message.Text()) {
		if !strings.Contains(said.String(), word) {
			t.Errorf("%s: nobody said %q\n%s", s.Name, word, response)
		}
	}
	for _, c := range reply.Message.Calls() {
		if c.Name != "" && !bytes.Contains(response, []byte(c.Name)) {
			t.Errorf("%s: nobody called %q\n%s", s.Name, c.Name, response)
		}
		for _, word := range letters.FindAllString(c.Input, -1) {
			if !bytes.Contains(response, []byte(word)) {
				t.Errorf("%s: nobody gave %q to a call\n%s", s.Name, word, response)
			}
		}
	}
	if name := announced(response); name != "" && reply.Stop.Whole() && len(reply.Message.Calls()) == 0 {
		t.Errorf("%s: the call of %s is lost\n%s", s.Name, name, response)
	}
}

// announced returns the name of a call that a response has before its end, in whatever
// interface; "" if there is none.
func announced(response []byte) (name string) {
	choice := -1.0 // the number of the first, which is the one that is read
	for line := range bytes.Lines(response) {
		if bytes.HasPrefix(line, []byte("data: [DONE]")) {
			return name
		}
		var e map[string]any
		if json.Unmarshal(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("data: ")), &e) != nil {
			continue
		}
		ended := e["done"] == true || e["type"] == "message_delta" || e["type"] == "response.completed" || e["type"] == "response.incomplete"
		own := func(one any) bool {
			n, is := at(one, "index").(float64)
			if choice < 0 && is {
				choice = n
			}
			ended = ended || at(one, "finish_reason") != nil || at(one, "finishReason") != nil
			return !is || n == choice
		}
		var found []any
		for _, one := range every(e["choices"]) {
			if own(one) {
				for _, c := range every(at(one, "delta", "tool_calls")) {
					found = append(found, at(c, "function", "name"))
				}
			}
		}
		for _, one := range every(e["candidates"]) {
			if own(one) {
				for _, p := range every(at(one, "content", "parts")) {
					found = append(found, at(p, "functionCall", "name"))
				}
			}
		}
		for _, c := range every(at(e, "message", "tool_calls")) {
			found = append(found, at(c, "function", "name"))
		}
		if at(e, "content_block", "type") == "tool_use" && e["type"] == "content_block_start" {
			found = append(found, at(e, "content_block", "name"))
		}
		if at(e, "item", "type") == "function_call" && e["type"] == "response.output_item.done" {
			found = append(found, at(e, "item", "name"))
		}
		for _, f := range found {
			if s, _ := f.(string); name == "" {
				name = s
			}
		}
		if ended {
			return name
		}
	}
	return name
}

// at returns what is in v below names; nil if there is nothing.
func at(v any, names ...string) any {
	for _, n := range names {
		m, _ := v.(map[string]any)
		v = m[n]
	}
	return v
}

// every returns the elements of a list.
func every(v any) []any { l, _ := v.([]any); return l }

// goesOn holds a conversation that goes on after a reply of s against every server. Calls
// have the ids that sessions give them.
func goesOn(t *testing.T, s zoo.Server, models []llm.Model, servers []zoo.Server, said []llm.Message) {
	last := &said[len(said)-1]
	results := llm.Message{Role: llm.Tool}
	for i, p := range last.Parts {
		if c, ok := p.(llm.Call); ok {
			c.ID = fmt.Sprint("c1-", i)
			last.Parts[i] = c
			results.Parts = append(results.Parts, llm.Result{ID: c.ID, Parts: llm.Parts{llm.Text{Text: "seen"}}})
		}
	}
	if len(results.Parts) > 0 {
		said = append(said, results)
	}
	req := &llm.Request{Messages: append(said, llm.Say(llm.User, "go on"), llm.Say(llm.User, "and on"))}
	for i, other := range servers {
		body, err := models[i].(interface {
			Body(*llm.Request) ([]byte, error)
		}).Body(req)
		if err != nil {
			t.Errorf("from %s to %s: %v", s.Name, other.Name, err)
			continue
		}
		if says := other.ObjectToOthers(body); says != "" {
			t.Errorf("from %s to %s: %s\n%s", s.Name, other.Name, says, body)
		}
	}
}
