package server_test

import (
	"testing"

	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// A plan is shown while it waits, and is carried out in one of the modes that change something or look.
func TestPlansAreApproved(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script(llmtest.Say("first this, then that"), llmtest.Say("it is done")))
	id := x.session(map[string]any{"approve": "plan"})
	path := "/api/v1/sessions/" + id
	x.call("POST", path+"/plan/approve", map[string]any{}, 409)
	x.call("POST", path+"/messages", say("do it"), 202)
	if s := x.until(id, "finished"); s["proposal"] != "first this, then that" || s["approve"] != "plan" {
		t.Errorf("it is %v", s)
	}
	for _, s := range x.call("GET", "/api/v1/sessions", nil, 200)["items"].([]any) {
		if s.(map[string]any)["proposal"] != nil {
			t.Errorf("a list has the plan: %v", s)
		}
	}
	x.callAs(bobsToken, "POST", path+"/plan/approve", map[string]any{}, 404)
	x.call("POST", path+"/plan/approve", map[string]any{"mode": "plan"}, 422)
	x.call("POST", path+"/plan/approve", map[string]any{"mode": "never"}, 422)
	x.call("POST", path+"/plan/approve", map[string]any{"mode": "ask", "text": "only this"}, 202)
	for s := x.until(id, "finished"); s["answer"] != "it is done"; s = x.until(id, "finished") {
	}
	x.call("POST", path+"/plan/approve", map[string]any{}, 409)
}
