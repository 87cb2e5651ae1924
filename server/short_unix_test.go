//go:build unix

package server

import (
	"strings"
	"testing"
)

func TestLittleMemory(t *testing.T) {
	for text, want := range map[string]bool{
		"MemTotal:       16000000 kB\nMemFree: 10 kB\nMemAvailable:    1600000 kB\n": false,
		"MemTotal:       16000000 kB\nMemFree: 10 kB\nMemAvailable:    1599999 kB\n": true,
		"MemTotal:       16000000 kB\nMemFree: 10 kB\n":                              false, // before Linux 3.14
		"": false,
	} {
		if got := littleMemory(strings.NewReader(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
