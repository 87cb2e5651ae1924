package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// A pipe is as whoever started the program left it.
func TestStandardInput(t *testing.T) {
	for _, c := range []struct {
		what   string
		writes string
		closes bool
		need   bool // it is the task
		limit  time.Duration
		want   string
		says   string
		fails  error
	}{
		{what: "a pipe that nobody writes to", says: "nothing came on standard input within 1ms, so nothing of it was read"},
		{what: "a pipe with an end", writes: "a log\n", closes: true, want: "a log\n"},
		{what: "a pipe that is empty", closes: true},
		{what: "a pipe without an end", writes: "a log\n", want: "a log\n\n[standard input had no end: what may have come after a silence of 1ms is not here]\n", says: "has the 6 bytes that came"},
		{what: "a task", writes: "do it", closes: true, need: true, want: "do it"},
		{what: "a task that does not come", need: true, limit: time.Millisecond, fails: errNoTimeLeft},
		{what: "nothing beside a task, and no time", limit: time.Nanosecond},
		{what: "more than fits in a pipe", writes: strings.Repeat("line\n", 100_000), closes: true, want: strings.Repeat("line\n", 100_000)},
	} {
		t.Run(c.what, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			defer w.Close()
			written := make(chan struct{})
			go func() {
				defer close(written)
				w.WriteString(c.writes)
				if c.closes {
					w.Close()
				}
			}()
			if len(c.writes) < 4096 {
				<-written
			}
			ctx := context.Background()
			if c.limit > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeoutCause(ctx, c.limit, errNoTimeLeft)
				defer cancel()
			}
			first, next := time.Millisecond, time.Millisecond
			if c.closes {
				first, next = time.Hour, time.Hour
			}
			if c.writes != "" && !c.closes {
				first = time.Hour
			}
			var said bytes.Buffer
			term := &terminal{in: r, err: &said}
			data, err := term.input(ctx, c.need, first, next)
			if string(data) != c.want || !errors.Is(err, c.fails) || (c.fails == nil && err != nil) {
				t.Errorf("%.200q, %v", data, err)
			}
			if !strings.Contains(said.String(), c.says) {
				t.Errorf("%q", said.String())
			}
			w.Close() // the reader ends
			<-written
		})
	}
}

// An interrupt ends the waiting, whatever is waited for.
func TestStandardInputIsInterrupted(t *testing.T) {
	for _, need := range []bool{false, true} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := (&terminal{in: r, err: &bytes.Buffer{}}).input(ctx, need, time.Hour, time.Hour); !errors.Is(err, context.Canceled) {
			t.Error(need, err)
		}
		w.Close()
		r.Close()
	}
}
