// Package trace exports sessions as OpenTelemetry traces: a span for each
// request to an agent, with child spans for each reply of a model, each tool
// call and each child session.
//
// A [Runtime] wraps the runtime that drives sessions. It makes the spans from
// the sessions' journals and so has no effect on them. An [Exporter] sends the
// spans by OTLP over HTTP, in JSON; OTLP's protobuf encoding, compression and
// gRPC are not supported. See https://opentelemetry.io/docs/specs/otlp/ and, for
// the names, https://opentelemetry.io/docs/specs/semconv/gen-ai/.
//
// Spans contain names, times and token counts, but no messages, arguments or
// results.
package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// A Span is an operation that has ended.
type Span struct {
	Trace  TraceID
	ID     SpanID
	Parent SpanID // zero: a root span
	Name   string
	Client bool // a request to another service, of the kind CLIENT
	Start  time.Time
	End    time.Time
	Failed string // the type of the error, one word; "": the operation succeeded
	Attrs  []Attr
}

// A TraceID identifies a trace, and a SpanID a span in it. Both are derived from
// the session and the operation: a span that is exported twice has the same id.
type (
	TraceID [16]byte
	SpanID  [8]byte
)

// An Attr is an attribute of a span or of its resource.
type Attr struct {
	Key   string
	Value any // string, int or []string
}

// traceID returns the id of the trace of the request that starts with an event.
func traceID(session string, seq int64) (id TraceID) {
	sum := sha256.Sum256(fmt.Appendf(nil, "trace %s %d", session, seq))
	copy(id[:], sum[:])
	return id
}

// spanID returns the id of a span. what is unique within the session.
func spanID(session, what string) (id SpanID) {
	sum := sha256.Sum256([]byte("span " + session + " " + what))
	copy(id[:], sum[:])
	return id
}

// The JSON encoding of OTLP, in which 64-bit integers are strings and ids are
// hexadecimal.
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

// Values of the enumerations SpanKind and StatusCode.
const (
	kindInternal = 1
	kindClient   = 3
	statusError  = 2
)

// scopeName is the name of the instrumentation scope.
const scopeName = "github.com/openmanus-go/openmanus/trace"

// encode returns the body of an export request.
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

// attrs converts attributes, without empty strings.
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
