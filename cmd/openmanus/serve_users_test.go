//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
)

const usersConfig = `
[run]
max_steps = 3
max_cost = 1.5
[serve]
a2a = true
[users.ann]
token = "ann-0123456789abcdef"
approve = "ask"
[users.bob]
token = "bob-0123456789abcdef"
approve = "readonly"
[users.root]
token = "root-0123456789abcdef"
admin = true
`

// as returns the requests of a user.
func (s *serving) as(user string) *serving {
	u := *s
	u.auth = "Bearer " + user + "-0123456789abcdef"
	return &u
}

// serveUsers starts a server with several users, whose model replies as script says.
func serveUsers(t *testing.T, script string) *serving {
	dir := write(t, "s", script)
	file := filepath.Join(dir, ".home", ".config", "openmanus", "config.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(usersConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	return serve(t, dir, "127.0.0.1:0")
}

// A request of a user of several narrows what the user's sessions may do, and never widens
// it, whatever way it comes. The answer says who could.
func TestUsersOnlyNarrow(t *testing.T) {
	s := serveUsers(t, "x\n-- 1- --\n@call bash {\"command\": \"true\"}\n")
	const sessions = "/api/v1/sessions"
	modes := map[string]func(u *serving, mode string) (int, []byte){
		"create": func(u *serving, mode string) (int, []byte) {
			return u.send("POST", sessions, `{"approve":"`+mode+`"}`)
		},
		"change": func(u *serving, mode string) (int, []byte) {
			id := u.call("POST", sessions, "{}")["id"].(string)
			return u.send("PATCH", sessions+"/"+id, `{"approve":"`+mode+`"}`)
		},
		"AG-UI": func(u *serving, mode string) (int, []byte) {
			return u.send("POST", "/api/v1/agui", `{"threadId":"t-`+mode+`","runId":"r","messages":[{"id":"1","role":"user","content":"x"}],`+
				`"tools":[],"context":[],"state":{},"forwardedProps":{"approve":"`+mode+`"}}`)
		},
	}
	for way, ask := range modes {
		for _, user := range []string{"ann", "bob"} {
			most := map[string]string{"ann": openmanus.ApproveAsk, "bob": openmanus.ApproveReadOnly}[user]
			for _, mode := range openmanus.Modes {
				if way == "AG-UI" && openmanus.Stricter(mode, most) == mode {
					continue // it would run, and is another test's
				}
				status, body := ask(s.as(user), mode)
				if narrow := openmanus.Stricter(mode, most) == mode; narrow != (status < 300) {
					t.Errorf("%s by %s: %s: %d %s", way, user, mode, status, body)
				} else if !narrow && !strings.Contains(string(body), "An administrator of this server can change that: [users."+user+"] approve") {
					t.Errorf("%s by %s: it does not say who can allow %s: %s", way, user, mode, body)
				}
			}
		}
	}
	if got := s.as("bob").call("POST", sessions, "{}")["approve"]; got != openmanus.ApproveReadOnly {
		t.Errorf("without a mode it is %v", got)
	}

	stopped := s.as("bob").call("POST", sessions, `{"limits":{"steps":1}}`)["id"].(string)
	s.as("bob").call("POST", sessions+"/"+stopped+"/messages", `{"text":"work"}`)
	s.as("bob").call("GET", sessions+"/"+stopped+"?wait=60", "")
	limits := map[string]func(u *serving, limits string) (int, []byte){
		"create": func(u *serving, limits string) (int, []byte) {
			return u.send("POST", sessions, `{"limits":`+limits+`}`)
		},
		"retry": func(u *serving, limits string) (int, []byte) {
			return u.send("POST", sessions+"/"+stopped+"/retry", `{"limits":`+limits+`}`)
		},
	}
	for way, ask := range limits {
		for _, wide := range []string{
			`{"steps":-1}`, `{"steps":4}`, `{"tokens":-1}`, `{"tokens":9007199254740991}`, `{"cost_usd":-1}`, `{"cost_usd":1.51}`, `{"cost_usd":1e300}`,
			`{"seconds":-1}`, `{"seconds":1e300}`, `{"depth":16}`, `{"fan_out":64}`, `{"stuck":100}`, `{"attempts":21}`, `{"steps":1,"cost_usd":-1}`,
		} {
			status, body := ask(s.as("bob"), wide)
			if status != 422 || !strings.Contains(string(body), "An administrator can raise it: [run] ") {
				t.Errorf("%s with %s: %d %s", way, wide, status, body)
			}
		}
	}
	for _, narrow := range []string{`{}`, `{"steps":0}`, `{"steps":3}`, `{"steps":2,"cost_usd":0.5,"seconds":5}`, `{"cost_usd":1e-12}`} {
		x := s.as("bob").call("POST", sessions, `{"limits":`+narrow+`}`)
		var l struct{ Steps, Cost float64 }
		data, _ := json.Marshal(x["limits"])
		_ = json.Unmarshal([]byte(strings.ReplaceAll(string(data), "cost_usd", "cost")), &l)
		if l.Steps < 1 || l.Steps > 3 || l.Cost <= 0 || l.Cost > 1.5 {
			t.Errorf("with %s the limits are %s", narrow, data)
		}
	}
	if x := s.as("root").call("POST", sessions, `{"limits":{"steps":-1}}`); fmt.Sprint(x["limits"].(map[string]any)["steps"]) != "-1" {
		t.Errorf("an administrator's limits are %v", x["limits"])
	}
}

const guestScript = `x
-- 1 --
@call bash {"command": "touch made"}
@call web_fetch {"url": "http://127.0.0.1:8642/"}
-- 2- --
Done.
`

// A user who is no administrator is not asked about the machine of the server: the call is
// denied. An administrator is asked, and so is whoever runs a server alone.
func TestUsersAreNotAskedAboutTheMachine(t *testing.T) {
	several, alone := serveUsers(t, guestScript), serve(t, write(t, "s", guestScript), "127.0.0.1:0")
	for who, c := range map[string]struct {
		u      *serving
		status string
	}{
		"a user": {several.as("ann"), "finished"}, "an administrator": {several.as("root"), "waiting"}, "a server alone": {alone, "waiting"},
	} {
		t.Run(who, func(t *testing.T) {
			id := c.u.call("POST", "/api/v1/sessions", "{}")["id"].(string)
			c.u.call("POST", "/api/v1/sessions/"+id+"/messages", `{"text":"look at http://127.0.0.1:8642/"}`)
			x := c.u.call("GET", "/api/v1/sessions/"+id+"?wait=60", "")
			if x["status"] != c.status {
				t.Errorf("it is %v: %v", x["status"], x["waiting"])
			}
			_, events := c.u.send("GET", "/api/v1/sessions/"+id+"/export", "")
			refused := strings.Count(string(events), "only an administrator of this server may allow that")
			if want := map[string]int{"finished": 2}[c.status]; refused < want || want == 0 && refused > 0 {
				t.Errorf("%d calls are refused\n%s", refused, events)
			}
		})
	}
}
