package native

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// A chunk is the part of a line of a response that matters here. A response may
// have only one line.
type chunk struct {
	Message struct {
		Content  string `json:"content"`
		Thinking string `json:"thinking"`
		Calls    []struct {
			ID       string `json:"id"`
			Function struct {
				Name string          `json:"name"`
				Args json.RawMessage `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"message"`
	Done   bool       `json:"done"`
	Reason string     `json:"done_reason"`
	Input  wire.Count `json:"prompt_eval_count"`
	Output wire.Count `json:"eval_count"`
}

// maxLine bounds one line of a response.
const maxLine = 32 << 20

// lines yields the JSON values of a response, one on each line.
func lines(body io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		s := bufio.NewScanner(body)
		s.Buffer(nil, maxLine)
		none := true
		for s.Scan() {
			line := bytes.TrimSpace(bytes.TrimPrefix(s.Bytes(), []byte("\xef\xbb\xbf")))
			if len(line) == 0 { // a sign of life
				if !yield(nil, nil) {
					return
				}
				continue
			}
			none = false
			if line[0] == '<' {
				yield(nil, wire.Elsewhere("the response is a web page, not a reply: is the base URL right?"))
				return
			}
			if !yield(line, nil) {
				return
			}
		}
		switch err := s.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			yield(nil, wire.Wrongf("the stream holds a line of more than 32 MiB"))
		case err != nil:
			yield(nil, err)
		case none:
			yield(nil, &llm.Error{Kind: llm.Protocol, Err: errors.New("the response is empty")})
		}
	}
}

// A reply turns the chunks of a response into deltas.
type reply struct {
	wire.Voice
	model string
	calls bool   // the reply contains a call
	end   *chunk // the last chunk; nil until it has arrived
}

// Read is a [wire.Reader].
func Read(body io.Reader, model string, yield func(llm.Delta, error) bool, finished func()) (llm.Delta, bool, error) {
	return wire.Read(lines(wire.Limit(body)), &reply{Voice: wire.Voice{Yield: yield}, model: model}, finished)
}

// Ended implements [wire.Reply].
func (r *reply) Ended() (ended, over bool) { return r.end != nil, r.end != nil }

// Add implements [wire.Reply]: data is a line.
func (r *reply) Add(data []byte) error {
	var c chunk
	if err := wire.InBand(data); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return wire.NoEvent(data, err)
	}
	if c.Message.Thinking != "" {
		r.Go(llm.Thinking{Text: c.Message.Thinking, By: r.model})
	}
	if c.Message.Content != "" {
		r.Go(llm.Text{Text: c.Message.Content})
	}
	for _, t := range c.Message.Calls {
		r.calls = true
		r.Go(llm.Call{ID: t.ID, Name: t.Function.Name, Input: wire.Arguments(t.Function.Args)})
	}
	if c.Done {
		r.end = &c
	}
	return nil
}

// Last implements [wire.Reply].
func (r *reply) Last() (llm.Delta, error) {
	if r.end == nil {
		return llm.Delta{}, &llm.Error{Kind: llm.Protocol, Err: errors.New("the reply broke off: its stream ended without done")}
	}
	d := llm.Delta{Stop: llm.End, Usage: &llm.Usage{Input: int(r.end.Input), Output: int(r.end.Output)}}
	switch why := r.end.Reason; {
	case why == "length":
		d.Stop = llm.Length
	case why != "" && why != "stop" && why != "tool_calls" && wire.Ended(why, r.Began() && why != "load" && why != "unload") != nil:
		return llm.Delta{}, wire.Ended(why, false)
	case r.calls:
		d.Stop = llm.ToolUse
	}
	return d, nil
}
