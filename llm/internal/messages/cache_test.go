package messages_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/messages"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

const mark = `,"cache_control":{"type":"ephemeral"}`

// A session of 40 steps, some with more calls than Anthropic looks back for:
// what each request has up to its last mark is, without the marks, how the
// next one begins, and the next one has a mark at that very place. So it reads
// there what the one before it wrote.
func TestEachRequestReadsWhatTheOneBeforeWrote(t *testing.T) {
	e := &messages.Encoder{Model: "claude-opus-4-5", Output: 1000}
	memo := new(llm.Memo)
	all := []llm.Message{llm.Say(llm.User, "Begin.")}
	var written []byte // up to the last mark of the request before, without marks
	for step := range 40 {
		nudge := llm.Say(llm.User, fmt.Sprintf("%d steps are left", 40-step))
		req := &llm.Request{System: "You are Manus.", Tools: []llm.ToolSpec{{Name: "bash"}}, Messages: append(slices.Clone(all), nudge), Fixed: len(all), Memo: memo}
		segments, err := wire.Encode(req, e)
		if err != nil {
			t.Fatal(err)
		}
		body := segments.Bytes()
		places := bytes.Split(body, []byte(mark))
		if n := len(places) - 1; n < 2 || n > 3 {
			t.Fatalf("step %d: %d marks, want 2 or 3 (and never more than the 4 there may be): %s", step, n, body)
		}
		read := written == nil
		for i := range places[:len(places)-1] {
			read = read || bytes.Equal(bytes.Join(places[:i+1], nil), written)
		}
		if !read {
			t.Fatalf("step %d: no mark is where the request before had its last:\n%s", step, body)
		}
		written = bytes.Join(places[:len(places)-1], nil)
		if strings.Contains(string(places[len(places)-1]), "Begin.") || bytes.Contains(written, []byte("steps are left")) {
			t.Fatalf("step %d: the last mark is not at the end of what stays:\n%s", step, body)
		}
		said, results := llm.Message{Role: llm.Assistant}, llm.Message{Role: llm.Tool}
		for call := range 1 + step%3*15 {
			id := fmt.Sprintf("c%d-%d", step, call)
			said.Parts = append(said.Parts, llm.Call{ID: id, Name: "bash", Input: `{"command":"ls"}`})
			results.Parts = append(results.Parts, llm.Result{ID: id, Parts: llm.Parts{llm.Text{Text: "a.txt"}}})
		}
		all = append(all, said, results)
	}
}
