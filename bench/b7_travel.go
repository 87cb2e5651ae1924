package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus/bench/server"
)

// A traveller runs the product through the journey.
type traveller struct {
	*bench
	home string

	mu      sync.Mutex
	process *os.Process // the one that asks now
	n       int         // requests so far
	err     error       // of what the hook did
}

// pack makes what the journey needs: an image, an MCP server, and a model
// with a window.
func (j *traveller) pack() error {
	img := image.NewGray(image.Rect(0, 0, 64, 64))
	for i := range 64 {
		img.Set(i, i*i%64, color.White)
	}
	var pic bytes.Buffer
	if err := png.Encode(&pic, img); err != nil {
		return err
	}
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"school": map[string]any{
		"command": j.program("mcp"), "args": []string{filepath.Join(j.home, "learned")}, "trust": true}}})
	if err != nil {
		return err
	}
	models := fmt.Sprintf("[models.\"compat/journey-%d\"]\nwindow = %d\n", b7Steps, b7Window)
	for name, data := range map[string][]byte{
		filepath.Join("work", journeyImage):                 pic.Bytes(),
		filepath.Join("config", "openmanus", "mcp.json"):    servers,
		filepath.Join("config", "openmanus", "config.toml"): []byte(models),
	} {
		name = filepath.Join(j.home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, data, 0o600)); err != nil {
			return err
		}
	}
	return nil
}

// travel runs the journey in three processes, two of which are killed.
func (j *traveller) travel(ctx context.Context) (*server.Run, error) {
	j.srv.Begin(j.hook)
	first := []string{"run", "--model", fmt.Sprintf("compat/journey-%d", b7Steps), "--approve", "all", "--max-steps", "1000", "--quiet", "--attach", journeyImage, "Travel."}
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

// fork copies the session up to an event near its end, and lets the copy go
// on with other words. It returns the cuts in the session's journal too.
func (j *traveller) fork(ctx context.Context) (cuts declared, run *server.Run, seq int64, err error) {
	journal, err := j.say("sessions", "export", "last")
	if err != nil {
		return cuts, nil, 0, err
	}
	var replies []int64
	for line := range bytes.Lines(journal) {
		var e struct {
			Seq  int64
			Type string
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return cuts, nil, 0, fmt.Errorf("an exported session: %w", err)
		}
		switch e.Type {
		case "model_said":
			replies = append(replies, e.Seq)
		case "compacted":
			cuts.compactions++
		case "elided":
			cuts.elisions++
		}
	}
	if len(replies) < b7Fork {
		return cuts, nil, 0, fmt.Errorf("the session has %d replies", len(replies))
	}
	seq = replies[len(replies)-b7Fork] - 1
	if _, err := j.say("sessions", "fork", fmt.Sprintf("last@%d", seq), "--to", "fork", "--share"); err != nil {
		return cuts, nil, 0, err
	}
	j.srv.Begin(nil)
	err = j.leg(ctx, []string{"sessions", "resume", "fork", "--quiet", b7Other}, false)
	return cuts, j.srv.End(), seq, err
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
func (j *traveller) hook(r server.Record) {
	if r.Summary {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch j.n++; j.n {
	case b7Say:
		_, err := j.say("sessions", "say", "last", b7Words)
		j.err = errors.Join(j.err, err)
	case b7Kill:
		j.err = errors.Join(j.err, j.process.Kill())
	}
}

// say runs a command beside the session, and returns what it prints.
func (j *traveller) say(args ...string) ([]byte, error) {
	cmd, err := j.command(j.home, args...)
	if err != nil {
		return nil, err
	}
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, tail(failed.String()))
	}
	return out.Bytes(), nil
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
