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
	"strings"
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

// parse reads a traceparent of version 0: see https://www.w3.org/TR/trace-context/.
func parse(text string) (trace TraceID, span SpanID, ok bool) {
	parts := strings.Split(text, "-")
	if len(parts) != 4 || parts[0] != "00" || len(parts[1]) != 2*len(trace) || len(parts[2]) != 2*len(span) {
		return trace, span, false
	}
	_, err1 := hex.Decode(trace[:], []byte(parts[1]))
	_, err2 := hex.Decode(span[:], []byte(parts[2]))
	if err1 != nil || err2 != nil || trace == (TraceID{}) || span == (SpanID{}) {
		return TraceID{}, SpanID{}, false
	}
	return trace, span, true
}

// Values of the enumerations SpanKind and StatusCode.
const (
	kindInternal = 1
	kindClient   = 3
	statusError  = 2
)

// scopeName is the name of the instrumentation scope.
const scopeName = "github.com/openmanus-go/openmanus/journal/trace"

// An object is a JSON object. OTLP's JSON encoding has 64-bit integers as strings
// and ids in hexadecimal.
type object = map[string]any

// encode returns the body of an export request.
func encode(spans []Span, resource []Attr, version string) ([]byte, error) {
	all := make([]object, len(spans))
	for i, s := range spans {
		all[i] = s.json()
	}
	scope := object{"scope": object{"name": scopeName, "version": version}, "spans": all}
	return json.Marshal(object{"resourceSpans": []object{{
		"resource": object{"attributes": attrs(resource)}, "scopeSpans": []object{scope},
	}}})
}

// json returns the span in OTLP's encoding. An error becomes the span's status and
// the attribute error.type.
func (s Span) json() object {
	o := object{
		"traceId": hex.EncodeToString(s.Trace[:]), "spanId": hex.EncodeToString(s.ID[:]),
		"name": s.Name, "kind": kindInternal, "status": object{},
		"startTimeUnixNano": strconv.FormatInt(s.Start.UnixNano(), 10),
		"endTimeUnixNano":   strconv.FormatInt(s.End.UnixNano(), 10),
	}
	if s.Parent != (SpanID{}) {
		o["parentSpanId"] = hex.EncodeToString(s.Parent[:])
	}
	if s.Client {
		o["kind"] = kindClient
	}
	all := s.Attrs
	if s.Failed != "" {
		o["status"] = object{"code": statusError, "message": s.Failed}
		all = append(all[:len(all):len(all)], Attr{"error.type", s.Failed})
	}
	o["attributes"] = attrs(all)
	return o
}

// attrs converts attributes, without empty strings.
func attrs(all []Attr) []object {
	out := []object{}
	for _, a := range all {
		if a.Value != "" {
			out = append(out, object{"key": a.Key, "value": value(a.Value)})
		}
	}
	return out
}

// value converts the value of an attribute.
func value(v any) object {
	switch v := v.(type) {
	case int:
		return object{"intValue": strconv.Itoa(v)}
	case []string:
		var list []object
		for _, s := range v {
			list = append(list, value(s))
		}
		return object{"arrayValue": object{"values": list}}
	}
	return object{"stringValue": v}
}
