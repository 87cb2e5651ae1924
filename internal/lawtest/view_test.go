package lawtest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// looker is a tool that shows a page and a picture of it with every result, as a
// browser does. It counts its calls.
func looker() openmanus.Tool {
	n := 0
	return tool("look", openmanus.Hints{Ordered: true}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
		n++
		res := openmanus.Result{Parts: llm.Parts{
			llm.Text{Text: fmt.Sprintf("did %d", n)}, llm.Text{Text: fmt.Sprintf("\n\npage %d", n), View: true},
			llm.Blob{MIME: "image/jpeg", Data: fmt.Append(nil, "picture ", n), View: true},
		}}
		if strings.Contains(call.Input, "fail") {
			res.Parts = res.Parts[1:]
			return res, errors.New("there is no such element")
		}
		return res, nil
	})
}

// pictures are the pictures in a request, and where it has them.
func pictures(req *llm.Request) (fixed, fresh []string) {
	for i, m := range req.Messages {
		parts := m.Parts
		for _, p := range m.Parts {
			if r, ok := p.(llm.Result); ok {
				parts = append(parts[:len(parts):len(parts)], r.Parts...)
			}
		}
		for _, p := range parts {
			if b, ok := p.(llm.Blob); ok && i < req.Fixed {
				fixed = append(fixed, string(b.Data))
			} else if ok {
				fresh = append(fresh, string(b.Data))
			}
		}
	}
	return fixed, fresh
}

// TestViews: of the calls of a reply, only the last one that ran shows the page; a
// picture is in one request, after all that later requests begin with; and what went
// wrong stands before the page.
func TestViews(t *testing.T) {
	look := func(input string) llm.Message { return llmtest.Use("", "look", input) }
	m := cast(
		take{Message: llmtest.Calls(look(`{}`), look(`{"n":"fail"}`), look(`{}`))},
		take{Message: look(`{"n":"fail"}`)},
		take{Message: llmtest.Calls(look(`{}`), look(`{"n":"denied"}`))},
		take{Message: llmtest.Use("", "other", `{}`)},
		take{Message: llmtest.Say("done")},
	)
	other := tool("other", openmanus.Hints{}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
		return openmanus.TextResult("other"), nil
	})
	gate := openmanus.GateFunc(func(_ context.Context, c openmanus.Call, _ openmanus.ToolSpec) (openmanus.Verdict, error) {
		return openmanus.Verdict{Allow: !strings.Contains(c.Input, "denied")}, nil
	})
	a := &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{looker(), other}, Gate: gate,
		Window: openmanus.Window{Tokens: 50_000}}
	l, j := begin(t, a, "Look.")
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	asks := m.asked()
	lawfulWithCuts(t, j, asks)
	for i, want := range []struct{ results, fresh string }{
		1: {"did 1|there is no such element|did 3\n\npage 3", "picture 3"},
		2: {"there is no such element\n\npage 4", "picture 4"},
		3: {"did 5\n\npage 5|not allowed", "picture 5"},
		4: {"other", ""},
	} {
		if i == 0 {
			continue
		}
		req := asks[i]
		var results []string
		for _, p := range req.Messages[req.Fixed-1].Parts {
			results = append(results, p.(llm.Result).Parts.Text())
		}
		fixed, fresh := pictures(req)
		if got := strings.Join(results, "|"); got != want.results || len(fixed) > 0 || strings.Join(fresh, "|") != want.fresh {
			t.Errorf("request %d has %q, the pictures %q and %q", i, got, fixed, fresh)
		}
	}
	if s.Size() > 1000 { // a picture counts 1600
		t.Errorf("the session is thought to have %d tokens", s.Size())
	}
}

// A depicting tool shows a picture of what it works on, before and after.
type depicting struct{ openmanus.Tool }

func (depicting) Preview(_ context.Context, call openmanus.Call) (string, error) {
	return "Press " + strings.ReplaceAll(call.Input, "show", "sesame-opens"), nil
}

func (depicting) Depict(_ context.Context, call openmanus.Call) ([]byte, error) {
	if strings.Contains(call.Input, "crash") {
		panic("no picture")
	}
	return []byte("before"), nil
}

// TestPicturesForPeople: a question and a result name the blobs of their pictures,
// which the session can read; what shows a secret has none, and neither has a tool
// whose picture fails.
func TestPicturesForPeople(t *testing.T) {
	press := depicting{tool("press", openmanus.Hints{}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
		return openmanus.Result{Parts: llm.Parts{llm.Text{Text: strings.ReplaceAll(call.Input, "show", "sesame-opens")}}, Picture: []byte("after")}, nil
	})}
	for _, tt := range []struct {
		input         string
		before, after string
	}{
		{`{"b":"ok"}`, "before", "after"},
		{`{"b":"crash"}`, "", "after"},
		{`{"b":"show"}`, "", ""},
	} {
		m := cast(take{Message: llmtest.Use("", "press", tt.input)}, take{Message: llmtest.Say("done")})
		a := &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{press}}
		l, j := begin(t, a, "Press.")
		j.Secrets = journal.NewSecrets(map[string]string{"door": "sesame-opens"})
		l.Secrets = j.Secrets
		s := wake(t, l)
		blobs := journal.SessionBlobs(j, j, sess)
		check := func(what string, ref openmanus.Ref, want string) {
			data, err := []byte(nil), error(nil)
			if ref != "" {
				data, err = openmanus.ReadBlob(t.Context(), blobs, ref)
			}
			if err != nil || string(data) != want {
				t.Errorf("%s: %s has %q, %v", tt.input, what, data, err)
			}
		}
		if len(s.Pending()) != 1 {
			t.Fatalf("%s: nothing is asked", tt.input)
		}
		check("the question", s.Pending()[0].Ruling.Picture, tt.before)
		put(t, j, openmanus.Ruled{Call: s.Pending()[0].ID, Allow: true, By: "me"})
		s = wake(t, l)
		for _, ev := range events(t, j, sess) {
			if done, ok := ev.Body.(openmanus.CallDone); ok {
				check("the result", done.Picture, tt.after)
			}
		}
		if n := map[string]int{"": 0, "after": 1}[tt.after]; s.Pictures != n {
			t.Errorf("%s: the session has %d pictures", tt.input, s.Pictures)
		}
	}
}

// TestLongViews: a page that is too long is cut and stays a page, which the next one
// replaces; all of it can be read.
func TestLongViews(t *testing.T) {
	const long = 100_000
	n := 0
	look := tool("look", openmanus.Hints{Ordered: true}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
		n++
		text := fmt.Sprintf("page %d ", n) + strings.Repeat("é", long/2)
		return openmanus.Result{Parts: llm.Parts{llm.Text{Text: fmt.Sprint("did ", n)}, llm.Text{Text: text, View: true}}}, nil
	})
	m := cast(take{Message: llmtest.Calls(llmtest.Use("", "look", `{}`), llmtest.Use("", "look", `{"again":1}`))}, take{Message: llmtest.Say("done")})
	a := &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{look}, Gate: openmanus.AllowAll}
	l, j := begin(t, a, "Look.")
	wake(t, l)
	req := m.asked()[1]
	results := req.Messages[req.Fixed-1].Parts
	first, second := results[0].(llm.Result).Parts.Text(), results[1].(llm.Result).Parts.Text()
	if first != "did 1" || !strings.HasPrefix(second, "did 2page 2 é") || !strings.Contains(second, "bytes left out") || len(second) > long/2 {
		t.Errorf("%.100q and %.100q", first, second)
	}
	for _, ev := range events(t, j, sess) {
		if done, ok := ev.Body.(openmanus.CallDone); ok {
			data, err := openmanus.ReadBlob(t.Context(), j, done.Whole)
			if err != nil || len(data) < long {
				t.Errorf("%s: %d bytes of it, %v", done.Call, len(data), err)
			}
		}
	}
}
