// Package trace tells of sessions in the way of OpenTelemetry: a span for each
// request to an agent, and below it one for each reply of a model, each call of
// a tool, and each session that it asked for. It sends them by OTLP over HTTP,
// in JSON: see https://opentelemetry.io/docs/specs/otlp/ and, for the names,
// https://opentelemetry.io/docs/specs/semconv/gen-ai/.
//
// What was said, and what tools were called with, is not told.
package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// A Span is a piece of work that is over.
type Span struct {
	Trace  TraceID
	ID     SpanID
	Parent SpanID // zero: there is none
	Name   string
	Client bool // it asked somebody else to do it
	Start  time.Time
	End    time.Time
	Failed string // one word for why; "": it did not
	Attrs  []Attr
}

// A TraceID names a trace, and a SpanID a span in it. They are made from what
// they name: a span that is told twice is the same.
type (
	TraceID [16]byte
	SpanID  [8]byte
)

// An Attr is an attribute of a span or of its source: a string, a whole number,
// or several strings.
type Attr struct {
	Key   string
	Value any // string, int or []string
}

func traceID(session string, seq int64) (id TraceID) {
	sum := sha256.Sum256(fmt.Appendf(nil, "trace %s %d", session, seq))
	copy(id[:], sum[:])
	return id
}

func spanID(session, what string) (id SpanID) {
	sum := sha256.Sum256([]byte("span " + session + " " + what))
	copy(id[:], sum[:])
	return id
}

// The forms of OTLP in JSON: numbers of 64 bits are strings, ids hexadecimal.
type (
	jsonValue struct {
		String *string    `json:"stringValue,omitempty"`
		Int    *string    `json:"intValue,omitempty"`
		Array  *jsonArray `json:"arrayValue,omitempty"`
	}
	jsonArray struct {
		Values []jsonValue `json:"values"`
	}
	jsonAttr struct {
		Key   string    `json:"key"`
		Value jsonValue `json:"value"`
	}
	jsonStatus struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	jsonSpan struct {
		Trace  string     `json:"traceId"`
		ID     string     `json:"spanId"`
		Parent string     `json:"parentSpanId,omitempty"`
		Name   string     `json:"name"`
		Kind   int        `json:"kind"`
		Start  string     `json:"startTimeUnixNano"`
		End    string     `json:"endTimeUnixNano"`
		Attrs  []jsonAttr `json:"attributes,omitempty"`
		Status jsonStatus `json:"status"`
	}
	jsonScope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	jsonScopeSpans struct {
		Scope jsonScope  `json:"scope"`
		Spans []jsonSpan `json:"spans"`
	}
	jsonResource struct {
		Attrs []jsonAttr `json:"attributes"`
	}
	jsonResourceSpans struct {
		Resource jsonResource     `json:"resource"`
		Scopes   []jsonScopeSpans `json:"scopeSpans"`
	}
	jsonRequest struct {
		Resources []jsonResourceSpans `json:"resourceSpans"`
	}
)

// The kinds of spans, and the status of one that failed.
const (
	kindInternal = 1
	kindClient   = 3
	statusError  = 2
)

const scopeName = "github.com/openmanus-go/openmanus/trace"

// encode is a request that tells of spans.
func encode(spans []Span, resource []Attr, version string) ([]byte, error) {
	all := make([]jsonSpan, len(spans))
	for i, s := range spans {
		all[i] = s.json()
	}
	return json.Marshal(jsonRequest{[]jsonResourceSpans{{
		Resource: jsonResource{attrs(resource)},
		Scopes:   []jsonScopeSpans{{Scope: jsonScope{scopeName, version}, Spans: all}},
	}}})
}

func (s Span) json() jsonSpan {
	j := jsonSpan{
		Trace: hex.EncodeToString(s.Trace[:]), ID: hex.EncodeToString(s.ID[:]), Name: s.Name, Kind: kindInternal,
		Start: strconv.FormatInt(s.Start.UnixNano(), 10), End: strconv.FormatInt(s.End.UnixNano(), 10),
	}
	if s.Parent != (SpanID{}) {
		j.Parent = hex.EncodeToString(s.Parent[:])
	}
	if s.Client {
		j.Kind = kindClient
	}
	all := s.Attrs
	if s.Failed != "" {
		j.Status = jsonStatus{statusError, s.Failed}
		all = append(all[:len(all):len(all)], Attr{"error.type", s.Failed})
	}
	j.Attrs = attrs(all)
	return j
}

func attrs(all []Attr) []jsonAttr {
	var out []jsonAttr
	for _, a := range all {
		switch v := a.Value.(type) {
		case string:
			if v != "" {
				out = append(out, jsonAttr{a.Key, jsonValue{String: &v}})
			}
		case int:
			text := strconv.Itoa(v)
			out = append(out, jsonAttr{a.Key, jsonValue{Int: &text}})
		case []string:
			list := new(jsonArray)
			for _, s := range v {
				list.Values = append(list.Values, jsonValue{String: &s})
			}
			out = append(out, jsonAttr{a.Key, jsonValue{Array: list}})
		}
	}
	return out
}
