package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/openai"
)

func asError(err error, e **llm.Error) bool { return errors.As(err, e) }

// respond returns a model whose endpoint always gives one response.
func respond(opts openai.Options, status int, header http.Header, body string) llm.Model {
	opts.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})}
	if opts.Model == "" {
		opts.Model = "m"
	}
	if opts.BaseURL == "" {
		opts.BaseURL = "http://model.test/v1"
	}
	return openai.New(opts)
}

func failure(t *testing.T, m llm.Model) *llm.Error {
	t.Helper()
	_, err := llm.Generate(t.Context(), m, &llm.Request{})
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T), want an *llm.Error", err, err)
	}
	return e
}

// The wordings by which providers say that a request is longer than the
// model's window, and some that only look like it. Where they are from is in
// the address, or known from the provider's own documentation.
func TestContextOverflowIsRecognized(t *testing.T) {
	for text, want := range map[string]llm.Kind{
		"This model's maximum context length is 8192 tokens. However, your messages resulted in 10000 tokens.":        llm.Context, // OpenAI
		"Requested token count exceeds the model's maximum context length of 131072 tokens.":                          llm.Context, // https://github.com/earendil-works/pi/issues/4563
		"Input length (265330) exceeds model's maximum context length (262144).":                                      llm.Context, // https://github.com/earendil-works/pi/issues/5677
		"Input length 131393 exceeds the maximum allowed input length of 131040 tokens.":                              llm.Context, // https://github.com/earendil-works/pi/issues/4943
		"Prompt too long: 5152 tokens exceeds max_seq_len 2048 (leave room for output tokens)":                        llm.Context, // https://github.com/0xBakeer/inference-atlas/pull/186
		"Your request exceeded model token limit: 262144 (requested: 566084)":                                         llm.Context, // https://github.com/archestra-ai/archestra/pull/6044
		"prompt is too long: 200251 tokens > 200000 maximum":                                                          llm.Context, // Anthropic
		"The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).":                     llm.Context, // Google
		"Input is too long for requested model.":                                                                      llm.Context, // Bedrock
		"This model's maximum prompt length is 131072 but the request contains 537812 tokens.":                        llm.Context, // xAI
		"Please reduce the length of the messages or completion.":                                                     llm.Context, // Groq
		"the request exceeds the available context size. try increasing the context size or enable context shift":     llm.Context, // llama.cpp
		"Prompt contains 40000 tokens, too large for model with 32768 maximum context length":                         llm.Context, // Mistral
		"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 48000.":                         llm.Context, // OpenAI: waiting does not help
		"max_tokens is too large: 100000. This model supports at most 16384 completion tokens.":                       llm.Protocol,
		"Invalid 'tools[0].function.name': string does not match pattern.":                                            llm.Protocol,
		"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.": llm.Protocol,
		"Too many tokens, please wait before trying again.":                                                           llm.Protocol, // https://github.com/jin-bo/agentao/pull/88
	} {
		e := failure(t, respond(openai.Options{}, 400, nil, fmt.Sprintf(`{"error":{"message":%q}}`, text)))
		if e.Kind != want {
			t.Errorf("%s: kind %s, want %s", text, e.Kind, want)
		}
	}
}

func TestErrorBodies(t *testing.T) {
	for _, c := range []struct {
		status    int
		body      string
		kind      llm.Kind
		temporary bool
		say       string
	}{
		{400, `{"error":{"message":"x","code":"context_length_exceeded"}}`, llm.Context, false, "too long for the model: x"},
		{400, `[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]`, llm.Protocol, false, "API key not valid"},
		{400, `{"object":"error","message":"x","type":"BadRequestError","code":400}`, llm.Protocol, false, "it answered: x"},
		{400, `{"error":{"message":"x","innererror":{"code":"ResponsibleAIPolicyViolation"},"code":"content_filter"}}`, llm.Filtered, false, "x"},
		{401, `{"error":"unauthorized"}`, llm.Auth, false, "does not accept the API key: unauthorized"},
		{402, `{"error":{"message":"Insufficient Balance"}}`, llm.RateLimit, false, "no credit left: Insufficient Balance"},
		{403, ``, llm.Auth, false, "Forbidden"},
		{404, `404 page not found`, llm.NoModel, false, "no such address (check the model's name and the base URL): 404 page not found"},
		{404, `{"error":"model 'x' not found, try pulling it first"}`, llm.NoModel, false, "try pulling it first"},
		{405, `Method Not Allowed`, llm.Network, false, "check the base URL"},
		{408, ``, llm.Timeout, true, "Request Timeout"},
		{409, ``, llm.Network, true, "Conflict"},
		{413, ``, llm.Context, false, "too long"},
		{422, `{"detail":[{"loc":["body"],"msg":"field required","type":"value_error"}]}`, llm.Protocol, false, "field required"},
		{429, `{"error":{"message":"x","type":"insufficient_quota"}}`, llm.RateLimit, false, "no credit left: x"},
		{429, `{"error":{"message":"x"}}`, llm.RateLimit, true, "too many requests, or too busy: x"},
		{500, `{"error":{"message":"x"}}`, llm.Network, true, "it answered: x"},
		{501, ``, llm.Network, false, "Not Implemented"},
		{502, "<html><style>a{b}</style><script>c()</script>\n<h1>Bad\tgateway</h1></html>", llm.Network, true, "it answered: Bad gateway"},
		{503, `{"error":{"message":"litellm: Requested token count exceeds the model's maximum context length of 131072 tokens."}}`, llm.Context, false, "too long"},
		{504, ``, llm.Timeout, true, "Gateway Timeout"},
		{524, ``, llm.Timeout, true, ""},
		{529, `{"error":{"message":"Overloaded"}}`, llm.RateLimit, true, "Overloaded"},
		{400, strings.Repeat("a\x00\x1b[31m ", 1<<20), llm.Protocol, false, "a [31m a"},
	} {
		e := failure(t, respond(openai.Options{Key: "k"}, c.status, nil, c.body))
		if e.Kind != c.kind || e.Temporary() != c.temporary || e.Status != c.status || !strings.Contains(e.Error(), c.say) {
			t.Errorf("%d %.80s:\n%v (%s, temporary: %v), want %s, %v, %q", c.status, c.body, e, e.Kind, e.Temporary(), c.kind, c.temporary, c.say)
		}
		if len(e.Error()) > 1000 || strings.ContainsAny(e.Error(), "\x00\x1b\n") {
			t.Errorf("%d: the error is not fit for a screen: %q", c.status, e.Error())
		}
	}
}

// zeros is a body without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
func (zeros) Close() error               { return nil }

func TestAnErrorWithoutEndIsRead(t *testing.T) {
	client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 500, Body: zeros{}}, nil
	})}
	if e := failure(t, open(client)); e.Status != 500 {
		t.Errorf("error %v", e)
	}
}

func TestErrorsInTheStream(t *testing.T) {
	for _, c := range []struct {
		data      string
		kind      llm.Kind
		temporary bool
		say       string
	}{
		{`data: {"error":{"message":"Overloaded","code":502}}`, llm.Network, true, "Overloaded"},
		{`data: {"error":{"message":"slow down","code":429}}`, llm.RateLimit, true, "slow down"},
		{`data: {"error":{"message":"x","type":"server_error"}}`, llm.Network, true, "x"},
		{`data: {"error":"model runner has unexpectedly stopped"}`, llm.Protocol, true, "unexpectedly stopped"},
		{`data: {"object":"error","message":"prompt too long","code":400}`, llm.Context, false, "prompt too long"},
		{`data: {"id":"x","choices":[{"delta":{"content":""},"finish_reason":"error"}],"error":{"message":"upstream","code":503}}`, llm.Network, true, "gave up"},
		{`data: {"id":"x","choices":[{"delta":{"content":""}}],"error":{"message":"upstream","code":503}}`, llm.Network, true, "upstream"},
		{"event: error\ndata: {\"type\":\"error\",\"message\":\"bad\"}", llm.Protocol, true, "bad"},
		{`{"error":{"message":"plain","code":"insufficient_quota"}}`, llm.RateLimit, false, "plain"},
		{`data: {"choices":[{"delta":{"content":"x"},"finish_reason":"aborted"}]}`, llm.Protocol, true, "not finished: aborted"},
	} {
		e := failure(t, respond(openai.Options{}, 200, nil, c.data+"\n\n"))
		if e.Kind != c.kind || e.Temporary() != c.temporary || !strings.Contains(e.Error(), c.say) {
			t.Errorf("%s:\n%v (%s, temporary: %v), want %s, %v, %q", c.data, e, e.Kind, e.Temporary(), c.kind, c.temporary, c.say)
		}
	}
	// a field that says that there is no error is none
	for _, none := range []string{"null", "{}", `""`, "false"} {
		m := respond(openai.Options{}, 200, nil, `data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"error":`+none+"}\n\n")
		if _, err := llm.Generate(t.Context(), m, &llm.Request{}); err != nil {
			t.Errorf("error: %s: %v", none, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Now().UTC()
	in := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, c := range []struct {
		header   map[string]string
		min, max time.Duration
	}{
		{nil, 0, 0},
		{map[string]string{"Retry-After": "2"}, 2 * time.Second, 2 * time.Second},
		{map[string]string{"Retry-After": "1.5"}, 1500 * time.Millisecond, 1500 * time.Millisecond},
		{map[string]string{"Retry-After-Ms": "250", "Retry-After": "1"}, 250 * time.Millisecond, 250 * time.Millisecond},
		{map[string]string{"Retry-After-Ms": "-5", "Retry-After": "1"}, time.Second, time.Second},
		{map[string]string{"Retry-After": "-3"}, 0, 0},
		{map[string]string{"Retry-After": "NaN"}, 0, 0},
		{map[string]string{"Retry-After": "soon"}, 0, 0},
		{map[string]string{"Retry-After": "1e300"}, 24 * 365 * time.Hour, 1 << 62},
		{map[string]string{"Retry-After": "1e999"}, 24 * 365 * time.Hour, 1 << 62},
		{map[string]string{"Retry-After": in(time.Minute)}, 50 * time.Second, time.Minute},
		{map[string]string{"Retry-After": in(-time.Minute)}, 0, 0},
		{map[string]string{"Retry-After": in(time.Hour), "Date": in(time.Hour - 5*time.Second)}, 5 * time.Second, 5 * time.Second}, // their clock is an hour ahead
	} {
		h := http.Header{}
		for k, v := range c.header {
			h.Set(k, v)
		}
		e := failure(t, respond(openai.Options{}, 429, h, ""))
		if e.RetryAfter < c.min || e.RetryAfter > c.max {
			t.Errorf("%v: %v, want %v to %v", c.header, e.RetryAfter, c.min, c.max)
		}
	}
}

// An error says where to look, and never shows a key.
func TestErrorsForPeople(t *testing.T) {
	key := "sk-proj-0123456789abcdef"
	hint := func(k llm.Kind) string {
		if k == llm.Auth {
			return "the key is from OPENAI_API_KEY"
		}
		return ""
	}
	refused := fmt.Sprintf(`{"error":{"message":"Incorrect API key provided: %s and sk-oth*********wxyz and secret-in-header."}}`, key)
	for _, c := range []struct {
		name   string
		opts   openai.Options
		status int
		header http.Header
		body   string
		want   string
	}{
		{"a wrong key", openai.Options{Model: "gpt-4o", Key: key, Header: http.Header{"X-Key": {"secret-in-header"}}, Hint: hint}, 401, nil, refused,
			"gpt-4o at model.test: it does not accept the API key: Incorrect API key provided: *** and sk-*** and ***.; the key is from OPENAI_API_KEY (HTTP 401)"},
		{"no key", openai.Options{}, 401, nil, `{"error":{"message":"You didn't provide an API key."}}`,
			"m at model.test: it wants an API key, and none is configured: You didn't provide an API key. (HTTP 401)"},
		{"a redirect", openai.Options{}, 308, http.Header{"Location": {"https://model.test/v1/chat/completions"}}, "",
			"m at model.test: it redirects to https://model.test/v1/chat/completions: put that into the base URL (HTTP 308)"},
		{"a web page", openai.Options{}, 200, nil, "<!DOCTYPE html><title>Welcome</title>",
			"m at model.test: the response is a web page (Welcome), not a reply: is the base URL right?"},
		{"nothing", openai.Options{}, 200, nil, "", "m at model.test: the response is empty"},
		{"not a URL", openai.Options{BaseURL: "api.openai.com/v1"}, 200, nil, "", `the base URL "api.openai.com/v1" is not one: it should look like https://api.openai.com/v1`},
	} {
		e := failure(t, respond(c.opts, c.status, c.header, c.body))
		if !strings.HasSuffix(e.Error(), c.want) || strings.Contains(fmt.Sprintf("%v %+v %s", e, e, e.Err), key) {
			t.Errorf("%s: %v\nwant %s", c.name, e, c.want)
		}
	}
}

func TestAModelIsPrintedWithoutItsKey(t *testing.T) {
	m := openai.New(openai.Options{Model: "gpt-4o", Key: "sk-secret"})
	if s := fmt.Sprintf("%v %+v %s", m, m, m); s != strings.Repeat("gpt-4o at api.openai.com ", 3)[:3*25-1] {
		t.Errorf("printed: %s", s)
	}
}

// Azure wants a version in the query and the key in a header of its own.
func TestQueryAndHeader(t *testing.T) {
	var got *http.Request
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		got = r
		return nil, errors.New("enough")
	})}
	m := openai.New(openai.Options{Model: "m", BaseURL: "https://user:pw@x.test/openai/deployments/d?api-version=2024-10-21",
		Header: http.Header{"Api-Key": {"k1"}}, HTTPClient: client})
	e := failure(t, m)
	if strings.Contains(e.Error(), "pw") || e.Kind != llm.Network {
		t.Errorf("error %v", e)
	}
	if u := got.URL.String(); u != "https://user:pw@x.test/openai/deployments/d/chat/completions?api-version=2024-10-21" || got.Header.Get("Api-Key") != "k1" || strings.HasPrefix(got.Header.Get("Authorization"), "Bearer") {
		t.Errorf("asked %s with %v", u, got.Header)
	}
}

// Nothing of the environment gets into a request: it belongs to another
// provider, or to nobody.
func TestTheEnvironmentIsNotRead(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"} {
		t.Setenv(name, "from-the-environment")
	}
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Custom: from-the-environment")
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if s := fmt.Sprint(r.URL, r.Header); strings.Contains(s, "from-the-environment") {
			t.Errorf("asked %s", s)
		}
		return nil, errors.New("enough")
	})}
	failure(t, openai.New(openai.Options{Model: "m", HTTPClient: client}))
}

// The client's own connections: a server that is not there, one whose
// certificate nobody trusts, one that speaks no TLS, and one that hangs.
func TestRealConnections(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	defer tls.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for url, want := range map[string]string{
		gone.URL:  "nothing listens there",
		tls.URL:   "its certificate is not trusted",
		plain.URL: "no such address",
		strings.Replace(plain.URL, "http:", "https:", 1): "it does not speak TLS",
	} {
		m := openai.New(openai.Options{Model: "m", BaseURL: url})
		if e := failure(t, m); !strings.Contains(e.Error(), want) {
			t.Errorf("%v, want %s", e, want)
		}
		m.Close()
	}
}

func TestContextErrorsAreTheContexts(t *testing.T) {
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := llm.Generate(ctx, open(client), &llm.Request{}); err != context.Canceled {
		t.Errorf("error %v", err)
	}
}

// Providers count reasoning inside the completion or beside it, and some
// count nonsense.
func TestUsage(t *testing.T) {
	for usage, want := range map[string]llm.Usage{
		`{"prompt_tokens":10,"completion_tokens":7,"total_tokens":17,"completion_tokens_details":{"reasoning_tokens":5}}`: {Input: 10, Output: 7, Reasoning: 5},
		`{"prompt_tokens":10,"completion_tokens":7,"total_tokens":22,"completion_tokens_details":{"reasoning_tokens":5}}`: {Input: 10, Output: 12, Reasoning: 5}, // xAI
		`{"prompt_tokens":10,"completion_tokens":2,"completion_tokens_details":{"reasoning_tokens":5}}`:                   {Input: 10, Output: 7, Reasoning: 5},
		`{"prompt_tokens":10,"completion_tokens":7,"prompt_cache_hit_tokens":4}`:                                          {Input: 10, Output: 7, Cached: 4}, // DeepSeek
		`{"prompt_tokens":10,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":40,"cache_write_tokens":3}}`:  {Input: 10, Output: 7, Cached: 10, CacheWrite: 3},
		`{"prompt_tokens":"many","completion_tokens":-7,"total_tokens":1e99}`:                                             {},
		`{"prompt_tokens":10.0,"completion_tokens":null}`:                                                                 {Input: 10},
	} {
		m := respond(openai.Options{}, 200, nil, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":`+usage+`}`)
		r, err := llm.Generate(t.Context(), m, &llm.Request{})
		if err != nil || r.Usage != want {
			t.Errorf("%s: %+v, error %v; want %+v", usage, r.Usage, err, want)
		}
	}
}
