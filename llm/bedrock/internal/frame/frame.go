// Package frame decodes Amazon's framing of event streams: see
// https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html.
package frame

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream/eventstreamapi"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// An Event is an event of a response.
type Event struct {
	Kind    string
	Payload []byte
}

// Events yields the events of a response. An event that reports a failure is an
// error, after which others may follow.
func Events(body io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		dec, limited := eventstream.NewDecoder(), wire.Limit(body)
		for {
			m, err := dec.Decode(limited, nil)
			switch {
			case err == io.EOF:
				return
			case err != nil:
				yield(Event{}, framing(err))
				return
			}
			e := Event{Kind: header(m, eventstreamapi.EventTypeHeader), Payload: m.Payload}
			if header(m, eventstreamapi.MessageTypeHeader) != eventstreamapi.EventMessageType {
				err = exception(header(m, eventstreamapi.ExceptionTypeHeader)+header(m, eventstreamapi.ErrorCodeHeader), m.Payload)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Chunks yields the events of a model's maker, which are wrapped in the events of a
// response. Servers other than Amazon's may leave out the wrapping.
func Chunks(body io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for e, err := range Events(body) {
			if err == nil && e.Kind != "chunk" {
				continue
			}
			var chunk struct{ Bytes []byte }
			if err == nil {
				if err = json.Unmarshal(e.Payload, &chunk); err != nil {
					err = wire.NoEvent(e.Payload, err)
				}
				if len(chunk.Bytes) == 0 {
					chunk.Bytes = e.Payload
				}
			}
			if !yield(chunk.Bytes, err) {
				return
			}
		}
	}
}

// framing returns the error of bytes that are no event.
func framing(err error) error {
	var length eventstream.LengthError
	var sum eventstream.ChecksumError
	switch {
	case errors.As(err, &length):
		return wire.Elsewhere("the response is not in Amazon's framing (%w): is the base URL right?", err)
	case errors.As(err, &sum):
		return &llm.Error{Kind: llm.Protocol, Err: fmt.Errorf("an event of the stream is damaged: %w", err)}
	}
	return err
}

// header returns a header of an event; "" if it is missing.
func header(m eventstream.Message, name string) string {
	if v := m.Headers.Get(name); v != nil {
		return v.String()
	}
	return ""
}

// exception returns the error of an event that reports a failure.
func exception(code string, payload []byte) error {
	var said struct{ Message string }
	text := wire.OneLine(string(payload), 200)
	if json.Unmarshal(bytes.TrimSpace(payload), &said) == nil && said.Message != "" {
		text = wire.OneLine(said.Message, 300)
	}
	e := &llm.Error{Kind: llm.Network, Err: fmt.Errorf("it reports an error in the stream: %s: %s", code, text)}
	switch {
	case strings.Contains(strings.ToLower(text), "too long"):
		e.Kind = llm.Context
	case strings.HasPrefix(strings.ToLower(code), "throttling"):
		e.Kind = llm.RateLimit
	case strings.HasPrefix(strings.ToLower(code), "validation"):
		e.Kind, e.Permanent = llm.Protocol, true
	}
	return e
}
