package lawtest_test

import (
	"testing"

	"github.com/openmanus-go/openmanus"
)

// A summary is a step and no reply. Sessions recorded before that have none that is a step.
func TestASummaryIsAStep(t *testing.T) {
	s := &openmanus.State{}
	for n, step := range []bool{false, true} {
		s.Apply(openmanus.Event{Seq: int64(n + 1), Body: openmanus.Compacted{N: n, Step: step}})
	}
	if s.Compactions != 2 || s.Steps != 1 || s.Replies != 0 {
		t.Errorf("%d compactions, %d steps, %d replies", s.Compactions, s.Steps, s.Replies)
	}
}

// The budget leaves a reply as many tokens as it pays for at the prices of its request.
func TestReplyLimitOfALongRequest(t *testing.T) {
	p := openmanus.Prices{Input: 1, Output: 2, Tiers: []openmanus.Prices{{Above: 100, Input: 2, Output: 10}}}
	for size, want := range map[int]int{100: 650, 200: 100} {
		s := &openmanus.State{}
		s.Limits.Money = 1400
		if got := s.ReplyLimit(size, 0, p); got != want {
			t.Errorf("after a request of %d tokens a reply may have %d, want %d", size, got, want)
		}
	}
}
