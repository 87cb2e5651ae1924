package workspace

import (
	"os"
	"testing"
)

func TestParseStat(t *testing.T) {
	tail := " S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 1000 200\n"
	for _, name := range []string{"sh", "a b", ")", "evil) R 1 1 1 (", "with\nnewline", ""} {
		p, err := parseStat([]byte("42 (" + name + ")" + tail))
		if err != nil || p != (process{pid: 42, parent: 7, group: 8, session: 9, state: 'S', start: 4711}) {
			t.Errorf("%q: %+v, %v", name, p, err)
		}
	}
	if p, err := parseStat([]byte("7 (kworker/0:1) S 2 0 0 0 -1 69238880" + tail[len(" S 7 8 9 0 -1 4194560"):])); err != nil || !p.kernel {
		t.Errorf("a thread of the kernel was read as %+v, %v", p, err)
	}
	for _, bad := range []string{"", "42", "42 (sh", "42 (sh)", "42 (sh) S 1 2", "x (sh)" + tail, "0 (sh)" + tail, "-1 (sh)" + tail, ") (42"} {
		if p, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q was read as %+v", bad, p)
		}
	}
	if p, err := readProcess(os.Getpid()); err != nil || p.pid != os.Getpid() || p.parent != os.Getppid() || p.start == 0 || p.dead() || p.kernel {
		t.Errorf("this process was read as %+v, %v", p, err)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (a) b) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 1000 200\n"))
	f.Add([]byte(") ("))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := parseStat(data); err == nil && p.pid < 1 {
			t.Errorf("%q was read as %+v", data, p)
		}
	})
}
