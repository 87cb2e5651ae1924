package zoo_test

import (
	"bytes"
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
	index = regexp.MustCompile(`("(?:output_)?index":)\d+`)
	value = regexp.MustCompile(`"\w+":(?:"[^"\\]*"|\d+|true|false)`)
	texts = regexp.MustCompile(`"(?:text|content|delta|thinking|summary)":"([^"\\]*)"`)
)

// FuzzStreams: whatever comes of a response, it is a reply of what was said, or an error
// that says something; and every server takes the conversation that goes on with it.
func FuzzStreams(f *testing.F) {
	servers := zoo.Servers()
	for i := range 60 {
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
			if e := (*llm.Error)(nil); !errors.As(err, &e) || len(e.Error()) < 20 {
				t.Errorf("%s: the error %v\n%s", s.Name, err, response)
			}
			return
		}
		var said strings.Builder // all that is in the response, in order
		for _, m := range texts.FindAllSubmatch(response, -1) {
			said.Write(m[1])
		}
		for _, word := range strings.Fields(reply.Message.Text()) {
			if !strings.Contains(said.String(), word) {
				t.Errorf("%s: nobody said %q\n%s", s.Name, word, response)
			}
		}
		goesOn(t, s, models, servers, append(asked, reply.Message))
	})
}

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
