package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// A counter counts what is written to a terminal, and how.
type counter struct {
	bytes, frames int
	torn          int // frames that are not one update
	redrawn       int // how often the whole screen was erased
	has           repaints
}

func (c *counter) Write(data []byte) (int, error) {
	n := len(data)
	data = c.has.frame(data, 40)
	c.bytes += len(data)
	c.frames++
	at := bytes.Index(data, []byte("\x1b[?2026h"))
	leaves := bytes.Contains(data, []byte("\x1b[?1049l")) // the last one, of the screen as it was
	if moves := bytes.IndexAny(data, "\r\n"); !leaves && c.frames > 20 && len(data) > 40 && (at < 0 || moves >= 0 && moves < at || !bytes.Contains(data[max(at, 0):], []byte("\x1b[?2026l"))) {
		c.torn++
	}
	c.redrawn += bytes.Count(data, []byte("\x1b[2J")) + bytes.Count(data, []byte("\x1b[H\x1b[J"))
	return n, nil
}

// streamed is the text of a long answer, in pieces as a model sends them.
func streamed(tokens int) (all []string) {
	text := "The **quick** brown fox jumps over the lazy dog, and goes on for a while. " +
		"世界は広い。\n\n```go\nfunc add(a, b int) int {\n\treturn a + b // a comment\n}\n```\n\n| name | value |\n|---|---|\n| one | 1 |\n| two | 2 |\n\n- an item\n- another one\n\n"
	words := strings.SplitAfter(text, " ")
	for i := range tokens {
		w := words[i%len(words)]
		if strings.HasPrefix(w, "fox") || strings.HasPrefix(w, "lazy") || strings.HasPrefix(w, "item") {
			w = fmt.Sprint(w, i, " ") // no two lines are the same, as in what people read
		}
		all = append(all, w)
	}
	return all
}

// streamTime is how long the stream of BenchmarkStream would take, at 100 pieces a second.
const streamTime = 600.0 // seconds

// BenchmarkStream draws what comes in 100 pieces a second for ten minutes, in compressed
// time: a frame for nine of them, and an edit with a growing diff after each 600. It reports
// the bytes written for each byte of text, the part of a core that the stream takes, and the
// memory that is held at its end. With a panel, there are sessions beside it.
func BenchmarkStream(b *testing.B) {
	for _, width := range []int{100, 140} {
		b.Run(fmt.Sprint("columns=", width), func(b *testing.B) {
			for b.Loop() {
				benchStream(b, width)
			}
		})
	}
}

func benchStream(b *testing.B, width int) {
	tokens := streamed(100 * streamTime)
	var out counter
	ctx, cancel := context.WithCancel(b.Context())
	p := newProgram(ctx, Options{Source: newFake(userSays("m1", "tell me")), Session: "s1", Theme: Themes()[0]})
	prog := tea.NewProgram(probed{p, nil}, tea.WithContext(ctx), tea.WithInput(nil), tea.WithOutput(&out), tea.WithWindowSize(width, 40),
		tea.WithEnvironment([]string{"TERM=xterm-256color", "TTY_FORCE=1"}), tea.WithoutSignals(), tea.WithFPS(120))
	ended := make(chan struct{})
	go func() { prog.Run(); close(ended) }()
	began, text, seq := cpuSeconds(), 0, int64(1)
	store := func(bodies ...openmanus.Body) (evs feed) {
		for _, ev := range stored(seq, bodies...) {
			evs, seq = append(evs, ev), ev.Seq
		}
		return evs
	}
	said, turn := "", 0
	var evs feed
	for n, tok := range tokens {
		said += tok
		text += len(tok)
		evs = append(evs, openmanus.Event{Body: openmanus.Typing{Turn: turn, Parts: llm.Parts{llm.Text{Text: tok}}}})
		if n%600 == 599 {
			id := fmt.Sprint("e", n)
			diff := fmt.Sprintf("--- a/x.go\n+++ b/x.go\n@@ -1 +1,%d @@\n-old\n%s", n/600+1, strings.Repeat("+a new line of the file\n", n/600+1))
			detail, _ := json.Marshal(map[string]string{"diff": diff})
			evs = append(evs, store(modelSays(turn, llm.Text{Text: said}, llm.Call{ID: id, Name: "str_replace_editor", Input: `{"command":"create","path":"x.go"}`}),
				openmanus.CallStarted{Call: id, Attempt: 1},
				openmanus.CallDone{Call: id, Detail: detail, Files: []openmanus.FileChange{{Path: "x.go", Change: openmanus.FileModified}}})...)
			text += min(len(diff), 14*30)
			said, turn = "", turn+1
		}
		if n%9 == 8 {
			prog.Send(evs)
			evs = nil
			time.Sleep(time.Second / 120)
		}
	}
	used := cpuSeconds() - began
	var mem runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&mem)
	prog.Quit()
	<-ended
	p.close(cancel)
	if out.torn > 0 || out.redrawn > 2 {
		b.Errorf("%d of %d frames were not one update, and the screen was drawn anew %d times", out.torn, out.frames, out.redrawn)
	}
	b.ReportMetric(float64(out.bytes)/float64(text), "bytes/byte")
	b.ReportMetric(float64(out.frames), "frames")
	b.ReportMetric(100*used/streamTime, "%core")
	b.ReportMetric(float64(mem.HeapAlloc)/(1<<20), "MiB")
}

// cpuSeconds returns the time of a core that the process has taken. Elsewhere than on
// Linux it is an estimate, which is too high beside other programs.
func cpuSeconds() float64 {
	if data, err := os.ReadFile("/proc/self/stat"); err == nil {
		if fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:])); len(fields) > 12 {
			user, _ := strconv.ParseFloat(fields[11], 64)
			system, _ := strconv.ParseFloat(fields[12], 64)
			return (user + system) / 100
		}
	}
	s := []metrics.Sample{{Name: "/cpu/classes/user:cpu-seconds"}, {Name: "/cpu/classes/gc/total:cpu-seconds"}}
	runtime.GC() // the figures are as of the last collection
	metrics.Read(s)
	return s[0].Value.Float64() + s[1].Value.Float64()
}

// BenchmarkFirstScreen shows a session of 100,000 events, and pages through it.
func BenchmarkFirstScreen(b *testing.B) {
	src := newFake(turns(25_000)...)
	for b.Loop() {
		ctx, cancel := context.WithCancel(b.Context())
		p := newProgram(ctx, Options{Source: src, Session: "s1", Theme: Themes()[0]})
		p.Update(p.show("s1")())
		if !strings.Contains(strings.Join(p.frame, ""), "answer 24999") {
			b.Fatal(fmt.Sprint(p.frame))
		}
		p.close(cancel)
	}
}
