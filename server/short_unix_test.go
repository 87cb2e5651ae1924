//go:build unix

package server

import (
	"strings"
	"testing"
	"testing/fstest"
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

func TestLittleMemoryOfContainer(t *testing.T) {
	for name, c := range map[string]struct {
		most, used, stat string
		want             bool
	}{
		"enough":               {"1000000", "900000", "anon 900000\ninactive_file 0\n", false},
		"little":               {"1000000", "900001", "anon 900001\ninactive_file 0\n", true},
		"some may be dropped":  {"1000000", "950000", "anon 5\ninactive_file 60000\n", false},
		"no limit":             {"max", "950000", "inactive_file 0\n", false},
		"no control group":     {"", "", "", false},
		"more may be dropped?": {"1000000", "950000", "inactive_file 99999999\n", false},
	} {
		group := fstest.MapFS{}
		for file, text := range map[string]string{"memory.max": c.most, "memory.current": c.used, "memory.stat": c.stat} {
			if text != "" {
				group[file] = &fstest.MapFile{Data: []byte(text + "\n")}
			}
		}
		if got := littleOfContainer(group); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
