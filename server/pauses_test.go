package server

import (
	"testing"
	"time"
)

// TestPausesOfADay says how often something is posted again to a service that is away for a day: soon at first, then once an hour.
func TestPausesOfADay(t *testing.T) {
	for range 1000 {
		tries, away := 0, time.Duration(0)
		for ; away < giveUpAfter; tries++ {
			pause := pauseOf(tries)
			if pause <= 0 || pause > longestPause || tries == 0 && pause > time.Second {
				t.Fatalf("try %d comes after %v", tries, pause)
			}
			away += pause
		}
		if tries < 30 || tries > 70 {
			t.Fatalf("%d tries in a day", tries)
		}
	}
}
