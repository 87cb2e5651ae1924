package testbed

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { Main(m) }

func TestLeaksWaitsForGoroutinesToEnd(t *testing.T) {
	others := goleak.IgnoreCurrent()
	end := make(chan struct{})
	go func() { <-end }()
	if goleak.Find(others) == nil {
		t.Error("a leaked goroutine was not found")
	}
	time.AfterFunc(time.Second, func() { close(end) }) // later than goleak waits
	if err := Leaks(others); err != nil {
		t.Error(err)
	}
}
