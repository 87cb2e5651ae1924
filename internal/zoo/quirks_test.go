package zoo_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/zoo"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/provider"
	"github.com/openmanus-go/openmanus/llm/providers"
)

// A quirk is a section of testdata/quirks.txt, which explains it.
type quirk struct {
	server, what, from, like, refuses, comes string

	status int    // of the first response
	body   string // of it
}

// quirks reads them.
func quirks(t *testing.T) (all []quirk) {
	t.Helper()
	data, err := os.ReadFile("testdata/quirks.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut("\n"+string(data), "\n-- ")
	for _, section := range strings.Split(text, "\n-- ") {
		head, rest, _ := strings.Cut(section, "\n")
		q := quirk{status: 200}
		q.server, q.what, _ = strings.Cut(strings.TrimSuffix(head, " --"), ": ")
		q.like = q.server
		for fields := map[string]*string{"from": &q.from, "like": &q.like, "refuses": &q.refuses, "comes": &q.comes}; ; {
			line, more, _ := strings.Cut(rest, "\n")
			name, value, _ := strings.Cut(line, " ")
			if fields[name] == nil {
				break
			}
			*fields[name], rest = value, more
		}
		if code, says, _ := strings.Cut(strings.TrimPrefix(rest, "HTTP "), " "); q.refuses != "" || strings.HasPrefix(rest, "HTTP ") {
			q.status, _ = strconv.Atoi(code)
			q.body = strings.TrimSpace(says)
		} else {
			q.body = spelt(rest)
		}
		all = append(all, q)
	}
	return all
}

// spelt returns a response with its short lines spelt out.
func spelt(short string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimSuffix(short, "\n"), "\n") {
		letter, value, _ := strings.Cut(line, " ")
		switch letter {
		case "D":
			fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":null}]}\n\n", value)
		case "F":
			fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\n", value)
		case "E":
			b.WriteString("data: [DONE]\n\n")
		case "B":
			fmt.Fprintf(&b, "data: %s\n\n", value)
		case "G":
			fmt.Fprintf(&b, "data: {\"candidates\":[{\"index\":0,\"content\":{\"role\":\"model\",\"parts\":[%s]}}]}\n\n", value)
		case "H":
			fmt.Fprintf(&b, "data: {\"candidates\":[{\"index\":0,\"finishReason\":%q}]}\n\n", value)
		default:
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// No quirk ends a session: the calls are made and the text is said, the person can go on, and
// the server takes every request that follows.
func TestNoQuirkEndsASession(t *testing.T) {
	all, servers := quirks(t), map[string]bool{}
	for _, q := range all {
		servers[q.server] = true
		t.Run(q.server+": "+q.what, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(q.from, "/") || q.comes == "" {
				t.Fatalf("from %q comes %q", q.from, q.comes)
			}
			o := named(t, q.like).Open(t.Cleanup, func(int, string) zoo.Turn { return zoo.Turn{Text: "Done."} })
			o.Gave("Hm.", "c2lnMQ==")
			first := true
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if q.refuses == "" && first {
					first = false
					w.Header().Set("Content-Type", "text/event-stream")
					w.WriteHeader(q.status)
					io.WriteString(w, q.body)
					return
				}
				o.ServeHTTP(w, r)
			}))
			t.Cleanup(h.Close)
			o.Status, o.Refuse = q.status, func(body string) string {
				if q.refuses != "" && strings.Contains(body, q.refuses) {
					return q.body
				}
				return ""
			}
			strange(t, q, o, h.URL)
		})
	}
	if len(all) < 60 || len(servers) < 20 {
		t.Errorf("there are %d quirks of %d servers", len(all), len(servers))
	}
}

// strange runs a session at a server at base that has a quirk.
func strange(t *testing.T, q quirk, o *zoo.Opened, base string) {
	m, err := providers.All().Named(o.Provider).New(provider.Options{Model: o.Model, BaseURL: base + o.Path(), Key: "k", API: o.API})
	if err != nil {
		t.Fatal(err)
	}
	patient := llm.Retry(m, llm.RetryOptions{Attempts: 2, Backoff: time.Millisecond})
	sound := llm.Sound(llm.SpareImages(llm.SpareFields(patient, new(llm.Refusals), nil), nil, nil, "", new(llm.Seen), nil), 900, nil)
	j, l := beginWith(t, o, sound, func(a *openmanus.Agent) {
		warm := 0.2
		a.Settings.MaxTokens = 900
		switch q.refuses {
		case `"temperature"`:
			a.Settings.Temperature = &warm
		case `"effort"`, `"reasoning_effort"`:
			a.Settings.Effort = "low"
		}
	})
	if err := l.Wake(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	var calls, texts []string
	for i := range 2 {
		st, err := openmanus.Load(t.Context(), j, "s")
		if err != nil {
			t.Fatal(err)
		}
		if st.Status() != openmanus.Finished {
			t.Fatalf("it is %s: %s", st.Status(), st.Outcome.Error)
		}
		calls, texts = nil, nil
		for _, m := range st.Said {
			for _, c := range m.Calls() {
				calls = append(calls, c.Input)
			}
			if m.Role == llm.Assistant {
				texts = append(texts, strings.TrimSpace(m.Text()))
			}
		}
		if _, err := j.Append(t.Context(), "s", says(i)); err != nil {
			t.Fatal(err)
		}
		if err := l.Wake(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
	}
	if strings.HasPrefix(q.comes, "{") && strings.Join(calls, " ") != q.comes || !strings.HasPrefix(q.comes, "{") && (len(texts) == 0 || texts[0] != q.comes && !slices.Contains(calls, `{"a": "x`)) {
		t.Errorf("there come the calls %q and the texts %q, want %s", calls, texts, q.comes)
	}
	for _, says := range o.Refusals() {
		if says != q.body && !known(o.Server, says) {
			t.Errorf("it is refused: %s", says)
		}
	}
	if n := len(o.Refusals()); n > 3 { // for the picture, and twice for the rest
		t.Errorf("it is refused %d times: %q", n, o.Refusals())
	}
}
