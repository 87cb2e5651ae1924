package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/server"
	"github.com/openmanus-go/openmanus/store"
)

// A leftStore is a store whose client leaves as soon as what it sent is stored: the append
// returns when the server knows that it has left.
type leftStore struct {
	server.Store
	leave atomic.Pointer[context.CancelFunc] // of the client of the next append
}

func (s *leftStore) Append(ctx context.Context, id string, bodies ...openmanus.Body) ([]openmanus.Event, error) {
	evs, err := s.Store.Append(ctx, id, bodies...)
	if ctx.Done() == nil {
		return evs, err // a driver appends, and has no client that leaves
	}
	if leave := s.leave.Swap(nil); leave != nil {
		(*leave)()
		<-ctx.Done()
	}
	return evs, err
}

// A client says, answers or decides something and is gone before it hears so. The server
// carries it out.
func TestTheClientHasGone(t *testing.T) {
	asks := llmtest.Use("", "ask_human", map[string]any{"inquire": "Which colour?"})
	saves := llmtest.Use("", "file_saver", map[string]any{"file_path": "a.txt", "content": "a"})
	type request struct {
		path string
		body any
	}
	for name, c := range map[string]struct {
		first llm.Message // what it waits for; none: it is new
		send  func(id string) request
	}{
		"a message": {send: func(id string) request { return request{"/api/v1/sessions/" + id + "/messages", say("go")} }},
		"an answer": {asks, func(id string) request {
			return request{"/api/v1/sessions/" + id + "/answers", map[string]any{"call": "c0-1", "answer": "blue"}}
		}},
		"a ruling": {saves, func(id string) request {
			return request{"/api/v1/sessions/" + id + "/rulings", map[string]any{"call": "c0-1", "allow": true}}
		}},
		"an answer over A2A": {asks, func(id string) request {
			return request{"/a2a/v1/message:send", a2aSays("m1", "blue", map[string]any{"taskId": id + "-3"})}
		}},
		"a message over AG-UI": {send: func(id string) request { return request{"/api/v1/agui", aguiInput(id, aguiSays("m1", "go"))} }},
	} {
		t.Run(name, func(t *testing.T) {
			script := []llm.Message{llmtest.Say("Done.")}
			if len(c.first.Parts) > 0 {
				script = append([]llm.Message{c.first}, script...)
			}
			dir := t.TempDir()
			db, err := store.Open(filepath.Join(dir, "data"), nil)
			if err != nil {
				t.Fatal(err)
			}
			left := &leftStore{Store: db}
			x := serve(t, dir, llmtest.Script(script...), left, db.Close)
			id := x.session(map[string]any{"workspace": "w"})
			if len(c.first.Parts) > 0 {
				x.call("POST", "/api/v1/sessions/"+id+"/messages", say("go"), 202)
				x.until(id, "waiting")
			}
			r := c.send(id)
			data, err := json.Marshal(r.body)
			if err != nil {
				t.Fatal(err)
			}
			ctx, leave := context.WithCancel(t.Context())
			left.leave.Store(&leave)
			req, err := http.NewRequestWithContext(ctx, "POST", x.url+r.path, strings.NewReader(string(data)))
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range map[string]string{"Authorization": "Bearer " + annsToken, "Content-Type": "application/json", "A2A-Version": "1.0"} {
				req.Header.Set(name, value)
			}
			if resp, err := x.http.Client().Do(req); err == nil {
				resp.Body.Close()
				t.Fatalf("the client heard %s before it left", resp.Status)
			}
			x.until(id, "finished")
		})
	}
}
