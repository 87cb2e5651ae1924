package server_test

import (
	"bufio"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A surface is a way in which a client follows a session.
type surface struct {
	// asked waits until it tells that something below is asked, and returns the question and
	// the id of its call.
	asked func(x *site, id, task string) (question, call string)

	// answer answers the question.
	answer func(x *site, id, task, text string)

	// ended waits until it tells that the work is done, and returns the answer.
	ended func(x *site, id, task string) string
}

// surfaces are those of the server, by name.
var surfaces = map[string]surface{
	"the API": {
		asked: func(x *site, id, _ string) (string, string) {
			s := x.call("GET", "/api/v1/sessions/"+id+"?wait=300", nil, 200)
			w := s["below"].([]any)[0].(map[string]any)
			return w["question"].(string), w["call"].(string)
		},
		answer: func(x *site, id, _, text string) {
			w := x.call("GET", "/api/v1/sessions/"+id, nil, 200)["below"].([]any)[0].(map[string]any)
			x.call("POST", "/api/v1/sessions/"+w["session"].(string)+"/answers", map[string]any{"call": w["call"], "answer": text}, 202)
		},
		ended: func(x *site, id, _ string) string {
			for {
				if s := x.call("GET", "/api/v1/sessions/"+id+"?wait=300", nil, 200); s["status"] == "finished" {
					return s["answer"].(string)
				}
			}
		},
	},
	"the page": {
		asked: func(x *site, id, _ string) (string, string) { return x.fedQuestion(id) },
		ended: func(x *site, id, _ string) (answer string) {
			for ev := range x.feed(annsToken, "0:"+id) {
				if ev.Event.Type == "model_said" {
					if parts := ev.Event.Body.Message.Parts; len(parts) == 1 && parts[0].Text != "" {
						return parts[0].Text
					}
				}
			}
			return ""
		},
	},
	"A2A": {
		asked: func(x *site, _, task string) (string, string) {
			status := x.taskUntil(task, "TASK_STATE_INPUT_REQUIRED")
			text := dig(dig(status, "message", "parts").([]any)[0], "text").(string)
			question, call, _ := strings.Cut(text, "\n(call ")
			return question, strings.TrimSuffix(call, ")")
		},
		answer: func(x *site, _, task, text string) {
			if status, out, _ := x.rest("POST", "/a2a/v1/message:send", a2aSays("a1", text, map[string]any{"taskId": task})); status != 200 {
				x.t.Error(status, out)
			}
		},
		ended: func(x *site, _, task string) string {
			x.taskUntil(task, "TASK_STATE_COMPLETED")
			_, out, _ := x.rest("GET", "/a2a/v1/tasks/"+task, nil)
			return dig(dig(out["artifacts"].([]any)[0], "parts").([]any)[0], "text").(string)
		},
	},
	"AG-UI": {
		asked: func(x *site, id, _ string) (string, string) {
			frames := x.agui(whole, "", aguiInput(id, nil))
			i := frames[len(frames)-1].Outcome.Interrupts[0]
			return i.Message, i.Call
		},
		answer: func(x *site, id, _, text string) {
			frames := x.agui(whole, "", aguiInput(id, nil))
			i := frames[len(frames)-1].Outcome.Interrupts[0]
			x.agui(whole, "", aguiInput(id, map[string]any{"runId": "r2", "resume": []any{
				map[string]any{"interruptId": i.ID, "status": "resolved", "payload": text}}}))
		},
		ended: func(x *site, id, _ string) string {
			for {
				frames := x.agui(whole, "", aguiInput(id, nil))
				if end := frames[len(frames)-1]; end.Outcome.Type == "success" {
					return end.Result
				}
			}
		},
	},
}

// fedQuestion follows a session as the page does, which asks how the session is when the
// feed says that something has happened.
func (x *site) fedQuestion(id string) (question, call string) {
	for range x.feed(annsToken, "0:"+id) {
		if below, _ := x.call("GET", "/api/v1/sessions/"+id, nil, 200)["below"].([]any); len(below) > 0 {
			w := below[0].(map[string]any)
			return w["question"].(string), w["call"].(string)
		}
	}
	return "", ""
}

// taskUntil follows a task of A2A until it has a state, and returns its status.
func (x *site) taskUntil(task, state string) any {
	x.t.Helper()
	req, err := http.NewRequestWithContext(x.t.Context(), "GET", x.url+"/a2a/v1/tasks/"+task+":subscribe", nil)
	if err != nil {
		x.t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + annsToken, "A2A-Version": "1.0", "Last-Event-ID": "0.0"} {
		req.Header.Set(name, value)
	}
	resp, err := x.http.Client().Do(req)
	if err != nil {
		x.t.Fatal(err)
	}
	defer resp.Body.Close()
	for in := bufio.NewScanner(resp.Body); in.Scan(); {
		data, ok := strings.CutPrefix(in.Text(), "data: ")
		var ev map[string]any
		if !ok || json.Unmarshal([]byte(data), &ev) != nil {
			continue
		}
		for _, of := range []string{"task", "statusUpdate"} {
			if dig(ev, of, "status", "state") == state {
				return dig(ev, of, "status")
			}
		}
	}
	x.t.Fatalf("task %s ended without %s", task, state)
	return nil
}

// One session is followed on all surfaces at once, and an agent three levels below asks.
// Each surface tells the same story: what is asked, by which call, and how it ended,
// whichever of them the person answered on.
func TestSurfacesTellOneStory(t *testing.T) {
	for by, s := range surfaces {
		if s.answer == nil {
			continue
		}
		t.Run("answered on "+by, func(t *testing.T) {
			x := open(t, t.TempDir(), threeDeep())
			id := x.session(nil)
			x.call("POST", "/api/v1/sessions/"+id+"/messages", say("paint level 0"), 202)
			task := id + "-3" // it begins with the message
			told := x.onAll(func(s surface) string {
				question, call := s.asked(x, id, task)
				return question + " " + call
			})
			s.answer(x, id, task, "blue")
			ends := x.onAll(func(s surface) string { return s.ended(x, id, task) })
			for name := range surfaces {
				if told[name] != "which colour? c0-1" || ends[name] != "It was painted." {
					t.Errorf("%s tells %q, and at the end %q", name, told[name], ends[name])
				}
			}
		})
	}
}

// onAll does something on all surfaces at once, and logs how long each took.
func (x *site) onAll(do func(surface) string) map[string]string {
	var mu sync.Mutex
	var all sync.WaitGroup
	told, took, began := map[string]string{}, map[string]time.Duration{}, time.Now()
	for name, s := range surfaces {
		all.Go(func() {
			text := do(s)
			mu.Lock()
			defer mu.Unlock()
			told[name], took[name] = text, time.Since(began).Round(time.Millisecond)
		})
	}
	all.Wait()
	for _, name := range slices.Sorted(maps.Keys(told)) {
		x.t.Logf("%s: %s", name, took[name])
	}
	return told
}
