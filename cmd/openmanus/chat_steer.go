package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/tui"
)

// steered drives a session while the user may type. A message that came when the agent
// had just ended is answered, too.
func (c *chat) steered(ctx context.Context, d *drive) (*openmanus.State, error) {
	for {
		stop := c.steer(ctx, d)
		s, err := d.once(ctx)
		stop()
		if err != nil || c.line == nil {
			return s, err
		}
		now, err := openmanus.Load(ctx, c.db, c.id)
		if err != nil || now.Seq == s.Seq || now.Status() != openmanus.Running {
			return s, err
		}
		d.from = s.Seq
	}
}

// steer gives the agent the lines that the user enters while it works, until stop is
// called. Ctrl-C interrupts, and the end of input ends the program, as signals do. stop
// returns when no line is being read any more.
func (c *chat) steer(ctx context.Context, d *drive) (stop func()) {
	if c.line == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			text, err := c.line.Read(ctx, tui.Reading{Steering: true})
			switch {
			case errors.Is(err, tui.ErrInterrupt):
				d.signal(os.Interrupt)
			case errors.Is(err, io.EOF):
				d.signal(syscall.SIGTERM)
				return
			case err != nil:
				return
			default:
				if err := c.tell(context.WithoutCancel(ctx), strings.TrimSpace(text)); err != nil {
					d.print.Remark("%v (Up brings back what you entered)", err)
				}
			}
		}
	})
	return func() {
		cancel()
		reading.Wait()
	}
}

// whileWorking are the commands that need not wait until the agent has answered.
var whileWorking = []string{"/help", "/mode", "/cost"}

// tell carries out a command that may run while the agent works, keeps another one for
// later, or adds a message to the session, which the agent reads at its next step.
func (c *chat) tell(ctx context.Context, text string) error {
	word, rest, _ := strings.Cut(text, " ")
	switch {
	case text == "":
		return nil
	case slices.Contains(whileWorking, word):
		return c.command(ctx, word, strings.TrimSpace(rest))
	case strings.HasPrefix(word, "/") && !strings.Contains(word[1:], "/"):
		c.later = append(c.later, text)
		fmt.Fprintln(c.t.err, c.style().Dim("· "+clip.Plain(word)+" waits until the agent has answered"))
		return nil
	}
	m, err := c.t.message(text, nil)
	if err != nil {
		return err
	}
	_, err = c.db.Append(ctx, c.id, m)
	return err
}
