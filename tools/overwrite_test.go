package tools

import (
	"fmt"
	"strings"
	"testing"
)

// An output that writes over its lines is read as a terminal shows it, however it comes.
func TestOverwriter(t *testing.T) {
	var frames strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&frames, "\rstep %4d of 5000 [%-50s]", i, strings.Repeat("#", i/100))
	}
	long := strings.Repeat("x", 3*maxHeldLine)
	for name, c := range map[string]struct{ in, want string }{
		"nothing":                         {"", ""},
		"lines":                           {"a\nb\n", "a\nb\n"},
		"no end":                          {"a\nb", "a\nb"},
		"lines of Windows":                {"a\r\nb\r\n", "a\r\nb\r\n"},
		"two returns at a line's end":     {"a\r\r\nb\n", "a\r\nb\n"},
		"a shorter frame":                 {"downloading\rdone\nnext\n", "doneloading\nnext\n"},
		"a frame that erases":             {"downloading\r\x1b[Kdone\n", "done\n"},
		"a frame that erases whole":       {"downloading\r\x1b[2Kdone\n", "done\n"},
		"a return at the end":             {"50 %\r", "50 %"},
		"frames that end in a return":     {"10 %\r20 %\r30 %\r\n", "30 %\r\n"},
		"letters of several bytes":        {"äöü!\ra\n", "aöü!\n"},
		"an error between 5000 frames":    {frames.String() + "\nerror: it broke\n" + frames.String()[1:], fmt.Sprintf("step 4999 of 5000 [%-50s]\nerror: it broke\nstep 4999 of 5000 [%-50s]", strings.Repeat("#", 49), strings.Repeat("#", 49))},
		"a line that is too long to hold": {long + "\n", long + "\n"},
		"bytes that are no text":          {"\xff\xfe\r\x80\n", "\x80\xfe\n"},
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			var o overwriter
			var got []byte
			for rest := []byte(c.in); len(rest) > 0; {
				n := min(size, len(rest))
				got = append(got, o.write(rest[:n])...)
				rest = rest[n:]
			}
			if got = append(got, o.rest()...); string(got) != c.want {
				t.Errorf("%s, by %d: %.300q, want %.300q", name, size, got, c.want)
			}
			if left := len(c.in) - len(got); o.written > len(c.in) || (o.written > 0) != (left > 1) {
				t.Errorf("%s, by %d: %d bytes are said to be written over, and %d are left out", name, size, o.written, left)
			}
		}
	}
}

// FuzzOverwriter: output without returns stays, and how it is cut up changes nothing.
func FuzzOverwriter(f *testing.F) {
	for _, s := range []string{"a\nb", "a\rb\n", "a\r\n", "\r\r\x1b[K\n", "ä\rö\xff\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var whole, bytewise overwriter
		at := string(append(whole.write([]byte(s)), whole.rest()...))
		var got []byte
		for i := range len(s) {
			got = append(got, bytewise.write([]byte{s[i]})...)
		}
		got = append(got, bytewise.rest()...)
		if len(s) < maxHeldLine && (string(got) != at || whole.written != bytewise.written) {
			t.Errorf("%q: at once %q, byte by byte %q", s, at, got)
		}
		if !strings.Contains(s, "\r") && at != s {
			t.Errorf("%q became %q", s, at)
		}
		if strings.Count(at, "\n") != strings.Count(s, "\n") {
			t.Errorf("%q became %q, of other lines", s, at)
		}
	})
}
