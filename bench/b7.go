package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus/bench/server"
)

// The script of B7, and at which requests what happens to it.
const (
	b7Steps = 200
	b7Say   = 60 // a person speaks while the model is asked for the 60th time
	b7Kill  = 90 // the process is killed while the model is asked for the 90th time
	b7Words = "Take the scenic route from here on."
)

// b7 measures how much of each request is at the beginning of the next one,
// with the command-line program and its own tools.
func (b *bench) b7(ctx context.Context) error {
	home, err := os.MkdirTemp(b.dir, "journey-")
	if err != nil {
		return err
	}
	j := &traveller{bench: b, home: home}
	run, err := j.travel(ctx)
	if err != nil {
		return err
	}
	script, err := journey(fmt.Sprintf("journey-%d", b7Steps))
	if err != nil {
		return err
	}
	if want := requests(script) + 1; len(run.Records) != want { // the killed one is asked again
		return fmt.Errorf("%d requests arrived at the model server, not %d", len(run.Records), want)
	}
	p, err := run.Prefix()
	if err != nil {
		return err
	}
	same, heard := byteEqual(run, b7Kill), said(run, b7Words)
	t := &table{head: []string{"what", "value", "target", "met"}}
	t.row("cached prefix: bytes of tools, system and messages kept", fmt.Sprintf("%.6f (%d of %d)", p.Ratio(), p.Kept, p.Of), "1.000", yes(p.Kept == p.Of))
	t.row("requests whose prompt was not wholly kept", fmt.Sprint(len(p.Breaks), " ", p.Breaks), "0", yes(len(p.Breaks) == 0))
	t.row("messages of the moment, left out", p.Moments, "-", "-")
	t.row("the request after kill -9 and resume is byte-equal", yes(same), "yes", yes(same))
	t.row("the words said meanwhile are in the conversation", yes(heard), "yes", yes(heard))
	t.print(b.out, fmt.Sprintf("B7: %d requests with %d failing calls, a plan and its update, a message while the model speaks, kill -9 while the model speaks, kill -9 while a call runs",
		len(run.Records), journeyErrors(b7Steps)))
	return nil
}

func yes(ok bool) string {
	if ok {
		return "yes"
	}
	return "no"
}

// byteEqual reports whether request n (from 1) and the one after it have the
// same body.
func byteEqual(run *server.Run, n int) bool {
	var before []byte
	i := 0
	for body := range run.Bodies() {
		switch i++; i {
		case n:
			before = bytes.Clone(body)
		case n + 1:
			return bytes.Equal(before, body)
		}
	}
	return false
}

// said reports whether the last request has these words of a person.
func said(run *server.Run, words string) bool {
	var last []byte
	for body := range run.Bodies() {
		last = body
	}
	p, err := server.ParsePrompt(last)
	return err == nil && slices.ContainsFunc(p.Values, func(v server.Value) bool {
		return v.Role == "user" && bytes.Contains(v.Raw, []byte(words))
	})
}

// A traveller runs the product through the journey.
type traveller struct {
	*bench
	home string

	mu      sync.Mutex
	process *os.Process // the one that asks now
	n       int         // requests so far
	err     error       // of what the hook did
}

// travel runs the journey in three processes, two of which are killed.
func (j *traveller) travel(ctx context.Context) (*server.Run, error) {
	j.srv.Begin(j.hook)
	first := []string{"run", "--model", fmt.Sprintf("compat/journey-%d", b7Steps), "--approve", "all", "--max-steps", "1000", "--quiet", "Travel."}
	if err := j.leg(ctx, first, true); err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { j.killWhenMarked(watching) })
	resume := []string{"sessions", "resume", "last", "--quiet"}
	err := j.leg(ctx, resume, true)
	stop()
	watch.Wait()
	if err == nil {
		err = j.leg(ctx, resume, false)
	}
	run := j.srv.End()
	return run, errors.Join(err, j.err)
}

// leg runs one process to its end, which is violent if killed.
func (j *traveller) leg(ctx context.Context, args []string, killed bool) error {
	cmd, err := j.command(j.home, args...)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	j.mu.Lock()
	err = cmd.Start()
	j.process = cmd.Process
	j.mu.Unlock()
	if err != nil {
		return err
	}
	err = wait(ctx, cmd)
	dead := cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == -1 && ctx.Err() == nil
	if killed && !dead {
		return fmt.Errorf("%s ended before it was killed: %v\n%s", cmd, err, tail(out.String()))
	}
	if !killed && err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, tail(out.String()))
	}
	return nil
}

// hook does to the session what B7 asks for, while a request waits.
func (j *traveller) hook(server.Record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch j.n++; j.n {
	case b7Say:
		j.err = errors.Join(j.err, j.say())
	case b7Kill:
		j.err = errors.Join(j.err, j.process.Kill())
	}
}

func (j *traveller) say() error {
	cmd, err := j.command(j.home, "sessions", "say", "last", b7Words)
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, tail(string(out)))
	}
	return nil
}

// killWhenMarked kills the process while the slow call runs.
func (j *traveller) killWhenMarked(ctx context.Context) {
	mark := filepath.Join(j.home, "work", journeyMark)
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		if _, err := os.Stat(mark); err == nil {
			j.mu.Lock()
			j.err = errors.Join(j.err, j.process.Kill())
			j.mu.Unlock()
			tick.Stop()
			return
		}
	}
}
