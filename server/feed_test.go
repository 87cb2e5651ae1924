package server_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// A fed is an event of a feed.
type fed struct {
	typ, id string
	Session string `json:"session"`
	Detail  string `json:"detail"`
	Event   struct {
		Seq  int64  `json:"seq"`
		Type string `json:"type"`
		Body struct {
			Message struct {
				Parts []struct {
					Text string `json:"text"`
				} `json:"parts"`
			} `json:"message"`
		} `json:"body"`
	} `json:"event"`
}

// feed follows sessions on one stream.
func (x *site) feed(token string, sessions ...string) func(func(fed) bool) {
	x.t.Helper()
	return x.fedBy(token, url.Values{"session": sessions})
}

func (x *site) fedBy(token string, query url.Values) func(func(fed) bool) {
	return func(yield func(fed) bool) {
		req, err := http.NewRequestWithContext(x.t.Context(), "GET", x.url+"/api/v1/events?"+query.Encode(), nil)
		if err != nil {
			x.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := x.http.Client().Do(req)
		if err != nil {
			x.t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != 200 {
			x.t.Fatalf("feed: %d", resp.StatusCode)
		}
		typ, id := "", ""
		in := bufio.NewScanner(resp.Body)
		in.Buffer(nil, 16<<20)
		for in.Scan() {
			name, value, _ := strings.Cut(in.Text(), ": ")
			switch name {
			case "id":
				id = value
			case "event":
				typ = value
			case "data":
				ev := fed{typ: typ, id: id}
				if err := json.Unmarshal([]byte(value), &ev); err != nil {
					x.t.Fatalf("%s: %v", value, err)
				}
				if !yield(ev) {
					return
				}
			}
		}
	}
}

// Two sessions on one stream, each from the event after the one that the client
// has; none is lost or sent twice, and a stranger's session is not there.
func TestFeed(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script(llmtest.Say("One."), llmtest.Say("Two.")))
	a, b := x.session(nil), x.session(nil)
	of := x.callAs(bobsToken, "POST", "/api/v1/sessions", map[string]any{}, 201)["id"].(string)
	next := map[string]int64{a: 1, b: 2} // of b, the first one is known
	done, gone := map[string]bool{}, false
	said := false
	for ev := range x.feed(annsToken, "0:"+a, "1:"+b, of) {
		switch ev.typ {
		case "beat":
			if !said {
				said = true
				x.call("POST", "/api/v1/sessions/"+a+"/messages", say("Go"), 202)
				x.call("POST", "/api/v1/sessions/"+b+"/messages", say("Go"), 202)
			}
		case "gone":
			if gone = true; ev.Session != of {
				t.Errorf("%s is gone: %s", ev.Session, ev.Detail)
			}
		case "event":
			if ev.Event.Seq == 0 {
				continue
			}
			if ev.Event.Seq != next[ev.Session] {
				t.Fatalf("%s: event %d, want %d", ev.Session, ev.Event.Seq, next[ev.Session])
			}
			next[ev.Session]++
			done[ev.Session] = done[ev.Session] || ev.Event.Type == "model_said"
		}
		if done[a] && done[b] && gone {
			break
		}
	}
	if !gone || !done[a] || !done[b] {
		t.Errorf("the feed ended: %v %v", gone, done)
	}
}

// A session that is opened shows in the list, so the client is told.
func TestFeedTellsOfNewSessions(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	for ev := range x.feed(annsToken) {
		switch ev.typ {
		case "beat": // the first look at the list may come after this session: then the next one tells
			x.session(nil)
		case "sessions":
			return
		}
	}
	t.Error("the feed ended")
}

func TestFeedRefuses(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	for _, name := range []string{"x:y", "-1:y", "1:", ":"} {
		x.call("GET", "/api/v1/events?"+url.Values{"session": {name}}.Encode(), nil, 422)
	}
}

// The events of all sessions of a user come on one stream: those that there are, new ones,
// and after a reconnection those since the position; none of another user's.
func TestFeedOfAll(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script(llmtest.Say("One.")))
	a, other := x.session(nil), x.callAs(bobsToken, "POST", "/api/v1/sessions", map[string]any{}, 201)["id"].(string)
	next, b, at := map[string]int64{}, "", ""
	take := func(ev fed) {
		t.Helper()
		if next[ev.Session]++; ev.Event.Seq != next[ev.Session] || ev.Session == other {
			t.Fatalf("%s: event %d came as the %dth", ev.Session, ev.Event.Seq, next[ev.Session])
		}
	}
	for ev := range x.fedBy(annsToken, url.Values{"after": {"0"}}) {
		switch {
		case ev.typ == "event":
			take(ev)
		case ev.typ == "position" && b == "":
			at = ev.id
			b = x.session(nil) // while it is connected
			x.call("POST", "/api/v1/sessions/"+b+"/messages", say("Go"), 202)
			x.until(b, "finished")
		}
		if b != "" && next[b] == x.last(b) {
			break
		}
	}
	if next[a] != x.last(a) || at == "" {
		t.Errorf("of %s came %d events", a, next[a])
	}
	c := x.session(nil) // while nobody is connected
	seen := map[string]int64{}
	for ev := range x.fedBy(annsToken, url.Values{"after": {at}}) {
		if ev.typ == "event" {
			seen[ev.Session] = ev.Event.Seq
		}
		if seen[b] == x.last(b) && seen[c] == x.last(c) {
			break
		}
	}
	for query, want := range map[string]string{"after=x": "query.after", "after=-1": "query.after", "after=0&session=s": "query.session"} {
		if status, data := x.send(annsToken, "GET", "/api/v1/events?"+query, nil); status != 422 || !strings.Contains(string(data), want) {
			t.Errorf("%s: %d %s", query, status, data)
		}
	}
}

// last returns the number of a session's last event.
func (x *site) last(id string) int64 {
	info, err := x.db.Session(x.t.Context(), id)
	if err != nil {
		x.t.Fatal(err)
	}
	return info.Events
}
