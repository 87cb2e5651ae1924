package linemode

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Hold keeps what is printed until Release, so that a question stays the last
// thing on the screen.
func (p *Printer) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil {
		p.noStatus()
		p.freshLine()
		p.kept = new(bytes.Buffer)
	}
}

// Release prints what Hold kept. Without a Hold it does nothing.
func (p *Printer) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept != nil {
		io.Copy(p.w, p.kept)
		p.kept = nil
	}
}

// Flush ends the current line, and returns the last text of a reply that was
// shown completely.
func (p *Printer) Flush() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freshLine()
	return p.shown
}

// HasShown reports whether the last problem that was shown is a failure with this text.
func (p *Printer) HasShown(failure string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.o.Quiet && failure != "" && strings.HasSuffix(p.failed, failure)
}

// SoFar returns the streamed part of a reply that is not complete.
func (p *Printer) SoFar() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.typed.String()
}

// line prints a line, unless p is quiet.
func (p *Printer) line(text string) {
	if p.o.Quiet {
		return
	}
	p.freshLine()
	fmt.Fprintln(p.out(), text)
	p.under = ""
}

// freshLine ends the current line, if there is one.
func (p *Printer) freshLine() {
	if p.column {
		fmt.Fprintln(p.out())
		p.column = false
	}
}

func (p *Printer) write(text string) {
	if text == "" {
		return
	}
	io.WriteString(p.out(), text)
	p.column = !strings.HasSuffix(text, "\n")
	p.under = ""
}

// out returns the writer in use, without the status line: the buffer while Hold is in
// effect.
func (p *Printer) out() io.Writer {
	if p.kept != nil {
		return p.kept
	}
	p.erase()
	return p.w
}
