package linemode

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/gist"
)

// A status says what a session does now. It is drawn as the last line of the
// terminal while nothing else is printed there, and taken away before something is.
type status struct {
	since time.Time // since when nothing happened but what runs
	frame int       // of the spinner
	read  int       // per cent of the prompt that the model has read; 0: unknown, or it writes
	drawn bool      // the line is on the terminal
}

const (
	statusEvery = 100 * time.Millisecond
	statusAfter = 300 * time.Millisecond // what ends sooner has no status line
)

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// Working shows what runs and for how long, in a line that it draws again and again,
// until stop is called. It does nothing if p has no Width or is quiet. One caller at a
// time may be working.
func (p *Printer) Working() (stop func()) {
	if p.o.Width == nil || p.o.Quiet {
		return func() {}
	}
	p.mu.Lock()
	p.status.since = time.Now()
	p.mu.Unlock()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		every := time.NewTicker(statusEvery)
		defer every.Stop()
		for {
			select {
			case <-done:
				return
			case <-every.C:
				p.draw()
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(done)
		<-ended
		p.mu.Lock()
		defer p.mu.Unlock()
		p.noStatus()
	})
}

// draw draws the status line, if nothing else is at the end of the terminal.
func (p *Printer) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := p.now(time.Now())
	if p.kept != nil || p.column || text == "" {
		p.noStatus()
		return
	}
	p.status.frame++
	width := p.o.Width()
	if width <= 0 {
		width = 80
	}
	mark := string(spinner[p.status.frame%len(spinner)])
	line := p.o.Style.Mark(mark) + " " + p.o.Style.Dim(clip.Fit(text, width-3)) // the last column stays free: a full line wraps
	if p.o.Status != nil {
		p.o.Status(line)
		return
	}
	io.WriteString(p.w, "\r"+line+"\x1b[K")
	p.status.drawn = true
}

// noStatus takes the status line away, wherever it is.
func (p *Printer) noStatus() {
	p.erase()
	if p.o.Status != nil {
		p.o.Status("")
	}
}

// erase takes the status line away, if p has drawn it.
func (p *Printer) erase() {
	if p.status.drawn {
		io.WriteString(p.w, "\r\x1b[K")
		p.status.drawn = false
	}
}

// now says what runs, or "" if it is not worth a line.
func (p *Printer) now(at time.Time) string {
	if said := clip.OneLine(clip.Clean(p.typed.String()[p.printed:])); said != "" {
		return end(said, 60) // it is printed when a paragraph is whole
	}
	var running []*call
	for _, c := range p.calls {
		if c.running() && !c.asked {
			running = append(running, c)
		}
	}
	model, below := p.session.State.Config.Model, len(p.session.State.OpenChildren())
	since, what, tail := p.status.since, "", " · Ctrl-C interrupts"
	switch {
	case len(running) == 1:
		c := running[0]
		verb, target := Phrase(c.Call.Call, gist.Running, c.Call.Says...)
		since, what = c.Begun, strings.TrimSpace(verb+" "+clip.Text(target, 40))
		if last := strings.TrimSpace(clip.Clean(c.last)); last != "" {
			tail = " │ " + last
		}
	case len(running) > 1:
		what = clip.Count(len(running), "call")
		for _, c := range running {
			if c.Begun.Before(since) {
				since = c.Begun
			}
		}
	case below > 0:
		what = clip.Count(below, "agent")
	case model == "" || !p.session.Working():
		return ""
	default:
		what = clip.Plain(model)
		if p.status.read > 0 {
			what = fmt.Sprintf("%s is reading the prompt, %d %%", what, p.status.read)
		}
	}
	elapsed := at.Sub(since)
	if elapsed < statusAfter {
		return ""
	}
	return fmt.Sprintf("%s · %s%s", what, seconds(elapsed), tail)
}

// end returns the last n letters of a text.
func end(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return "…" + string(r[len(r)-n:])
	}
	return text
}

// seconds formats a duration for people: "34 s", "2 min 5 s".
func seconds(d time.Duration) string {
	s := int(d.Seconds())
	if s < 60 {
		return fmt.Sprintf("%d s", s)
	}
	return fmt.Sprintf("%d min %d s", s/60, s%60)
}
