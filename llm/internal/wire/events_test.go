package wire

import (
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// The same events come from a stream however its lines end, and however the
// network cuts it.
func TestEvents(t *testing.T) {
	for _, c := range []struct {
		name, stream string
		want         []string
	}{
		{"one event", "data: a\n\n", []string{"a"}},
		{"no space", "data:a\n\n", []string{"a"}},
		{"several lines", "data: a\ndata:  b\n\n", []string{"a\n b"}},
		{"other fields", ": hello\nevent: x\nid: 1\nretry: 5\ndata: a\n\n", []string{"a"}},
		{"no data", "event: ping\n\ndata:\n\ndata: a\n\n", []string{"a"}},
		{"no empty line at the end", "data: a\n\ndata: b", []string{"a", "b"}},
		{"a byte order mark", "\xef\xbb\xbfdata: a\n\n", []string{"a"}},
		{"white space before it", "\n \n data: x\n\ndata: a\n\n", []string{"x", "a"}},
		{"one JSON value", `{"a":1}`, []string{`{"a":1}`}},
	} {
		for _, end := range []string{"\n", "\r\n", "\r"} {
			text := strings.ReplaceAll(c.stream, "\n", end)
			for name, r := range map[string]io.Reader{
				"whole": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text)),
			} {
				if got, err := events(r); err != nil || !slices.Equal(got, c.want) {
					t.Errorf("%s with %q, %s: %q, %v; want %q", c.name, end, name, got, err, c.want)
				}
			}
		}
	}
}

// An incomplete event is no event: the error of the connection comes instead.
func TestEventsThatBreakOff(t *testing.T) {
	broken := errors.New("broken")
	got, err := events(io.MultiReader(strings.NewReader("data: a\n\ndata: {\"b\":"), iotest.ErrReader(broken)))
	if !slices.Equal(got, []string{"a"}) || !errors.Is(err, broken) {
		t.Errorf("%q, %v", got, err)
	}
}

// The CR at the end of an event is enough to pass it on.
func TestEventsBeforeTheNextByte(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	go io.WriteString(w, "data: a\r\n\r")
	next, stop := iter.Pull2(Events(r))
	defer stop()
	if data, err, ok := next(); string(data) != "a" || err != nil || !ok {
		t.Errorf("%q, %v", data, err)
	}
	r.Close() // what is read next fails
}

func TestEventsThatAreNone(t *testing.T) {
	for body, want := range map[string]string{
		"":                                   "the response is empty",
		"<html><title>Log in</title></html>": "is a web page",
		"data: " + strings.Repeat("x", maxLine+1): "more than 32 MiB",
	} {
		if _, err := events(strings.NewReader(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v; want %s", body, err, want)
		}
	}
}

func events(r io.Reader) (all []string, err error) {
	for data, err := range Events(r) {
		if err != nil {
			return all, err
		}
		if len(data) > 0 { // not only a sign of life
			all = append(all, string(data))
		}
	}
	return all, nil
}
