package trace_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/journal/trace"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/llm/providers"
	"github.com/openmanus-go/openmanus/run"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// A request is the part of an OTLP request that the tests check.
type request struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes []attribute }
		ScopeSpans []struct{ Spans []span }
	}
}

type attribute struct {
	Key   string
	Value struct {
		StringValue, IntValue string
		ArrayValue            struct {
			Values []struct{ StringValue string }
		}
	}
}

type span struct {
	TraceID, SpanID, ParentSpanID, Name, StartTimeUnixNano, EndTimeUnixNano string

	Kind       int
	Attributes []attribute
	Status     struct {
		Code    int
		Message string
	}
}

func (s span) attr(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			text := a.Value.StringValue + a.Value.IntValue
			for _, v := range a.Value.ArrayValue.Values {
				text += v.StringValue
			}
			return text
		}
	}
	return ""
}

// A receiver is a collector that records spans.
type receiver struct {
	*httptest.Server
	mu               sync.Mutex
	spans            map[string]span // by name; of those with the same one, the last
	count            int
	path             string
	header           http.Header
	service, version string
	body             strings.Builder
}

func listen(t *testing.T) *receiver {
	r := &receiver{spans: make(map[string]span)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		data, err := io.ReadAll(q.Body)
		var in request
		if err = errors.Join(err, json.Unmarshal(data, &in)); err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.path, r.header = q.URL.Path, q.Header
		r.body.Write(data)
		for _, rs := range in.ResourceSpans {
			for _, a := range rs.Resource.Attributes {
				switch a.Key {
				case "service.name":
					r.service = a.Value.StringValue
				case "service.version":
					r.version = a.Value.StringValue
				}
			}
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					r.spans[s.Name] = s
					r.count++
				}
			}
		}
		fmt.Fprint(w, "{}")
	}))
	t.Cleanup(r.Close)
	return r
}

type noInput struct{}

func tool(name string, err error) openmanus.Tool {
	return openmanus.Func(openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: name}}, func(context.Context, openmanus.Call, noInput) (openmanus.Result, error) {
		return openmanus.TextResult("the secret of the tool"), err
	})
}

// team returns an agent that uses a tool, delegates to another one, and answers.
func team() func(context.Context, *openmanus.State) (openmanus.Flow, error) {
	delegate := openmanus.Func(openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "delegate", Input: json.RawMessage(`{"type":"object"}`)}, Hints: openmanus.Hints{Delegates: true}},
		func(context.Context, openmanus.Call, openmanus.Delegation) (openmanus.Result, error) {
			panic("it does not run")
		})
	boss := &openmanus.Agent{Name: "boss", Spec: openmanus.Spec{Model: "google/large"}, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{tool("look", nil), tool("fail", errors.New("no")), delegate},
		Model: llmtest.Script(
			llmtest.Calls(llmtest.Use("", "look", map[string]any{}), llmtest.Use("", "fail", map[string]any{})),
			llmtest.Use("", "delegate", map[string]any{"task": "the secret task", "agent": "helper"}),
			llmtest.Say("the secret answer"),
		)}
	helper := &openmanus.Agent{Name: "helper", Spec: openmanus.Spec{Model: "ollama/small"}, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{tool("help", nil)},
		Model: llmtest.Script(llmtest.Use("", "help", map[string]any{}), llmtest.Say("helped"))}
	return run.FlowsByName(boss, helper)
}

func wake(t *testing.T, r run.Runtime, j openmanus.Journal, flow func(context.Context, *openmanus.State) (openmanus.Flow, error)) {
	t.Helper()
	boss, err := flow(t.Context(), &openmanus.State{Opened: openmanus.Opened{Flow: "boss"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := openmanus.Open(t.Context(), j, "s", boss, &openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "the secret request")}); err != nil {
		t.Fatal(err)
	}
	if err := r.Wake(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
}

// A session and its child are one trace.
func TestSession(t *testing.T) {
	r := listen(t)
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": r.URL, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b", "OTEL_SERVICE_NAME": "tested"}
	o, on, err := trace.FromEnv(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil || !on {
		t.Fatal(on, err)
	}
	o.Client, o.Version = r.Client(), "1.2"
	o.Warn = func(err error) { t.Error(err) }
	e := trace.NewExporter(o)
	flow, j := team(), new(journal.Memory)
	l := &run.Local{Worker: run.Worker{Journal: j, Flow: flow}}
	rt := &trace.Runtime{Runtime: l, Journal: j, Export: e.Export, Providers: providers.All()}
	wake(t, rt, j, flow)
	if err := rt.Wake(t.Context(), "s"); err != nil { // there is nothing to do, nor to tell
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e.Close(ctx)

	want := map[string]string{ // by name: the span above
		"invoke_agent boss": "", "chat google/large": "invoke_agent boss", "execute_tool look": "invoke_agent boss", "execute_tool fail": "invoke_agent boss",
		"execute_tool delegate": "invoke_agent boss", "invoke_agent helper": "execute_tool delegate", "chat ollama/small": "invoke_agent helper", "execute_tool help": "invoke_agent helper",
	}
	if r.count != 11 || len(r.spans) != len(want) || r.path != "/v1/traces" || r.header.Get("X-Key") != "a b" || r.service != "tested" || r.version != "1.2" {
		t.Errorf("%d spans came, %d names, at %s, with %q, of %q %q", r.count, len(r.spans), r.path, r.header.Get("X-Key"), r.service, r.version)
	}
	root := r.spans["invoke_agent boss"]
	for name, above := range want {
		s, ok := r.spans[name]
		if !ok || s.TraceID != root.TraceID || len(s.TraceID) != 32 || len(s.SpanID) != 16 || s.ParentSpanID != r.spans[above].SpanID || s.StartTimeUnixNano > s.EndTimeUnixNano {
			t.Errorf("%s: %+v", name, s)
		}
		if failed := name == "execute_tool fail"; failed != (s.Status.Code == 2) || failed != (s.attr("error.type") != "") {
			t.Errorf("%s has the status %+v", name, s.Status)
		}
	}
	chat := r.spans["chat google/large"]
	if chat.Kind != 3 || chat.attr("gen_ai.operation.name") != "chat" || chat.attr("gen_ai.provider.name") != "gcp.gemini" || chat.attr("gen_ai.request.model") != "google/large" ||
		chat.attr("gen_ai.conversation.id") != "s" || chat.attr("gen_ai.usage.input_tokens") == "" || chat.attr("gen_ai.response.finish_reasons") == "" {
		t.Errorf("the span of a reply is %+v", chat)
	}
	if root.TraceID == theirs || root.ParentSpanID != "" {
		t.Errorf("the first request belongs to %s, below %q", root.TraceID, root.ParentSpanID)
	}
	if strings.Contains(r.body.String(), "secret") {
		t.Errorf("the spans contain messages: %s", r.body.String())
	}
}

// theirs is the trace of a client.
const theirs = "4bf92f3577b34da6a3ce929d0e0e4736"

// A request of a client within its own trace is part of that trace: the request is below
// the client's span, and everything else below the request.
func TestTraceOfAClient(t *testing.T) {
	for header, joins := range map[string]bool{
		"00-" + theirs + "-00f067aa0ba902b7-01": true, "00-" + theirs + "-0000000000000000-01": false,
		"00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01": false, "00-" + theirs + "-x": false, "": false,
	} {
		var mu sync.Mutex
		var spans []trace.Span
		flow, j := team(), new(journal.Memory)
		rt := &trace.Runtime{Runtime: &run.Local{Worker: run.Worker{Journal: j, Flow: flow}}, Journal: j, Providers: providers.All(),
			Export: func(s ...trace.Span) {
				mu.Lock()
				defer mu.Unlock()
				spans = append(spans, s...)
			}}
		boss, err := flow(t.Context(), &openmanus.State{Opened: openmanus.Opened{Flow: "boss"}})
		if err != nil {
			t.Fatal(err)
		}
		said := &openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "go"), Trace: header}
		if err := errors.Join(openmanus.Open(t.Context(), j, "s", boss, said), rt.Wake(t.Context(), "s")); err != nil {
			t.Fatal(err)
		}
		for _, s := range spans {
			if got := fmt.Sprintf("%x", s.Trace) == theirs; got != joins {
				t.Errorf("%q: %s is in trace %x", header, s.Name, s.Trace)
			}
			if got := fmt.Sprintf("%x", s.Parent) == "00f067aa0ba902b7"; got != (joins && s.Name == "invoke_agent boss") {
				t.Errorf("%q: %s is below %x", header, s.Name, s.Parent)
			}
		}
		if len(spans) != 11 {
			t.Errorf("%q: %d spans", header, len(spans))
		}
	}
}

func TestFromEnv(t *testing.T) {
	const at = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, c := range []struct {
		env  map[string]string
		url  string // "": off
		want string // in the error
	}{
		{},
		{env: map[string]string{at: "http://c:4318/"}, url: "http://c:4318/v1/traces"},
		{env: map[string]string{at: "http://c:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://d/x"}, url: "https://d/x"},
		{env: map[string]string{at: "http://c:4318", "OTEL_SDK_DISABLED": "true"}},
		{env: map[string]string{at: "http://c:4318", "OTEL_TRACES_EXPORTER": "none"}},
		{env: map[string]string{at: "c:4318"}, want: "not a URL"},
		{env: map[string]string{at: "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, want: "grpc is not supported"},
		{env: map[string]string{at: "http://c", "OTEL_EXPORTER_OTLP_TIMEOUT": "soon"}, want: "milliseconds"},
		{env: map[string]string{at: "http://c", "OTEL_EXPORTER_OTLP_HEADERS": "secret"}, want: "key=value"},
	} {
		o, on, err := trace.FromEnv(func(name string) (string, bool) { v, ok := c.env[name]; return v, ok })
		if on != (c.url != "") || on && o.URL != c.url || (err != nil) != (c.want != "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%v: %v %q %v", c.env, on, o.URL, err)
		}
	}
}

// A taker is a transport with scripted responses.
type taker func(n int) (status int, header http.Header)

type taking struct {
	answer taker
	n      int
	at     []time.Duration
	began  time.Time
	spans  []int
}

func (k *taking) RoundTrip(q *http.Request) (*http.Response, error) {
	var in request
	data, err := io.ReadAll(q.Body)
	if err = errors.Join(err, json.Unmarshal(data, &in)); err != nil {
		return nil, err
	}
	k.spans = append(k.spans, len(in.ResourceSpans[0].ScopeSpans[0].Spans))
	k.at = append(k.at, time.Since(k.began))
	status, header := k.answer(k.n)
	k.n++
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: header, Body: http.NoBody}, nil
}

// export exports spans in fake time, and returns the times of the requests and
// the warnings.
func export(t *testing.T, n int, answer taker, more func(*trace.Exporter)) (k *taking, warned []string) {
	synctest.Test(t, func(t *testing.T) {
		k = &taking{answer: answer, began: time.Now()}
		e := trace.NewExporter(trace.Options{URL: "http://collector/v1/traces", Client: &http.Client{Transport: k}, Warn: func(err error) { warned = append(warned, err.Error()) }})
		for range n {
			e.Export(trace.Span{Name: "x", Start: time.Now(), End: time.Now()})
		}
		if more != nil {
			more(e)
		}
		e.Close(t.Context())
		e.Export(trace.Span{Name: "late"})
		e.Close(t.Context())
	})
	return k, warned
}

func well(int) (int, http.Header) { return 200, nil }

func TestExporterSendsWhatWaits(t *testing.T) {
	k, warned := export(t, 3, well, func(e *trace.Exporter) {
		time.Sleep(time.Minute)
		e.Export(trace.Span{Name: "y"})
	})
	if !slices.Equal(k.spans, []int{3, 1}) || k.at[0] != 5*time.Second || len(warned) != 0 {
		t.Errorf("%v at %v, and %q", k.spans, k.at, warned)
	}
}

func TestExporterTriesAgain(t *testing.T) {
	k, warned := export(t, 1, func(n int) (int, http.Header) {
		return []int{0, 503, 429, 200}[n], http.Header{"Retry-After": []string{"7"}}
	}, func(*trace.Exporter) { time.Sleep(time.Minute) })
	if want := []time.Duration{5 * time.Second, 6 * time.Second, 13 * time.Second, 20 * time.Second}; !slices.Equal(k.at, want) || len(warned) != 0 {
		t.Errorf("it tried at %v, and said %q", k.at, warned)
	}
}

func TestExporterSaysWhatIsLost(t *testing.T) {
	k, warned := export(t, 5000, func(int) (int, http.Header) { return 400, nil }, nil)
	lost := 0
	for _, w := range warned {
		var n int
		if _, err := fmt.Sscanf(w, "traces: %d spans lost", &n); err != nil {
			t.Errorf("%q: %v", w, err)
		}
		lost += n
	}
	if lost != 5000 || k.n == 0 || slices.Max(k.spans) > 512 {
		t.Errorf("%d are said to be lost, after %d requests: %q", lost, k.n, warned)
	}
}

// A collector that never responds delays Close only until its context ends.
func TestExporterEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := trace.NewExporter(trace.Options{URL: "http://collector", Client: &http.Client{Transport: silent{}}})
		e.Export(trace.Span{Name: "x"})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		e.Close(ctx)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it ended after %v", took)
		}
	})
}

type silent struct{}

func (silent) RoundTrip(q *http.Request) (*http.Response, error) {
	<-q.Context().Done()
	return nil, q.Context().Err()
}
