package tools

import (
	"bytes"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestProcOutputKeepsHeadAndTail(t *testing.T) {
	tests := []struct {
		name   string
		limit  int
		chunks []string
		want   string
	}{
		{"nothing", 10, nil, ""},
		{"all of it", 10, []string{"01234", "56789"}, "0123456789"},
		{"one byte too many", 10, []string{"0123456789", "x"}, "01234\n[1 bytes in the middle were not kept: write long output to a file]\n6789x"},
		{"one big chunk", 4, []string{"abcdefgh"}, "ab\n[4 bytes in the middle were not kept: write long output to a file]\ngh"},
		{"many small chunks", 4, strings.Split("abcdefgh", ""), "ab\n[4 bytes in the middle were not kept: write long output to a file]\ngh"},
		{"a character across two chunks", 100, []string{"\xe6\x97", "\xa5"}, "日"},
		{"a character across head and tail", 4, []string{"a", "日"}, "a日"},
		{"not text", 100, []string{"a\x00\xff", "b"}, "a\uFFFDb\n[2 bytes are not text and shown as \uFFFD]\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := procOutput{limit: tt.limit}
			for _, c := range tt.chunks {
				o.Write([]byte(c))
			}
			if got := o.text(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// FuzzProcOutput compares an output with one that keeps everything, and what
// is shown with what was written.
func FuzzProcOutput(f *testing.F) {
	f.Add([]byte("hello, world"), uint8(3), uint8(8))
	f.Add([]byte("日本語\xff\x00日"), uint8(1), uint8(200))
	f.Fuzz(func(t *testing.T, data []byte, chunk, limit uint8) {
		limit = max(limit, 2) / 2 * 2
		var live bytes.Buffer
		o := procOutput{live: &live, limit: int(limit)}
		for rest := data; len(rest) > 0; {
			n := min(max(1, int(chunk)), len(rest))
			o.Write(rest[:n])
			rest = rest[n:]
		}
		o.finish()
		text := o.text()
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) || !utf8.Valid(live.Bytes()) {
			t.Fatalf("%q became %q, shown as %q", data, text, live.Bytes())
		}
		if len(o.head) > int(limit)/2 || len(o.tail) > int(limit) {
			t.Fatalf("kept %d and %d bytes, limit %d", len(o.head), len(o.tail), limit)
		}
		if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
			return
		}
		if live.String() != string(data) {
			t.Errorf("%q was shown as %q", data, live.Bytes())
		}
		if len(data) <= int(limit) && !bytes.ContainsRune(data, '\r') && text != string(data) {
			t.Errorf("%q became %q", data, text)
		}
	})
}

// FuzzProcSplitter cuts the same stream at any places.
func FuzzProcSplitter(f *testing.F) {
	f.Add("before", "MARK", "after", uint8(3))
	f.Add("MAMAMARMAR", "MARK", "MARK", uint8(1))
	f.Fuzz(func(t *testing.T, before, mark, after string, chunk uint8) {
		if mark == "" || strings.Contains((before + mark)[:len(before+mark)-1], mark) {
			return // the mark is not where it is meant to be
		}
		var sink, rest bytes.Buffer
		s := procSplitter{rest: &rest}
		s.begin(mark, &sink)
		found := 0
		for stream := []byte(before + mark + after); len(stream) > 0; {
			n := min(max(1, int(chunk)), len(stream))
			if s.write(stream[:n]) {
				found++
			}
			stream = stream[n:]
		}
		s.end()
		if found != 1 || sink.String() != before || rest.String() != after {
			t.Errorf("found %d times, between %q and %q", found, sink.String(), rest.String())
		}
	})
}

func TestProcSplitterWithoutItsMark(t *testing.T) {
	var sink, rest bytes.Buffer
	s := procSplitter{rest: &rest}
	s.write([]byte("early "))
	s.begin("MARK", &sink)
	s.write([]byte("all of it MAR"))
	s.end()
	s.write([]byte("late MARK"))
	if sink.String() != "all of it MAR" || rest.String() != "early late MARK" {
		t.Errorf("got %q and %q", sink.String(), rest.String())
	}
}

func TestBashRecords(t *testing.T) {
	record := "abc 3 ehu -,exec\x00/some\nwhere\n\x00" + `declare -x A="1
2"
declare -x OPENMANUS_RUN="x"
declare -x OLDPWD
declare -x PWD="/"
declare -x SHLVL="3"
declare -rx PWDS="y"
` + "\x00trap -- 'x' ERR\n\x00"
	want := bashState{3, "ehu", "exec", "/some\nwhere", "declare -x A=\"1\n2\"\ndeclare -x OLDPWD\ndeclare -rx PWDS=\"y\"\n", "trap -- 'x' ERR\n"}
	for _, chunk := range []int{1, 7, len(record)} {
		var r bashRecords
		for i := 0; i < len(record); i += chunk {
			end := min(i+chunk, len(record))
			if ok := r.write([]byte(record[i:end]), "abc"); ok != (end == len(record)) {
				t.Fatalf("a record after %d of %d bytes: %v", end, len(record), ok)
			}
		}
		if *r.state != want {
			t.Errorf("%+v, want %+v", *r.state, want)
		}
	}
	var r bashRecords
	if r.write([]byte(record), "other") || r.state != nil {
		t.Error("took the record of another call")
	}
	if r.write([]byte(strings.Replace(record, "abc", "exit", 1)), "") || r.state == nil {
		t.Error("did not take the shell's last record as such")
	}
}

func FuzzBashRecords(f *testing.F) {
	f.Add([]byte("abc 3 ehu -\x00/\n\x00declare -x A=\"1\"\n\x00\x00"))
	f.Add([]byte("\x00\x00\x00\x00\x00\x00a 1 - -\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var whole, bytewise bashRecords
		found := false
		for i := range data {
			found = bytewise.write(data[i:i+1], "abc") || found
		}
		if whole.write(data, "abc") != found || !reflect.DeepEqual(whole, bytewise) {
			t.Errorf("at once %+v, byte by byte %+v", whole, bytewise)
		}
	})
}

// FuzzBashQuote asks bash what it makes of a quoted string.
func FuzzBashQuote(f *testing.F) {
	for _, s := range []string{"", "it's", "a\\nb\n", "$(x) `y` \"z\" !", "\x01\x7f\xff", "日本", "\\'\\\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsRune(s, 0) || len(s) > 10000 {
			return
		}
		q := bashQuote(s)
		if strings.ContainsAny(q, "\n\r") {
			t.Fatalf("%q has more than one line", q)
		}
		got, err := exec.Command("bash", "--norc", "-c", "printf %s "+q).Output()
		if err != nil || string(got) != s {
			t.Errorf("%q became %q, %v", s, got, err)
		}
	})
}
