package lawtest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

// A shelf is a tool that shows what it is about to replace.
type shelf struct {
	openmanus.Tool
	holds *string
}

func newShelf(holds *string) shelf {
	return shelf{openmanus.Func(openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "replace"}},
		func(_ context.Context, _ openmanus.Call, in struct {
			By string `json:"by"`
		}) (openmanus.Result, error) {
			*holds = in.By
			return openmanus.TextResult("replaced"), nil
		}), holds}
}

func (s shelf) Preview(_ context.Context, call openmanus.Call) (string, error) {
	switch *s.holds {
	case "":
		return "", errors.New("there is nothing to replace")
	case "panic":
		panic("out of shelves")
	}
	return "- " + *s.holds, nil
}

// onShelf opens a session in which a call waits to replace what is held.
func onShelf(t *testing.T, holds *string) (*journal.Memory, *run.Worker) {
	t.Helper()
	mem := new(journal.Memory)
	a := &openmanus.Agent{Name: "a", Model: llmtest.Script(llmtest.Use("", "replace", map[string]string{"by": "new"}), llmtest.Say("done")), Tools: []openmanus.Tool{newShelf(holds)}}
	w := &run.Worker{Journal: mem, Flow: run.FlowsByName(a)}
	if err := openmanus.Open(t.Context(), mem, "s", a, &openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "go")}); err != nil {
		t.Fatal(err)
	}
	drive(t, w, "s")
	return mem, w
}

func resultOf(t *testing.T, mem *journal.Memory, call string) string {
	t.Helper()
	for ev, err := range mem.Events(t.Context(), "s", 0) {
		if d, ok := ev.Body.(openmanus.CallDone); err != nil || ok && d.Call == call {
			return d.Parts.Text()
		}
	}
	return ""
}

// A call has the effect that the person was shown, or does not run, because the
// effect has changed since.
func TestApprovalIsOfWhatWasShown(t *testing.T) {
	for _, changed := range []bool{false, true} {
		holds := "old"
		mem, w := onShelf(t, &holds)
		s, err := openmanus.Load(t.Context(), mem, "s")
		if err != nil || len(s.Pending()) != 1 {
			t.Fatalf("nothing waits: %v, %s", err, s.Status())
		}
		q := s.Pending()[0].Ruling
		if q.Shown != "- old" || q.Hash == openmanus.Fingerprint("replace", q.Input) {
			t.Errorf("shown is %q, with the hash %s", q.Shown, q.Hash)
		}
		want := "new"
		if changed {
			holds, want = "newer", "newer"
		}
		if _, err := mem.Append(t.Context(), "s", openmanus.Ruled{Call: "c0-1", Allow: true, By: "person", Hash: q.Hash}); err != nil {
			t.Fatal(err)
		}
		drive(t, w, "s")
		text := resultOf(t, mem, "c0-1")
		if holds != want || strings.Contains(text, "has changed since the person allowed it") != changed {
			t.Errorf("changed %v: holds %q, said %q", changed, holds, text)
		}
	}
}

// Nobody is asked about what would fail anyway.
func TestNobodyIsAskedAboutWhatWouldFail(t *testing.T) {
	for holds, want := range map[string]string{"": "there is nothing to replace", "panic": "replace crashed: out of shelves"} {
		mem, _ := onShelf(t, &holds)
		if text := resultOf(t, mem, "c0-1"); text != want {
			t.Errorf("%q: said %q, want %q", holds, text, want)
		}
		if s, _ := openmanus.Load(t.Context(), mem, "s"); s.Status() != openmanus.Finished {
			t.Errorf("%q: the session is %s", holds, s.Status())
		}
	}
}
