package zoo_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/internal/zoo"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/provider"
	"github.com/openmanus-go/openmanus/llm/providers"
	"github.com/openmanus-go/openmanus/run"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// Every rule names where it was reported, and refuses a request that breaks it, before any
// other rule of its server does.
func TestEveryRuleBites(t *testing.T) {
	n := 0
	for _, s := range append(zoo.Servers(), zoo.Unlike()) {
		for _, r := range s.Rules {
			n++
			says, broken := s.Object(s.BadRequest(r), nil)
			if broken == nil || broken.From != r.From || broken.Says != r.Says {
				t.Errorf("%s: the rule of %s (%.60s) does not refuse its request, which hears %q", s.Name, r.From, r.Says, says)
			}
			if !strings.HasPrefix(r.From, "github.com/") || says == "" || r.Status < 400 {
				t.Errorf("%s: %q says %q with %d", s.Name, r.From, says, r.Status)
			}
		}
	}
	if n < 95 {
		t.Errorf("there are %d rules", n)
	}
}

// plain returns the adapter for a server.
func plain(t *testing.T, o *zoo.Opened) llm.Model {
	m, err := providers.All().Named(o.Provider).New(provider.Options{Model: o.Model, BaseURL: o.URL, Key: "k", API: o.API})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// model returns the adapter for a server, as the program uses it.
func model(t *testing.T, o *zoo.Opened) llm.Model {
	patient := llm.Retry(plain(t, o), llm.RetryOptions{Attempts: 2, Backoff: time.Millisecond})
	return llm.SpareImages(llm.SpareFields(patient, new(llm.Refusals), nil), nil, nil, "", new(llm.Seen), nil)
}

// tools are those of the sessions: one shows text, one a small picture, one a picture that
// is too wide, one a damaged one, and one fails.
func tools(t *testing.T) []openmanus.Tool {
	spec := func(name string) openmanus.ToolSpec {
		return openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: name, Description: "Does it."}, Hints: openmanus.Hints{ReadOnly: true}}
	}
	shows := func(name, data string) openmanus.Tool {
		return openmanus.Func(spec(name), func(context.Context, openmanus.Call, map[string]any) (openmanus.Result, error) {
			raw, err := base64.StdEncoding.DecodeString(data)
			return openmanus.Result{Parts: llm.Parts{llm.Text{Text: "here"}, llm.Blob{MIME: "image/png", Name: "x.png", Data: raw}}}, err
		})
	}
	look := openmanus.Func(spec("look"), func(_ context.Context, c openmanus.Call, _ map[string]any) (openmanus.Result, error) {
		return openmanus.TextResult("%s", c.ID+strings.Repeat(" and so on", 80)), nil
	})
	fails := openmanus.Func(spec("fail"), func(context.Context, openmanus.Call, map[string]any) (openmanus.Result, error) {
		return openmanus.Result{}, fmt.Errorf("")
	})
	whole := zoo.WidePicture(40)
	return []openmanus.Tool{look, shows("draw", whole), shows("wide", zoo.WidePicture(9000)), shows("damaged", whole[:len(whole)/8*4]), fails}
}

// script is what a model says, over and over: it thinks, calls a tool, two tools, a tool
// with half a name, with half arguments or with a list; it is cut in the middle of a call;
// and says nothing, or a space.
var script = []zoo.Turn{
	{Thought: "I see.", Text: "I look.", Calls: []zoo.Call{{"look", `{"a":1}`}}},
	{Thought: "A picture.", Calls: []zoo.Call{{"draw", `{}`}}},
	{Calls: []zoo.Call{{"look", `{"a":2}`}, {"draw", ``}}},
	{Thought: "Again.", Calls: []zoo.Call{{"look", `{"a":`}}},
	{Calls: []zoo.Call{{"look at the file, please.", `{}`}}},
	{Thought: "Longer.", Calls: []zoo.Call{{strings.Repeat("git diff ", 30), `{"a":3}`}}},
	{Calls: []zoo.Call{{"", `{"a":3}`}}},
	{Text: "Wide. ", Calls: []zoo.Call{{"wide", `{"a":4}`}}},
	{Thought: "Hm.", Calls: []zoo.Call{{"look", `["a"]`}}, Cut: true},
	{Calls: []zoo.Call{{"damaged", `{}`}, {"look", `{'a': 5}`}, {"fail", `{}`}}},
	{Text: " "},
	{Thought: "Only that."},
	{Text: "I look. ", Calls: []zoo.Call{{"look", `"{\"a\":6}"`}}},
}

// Every server takes every request of a long session: with tools, pictures, thinking,
// replies that are cut or empty, messages while it works and after it was done, results
// that are left out, and summaries. ZOO=all makes the session longer.
func TestEveryServerTakesALongSession(t *testing.T) {
	steps := 40
	if os.Getenv("ZOO") == "all" {
		steps = 200
	}
	for _, s := range zoo.Servers() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			n := 0 // replies that are no summaries
			o := s.Open(t.Cleanup, func(_ int, body string) zoo.Turn {
				if strings.Contains(body, "is about to be replaced by a summary") {
					return zoo.Turn{Text: "I looked."}
				}
				n++
				switch {
				case n%15 == 0:
					return zoo.Turn{Thought: "That is all.", Text: "Done."}
				case n%29 == 0:
					return zoo.Turn{Text: "It is because", Cut: true}
				}
				return script[n%len(script)]
			})
			o.Window = 12_000
			j := drive(t, o, func() bool { return n >= steps })
			cuts := 0
			for ev, err := range j.Events(t.Context(), "s", 0) {
				if err != nil {
					t.Fatal(err)
				}
				switch b := ev.Body.(type) {
				case openmanus.Compacted, openmanus.Elided:
					cuts++
				case openmanus.ModelFailed:
					t.Errorf("%s", b.Error)
				}
			}
			for _, says := range o.Refusals() {
				if !known(s, says) {
					t.Errorf("it is refused: %s", says)
				}
			}
			if cuts < 2 || n < steps {
				t.Errorf("%d replies, %d cuts", n, cuts)
			}
		})
	}
}

// known reports whether a refusal is one that has to be met once: that a request is too
// long, or that the model has no eyes.
func known(s zoo.Server, says string) bool {
	return says == s.TooLong() || strings.Contains(says, "image input") || strings.Contains(says, "invalid type: sequence")
}

// drive works on a session until enough was said, with a person who says something
// whenever it rests, and two things at once.
func drive(t *testing.T, o *zoo.Opened, enough func() bool) openmanus.Journal {
	j, l := begin(t, o)
	for i := 0; ; i += 2 {
		if err := l.Wake(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		st, err := openmanus.Load(t.Context(), j, "s")
		if err != nil {
			t.Fatal(err)
		}
		if st.Status() == openmanus.Failed {
			t.Fatalf("it failed after %d requests: %s", len(o.Bodies()), st.Outcome.Error)
		}
		if enough() || i > 500 {
			return j
		}
		if _, err := j.Append(t.Context(), "s", says(i), says(i+1)); err != nil {
			t.Fatal(err)
		}
	}
}

func says(i int) openmanus.Body {
	return openmanus.UserSaid{ID: fmt.Sprint("m", i), Message: llm.Say(llm.User, fmt.Sprint("go on, ", i))}
}

// begin opens a session at a server.
func begin(t *testing.T, o *zoo.Opened) (openmanus.Journal, *run.Local) {
	return beginWith(t, o, model(t, o), func(*openmanus.Agent) {})
}

// beginWith opens a session with a model, and an agent that is changed before.
func beginWith(t *testing.T, o *zoo.Opened, m llm.Model, change func(*openmanus.Agent)) (openmanus.Journal, *run.Local) {
	a := &openmanus.Agent{Name: "a", Model: m, Tools: tools(t), Gate: openmanus.AllowAll,
		Limits: openmanus.Limits{Steps: -1, Stuck: -1}}
	if o.Effort {
		a.Settings.Effort = "medium"
	}
	change(a)
	j := new(journal.Memory)
	l := &run.Local{Worker: run.Worker{Journal: j, Flow: run.FlowsByName(a), Name: "test"}}
	first := openmanus.UserSaid{ID: "task", Message: llm.Message{Role: llm.User, Parts: llm.Parts{llm.Text{Text: "go"}, llm.Blob{MIME: "image/png", Name: "p.png", Data: picture(t)}}}}
	if err := openmanus.Open(t.Context(), j, "s", a, &first); err != nil {
		t.Fatal(err)
	}
	return j, l
}

func picture(t *testing.T) []byte {
	raw, err := base64.StdEncoding.DecodeString(zoo.WidePicture(3))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// No name is there twice.
func TestServersHaveNames(t *testing.T) {
	var names []string
	for _, s := range zoo.Servers() {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Error(names)
	}
}
