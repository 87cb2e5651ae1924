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
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options say where spans go. URL is needed.
type Options struct {
	URL      string            // that takes traces
	Headers  map[string]string // of every request
	Timeout  time.Duration     // of a request; 0 is 10 s
	Resource []Attr            // whose spans they are
	Version  string            // of the program
	Client   *http.Client      // nil is [http.DefaultClient]
	Warn     func(error)       // is told what was not taken; nil: nobody is
}

// FromEnv reads the variables of OpenTelemetry: see
// https://opentelemetry.io/docs/specs/otel/protocol/exporter/. It is false if
// they ask for no traces.
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
		return o, false, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %q is no address such as http://127.0.0.1:4318", o.URL)
	}
	if p := get("PROTOCOL"); p == "grpc" {
		return o, false, errors.New("OTEL_EXPORTER_OTLP_PROTOCOL: grpc is not spoken here; use http/json, on the port that takes HTTP (4318)")
	}
	if ms := get("TIMEOUT"); ms != "" {
		n, err := strconv.Atoi(ms)
		if err != nil || n <= 0 {
			return o, false, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT: %q is no number of milliseconds", ms)
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

// pairs reads key=value,key=value, with values escaped as in URLs.
func pairs(name, text string) (all []Attr, err error) {
	for item := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(item) == "" {
			continue
		}
		k, v, ok := strings.Cut(item, "=")
		if v, err = url.PathUnescape(strings.TrimSpace(v)); !ok || err != nil {
			return nil, fmt.Errorf("%s: it is a list of key=value with commas between", name) // values may be secrets
		}
		all = append(all, Attr{strings.TrimSpace(k), v})
	}
	return all, nil
}

const (
	maxWaiting = 4096            // spans that wait to be sent; more are lost, and told of
	maxBatch   = 512             // spans of a request
	batchTime  = 5 * time.Second // until what waits is sent
	maxTries   = 4               // of a request
	maxRetry   = 30 * time.Second
)

// An Exporter sends spans. It is safe for concurrent use.
type Exporter struct {
	o     Options
	spans chan Span
	ctx   context.Context
	stop  context.CancelFunc
	done  chan struct{}

	mu     sync.Mutex
	closed bool
	lost   int // that found no place
}

// NewExporter returns an exporter. The caller closes it.
func NewExporter(o Options) *Exporter {
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.Client = cmp.Or(o.Client, http.DefaultClient)
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	e := &Exporter{o: o, spans: make(chan Span, maxWaiting), done: make(chan struct{})}
	e.ctx, e.stop = context.WithCancel(context.Background())
	go e.run()
	return e
}

// Export takes spans to be sent. It never waits.
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

// Close sends what waits, for as long as ctx allows.
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

func (e *Exporter) run() {
	defer close(e.done)
	var batch []Span
	for open := true; open; {
		due := time.NewTimer(batchTime)
		for full := false; open && !full; {
			select {
			case s, ok := <-e.spans:
				if open = ok; ok {
					batch = append(batch, s)
				}
				full = len(batch) == maxBatch
			case <-due.C:
				full = true
			}
		}
		due.Stop()
		if len(batch) > 0 {
			if err := e.send(batch); err != nil {
				e.o.Warn(fmt.Errorf("traces: %d spans are lost: %w", len(batch), err))
			}
			batch = batch[:0]
		}
		e.mu.Lock()
		lost := e.lost
		e.lost = 0
		e.mu.Unlock()
		if lost > 0 {
			e.o.Warn(fmt.Errorf("traces: %d spans are lost: they came faster than they were taken", lost))
		}
	}
}

// send sends spans, again if that may help.
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

// post sends a request. again says whether another may succeed, after wait.
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
	said, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
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
	return again, wait, errors.Join(fmt.Errorf("%s answered %s: %s", e.o.URL, resp.Status, bytes.TrimSpace(said)), err)
}
