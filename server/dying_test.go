package server_test

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// Levels is a model that delegates three times; the session at the bottom asks the user.
type levels [4]llm.Model

func (l levels) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	for i, m := range l {
		if strings.Contains(req.Messages[0].Text(), "paint level "+string(rune('0'+i))) {
			return m.Stream(ctx, req)
		}
	}
	return llmtest.Script().Stream(ctx, req)
}

func threeDeep() llm.Model {
	var l levels
	for i := range 3 {
		task := "paint level " + string(rune('1'+i))
		give := llmtest.Use("", "give", map[string]any{"agent": "manus", "task": task})
		l[i] = llmtest.Script(give, llmtest.Say("It was painted."))
	}
	ask := llmtest.Use("", "ask_human", map[string]any{"inquire": "which colour?"})
	l[3] = llmtest.Script(ask, llmtest.Say("I painted it."))
	return l
}

// A question of a child at depth 3 reaches the top. A thousand clients that die while it is
// asked, on streams of one session and of several, hang nothing and hold no stream: the
// answer of the next one ends the work.
func TestClientsThatDieWhileAsked(t *testing.T) {
	x := open(t, t.TempDir(), threeDeep())
	id := x.session(nil)
	path := "/api/v1/sessions/" + id
	x.call("POST", path+"/messages", say("paint level 0"), 202)
	s := x.call("GET", path+"?wait=300", nil, 200)
	below, _ := s["below"].([]any)
	if len(below) != 1 || below[0].(map[string]any)["session"] != id+".c0-1.c0-1.c0-1" {
		t.Fatalf("it is %v, and below there waits %v", s["status"], below)
	}
	streams := []string{path + "/events", "/api/v1/sessions/" + id + ".c0-1.c0-1.c0-1/events", "/api/v1/events?session=0:" + id}
	for n, since := 0, time.Now(); n < 1000; {
		if x.dies(streams[n%len(streams)]) {
			n, since = n+1, time.Now()
		} else if time.Since(since) > time.Minute {
			t.Fatalf("after %d clients no stream is free, and nobody reads one", n)
		}
	}
	w := below[0].(map[string]any)
	x.call("POST", "/api/v1/sessions/"+w["session"].(string)+"/answers", map[string]any{"call": w["call"], "answer": "blue"}, 202)
	for s["status"] != "finished" {
		s = x.call("GET", path+"?wait=300", nil, 200)
	}
	if s["answer"] != "It was painted." || s["below"] != nil {
		t.Errorf("it ended as %v", s)
	}
}

// dies reads the beginning of a stream and disconnects. It reports false if those who went
// before still count, which the server learns a moment later.
func (x *site) dies(path string) bool {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", x.url+path, nil)
	if err != nil {
		x.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+annsToken)
	resp, err := x.http.Client().Do(req)
	if err != nil {
		x.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusTooManyRequests {
		return false
	}
	if n, err := resp.Body.Read(make([]byte, 10)); resp.StatusCode != 200 || n == 0 {
		x.t.Fatal(path, resp.Status, err)
	}
	return true
}
