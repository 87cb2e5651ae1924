package openmanus_test

import (
	"testing"

	"github.com/openmanus-go/openmanus"
)

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
