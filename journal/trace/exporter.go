package trace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options configure an [Exporter]. URL is required.
type Options struct {
	URL      string            // the traces endpoint of a collector
	Headers  map[string]string // of every request
	Timeout  time.Duration     // of a request; 0 is 10 s
	Resource []Attr            // describes the source of the spans
	Version  string            // of the program
	Client   *http.Client      // nil is [http.DefaultClient]

	// Warn, if not nil, is called with each error that loses spans, by the
	// exporter's goroutine.
	Warn func(error)
}

// FromEnv reads options from OpenTelemetry's environment variables: see
// https://opentelemetry.io/docs/specs/otel/protocol/exporter/. on reports
// whether they enable traces.
func FromEnv(env func(string) (string, bool)) (o Options, on bool, err error) {
	get := func(name string) string {
		if v, _ := env("OTEL_EXPORTER_OTLP_TRACES_" + name); v != "" {
			return v
		}
		v, _ := env("OTEL_EXPORTER_OTLP_" + name)
		return v
	}
	off, _ := env("OTEL_SDK_DISABLED")
	kind, _ := env("OTEL_TRACES_EXPORTER")
	o.URL, _ = env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if base, _ := env("OTEL_EXPORTER_OTLP_ENDPOINT"); o.URL == "" && base != "" {
		o.URL = strings.TrimSuffix(base, "/") + "/v1/traces"
	}
	if o.URL == "" || strings.EqualFold(off, "true") || kind == "none" {
		return o, false, nil
	}
	if u, err := url.Parse(o.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return o, false, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %q is not a URL such as http://127.0.0.1:4318", o.URL)
	}
	if p := get("PROTOCOL"); p == "grpc" {
		return o, false, errors.New("OTEL_EXPORTER_OTLP_PROTOCOL: grpc is not supported; " +
			"use http/json and the collector's HTTP port (4318)")
	}
	if ms := get("TIMEOUT"); ms != "" {
		n, err := strconv.Atoi(ms)
		if err != nil || n <= 0 {
			return o, false, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT: %q is not a positive number of milliseconds", ms)
		}
		o.Timeout = time.Duration(n) * time.Millisecond
	}
	headers, err := pairs("OTEL_EXPORTER_OTLP_HEADERS", get("HEADERS"))
	if err != nil {
		return o, false, err
	}
	o.Headers = make(map[string]string)
	for _, h := range headers {
		o.Headers[h.Key] = h.Value.(string)
	}
	more, _ := env("OTEL_RESOURCE_ATTRIBUTES")
	if o.Resource, err = pairs("OTEL_RESOURCE_ATTRIBUTES", more); err != nil {
		return o, false, err
	}
	name, _ := env("OTEL_SERVICE_NAME")
	for i, a := range o.Resource {
		if a.Key == "service.name" {
			o.Resource[i].Value = cmp.Or(name, a.Value.(string))
			return o, true, nil
		}
	}
	o.Resource = append(o.Resource, Attr{"service.name", cmp.Or(name, "openmanus")})
	return o, true, nil
}

// pairs parses key=value,key=value, with percent-encoded values.
func pairs(name, text string) (all []Attr, err error) {
	for item := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(item) == "" {
			continue
		}
		k, v, ok := strings.Cut(item, "=")
		if v, err = url.PathUnescape(strings.TrimSpace(v)); !ok || err != nil {
			return nil, fmt.Errorf("%s: not a list of key=value separated by commas", name) // the values may be secrets
		}
		all = append(all, Attr{strings.TrimSpace(k), v})
	}
	return all, nil
}

const (
	maxWaiting = 4096             // the most spans in the queue; more are lost, with a warning
	maxBatch   = 512              // the most spans of a request
	batchTime  = 5 * time.Second  // the longest time that a span waits for a batch to fill
	maxTries   = 4                // of a request
	maxRetry   = 30 * time.Second // the longest Retry-After that is honoured
)

// An Exporter sends spans to a collector, in batches, from a goroutine of its
// own. It is safe for concurrent use.
type Exporter struct {
	o     Options
	spans chan Span
	ctx   context.Context
	stop  context.CancelFunc
	done  chan struct{}

	mu     sync.Mutex
	closed bool
	lost   int // spans for which the queue was full
}

// NewExporter starts an exporter. The caller must close it.
func NewExporter(o Options) *Exporter {
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.Client = cmp.Or(o.Client, http.DefaultClient)
	if o.Version != "" && !slices.ContainsFunc(o.Resource, func(a Attr) bool { return a.Key == "service.version" }) {
		o.Resource = append(slices.Clone(o.Resource), Attr{"service.version", o.Version})
	}
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	e := &Exporter{o: o, spans: make(chan Span, maxWaiting), done: make(chan struct{})}
	e.ctx, e.stop = context.WithCancel(context.Background())
	go e.run()
	return e
}

// Export queues spans. It never blocks: if the queue is full, it drops them.
func (e *Exporter) Export(spans ...Span) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range spans {
		if e.closed {
			return
		}
		select {
		case e.spans <- s:
		default:
			e.lost++
		}
	}
}

// Close sends the queued spans and stops the exporter. When ctx ends, it drops
// those that are left.
func (e *Exporter) Close(ctx context.Context) {
	e.mu.Lock()
	first := !e.closed
	e.closed = true
	e.mu.Unlock()
	if first {
		close(e.spans)
	}
	select {
	case <-e.done:
	case <-ctx.Done():
	}
	e.stop()
	<-e.done
}

// run sends batches until the exporter is closed and the queue is empty.
func (e *Exporter) run() {
	defer close(e.done)
	var batch []Span
	for open := true; open; {
		batch, open = e.gather(batch[:0])
		if len(batch) > 0 {
			if err := e.send(batch); err != nil {
				e.o.Warn(fmt.Errorf("traces: %d spans lost: %w", len(batch), err))
			}
		}
		e.mu.Lock()
		lost := e.lost
		e.lost = 0
		e.mu.Unlock()
		if lost > 0 {
			e.o.Warn(fmt.Errorf("traces: %d spans lost: the queue was full", lost))
		}
	}
}

// gather appends queued spans to batch, until it is full or batchTime is over.
// open is false if the exporter is closed and the queue is empty.
func (e *Exporter) gather(batch []Span) (_ []Span, open bool) {
	due := time.NewTimer(batchTime)
	defer due.Stop()
	for len(batch) < maxBatch {
		select {
		case s, ok := <-e.spans:
			if !ok {
				return batch, false
			}
			batch = append(batch, s)
		case <-due.C:
			return batch, true
		}
	}
	return batch, true
}

// send sends spans. It retries requests that may succeed later, with exponential
// backoff or after the time that the collector asks for.
func (e *Exporter) send(spans []Span) error {
	body, err := encode(spans, e.o.Resource, e.o.Version)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		again, wait, err := e.post(body)
		if err == nil || !again || try == maxTries {
			return err
		}
		select {
		case <-time.After(cmp.Or(wait, time.Second<<(try-1))):
		case <-e.ctx.Done():
			return err
		}
	}
}

// post sends a request. If it fails, again reports whether a later one may
// succeed, and wait is when, or 0 if the collector does not say.
func (e *Exporter) post(body []byte) (again bool, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(e.ctx, e.o.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.o.URL, bytes.NewReader(body))
	if err != nil {
		return false, 0, err
	}
	for k, v := range e.o.Headers {
		req.Header.Set(k, v)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := e.o.Client.Do(req)
	if err != nil {
		return true, 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if resp.StatusCode/100 == 2 {
		return false, 0, nil
	}
	if secs, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && secs > 0 {
		wait = min(time.Duration(secs)*time.Second, maxRetry)
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	return again, wait, errors.Join(fmt.Errorf("%s answered %s: %s", e.o.URL, resp.Status, bytes.TrimSpace(text)), err)
}
