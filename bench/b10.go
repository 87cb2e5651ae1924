package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/bench/stats"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/tools"
	"github.com/openmanus-go/openmanus/workspace"
)

// b10Runs is how many pairs of runs there are for each pair that was asked for:
// a command takes milliseconds.
const b10Runs = 10

// b10 measures what a sandbox adds to a command: each command in ours, with the
// whole policy on, beside the same one in a bubblewrap that keeps nothing but
// namespaces, and in the sandboxes of peers that are in PATH.
func (b *bench) b10(ctx context.Context) error {
	t := &table{head: []string{"what", "runs", "ms (median, 95 %)", "p90", "beside", "its ms", "ratio (95 %)", "target", "met"}}
	trues, pass := []string{"true"}, []string{"/usr/bin/python3", "-c", "pass"}
	for _, kind := range []sandbox.Kind{sandbox.Bubblewrap, sandbox.Landlock} {
		if err := b.b10Kind(ctx, t, kind, trues, pass); err != nil {
			return err
		}
	}
	if err := b.b10Peers(ctx, t, trues); err != nil {
		return err
	}
	if err := b.b10Cell(ctx, t); err != nil {
		return err
	}
	t.print(b.out, "B10: a command in the sandbox")
	return nil
}

// caged opens a sandbox of that kind, and returns what runs a command in it.
func (b *bench) caged(ctx context.Context, kind sandbox.Kind) (run func(args []string) func() (float64, error), done func() error, err error) {
	dir, err := os.MkdirTemp(b.dir, "ws-")
	if err != nil {
		return nil, nil, err
	}
	ws, err := sandbox.Open(ctx, sandbox.Options{Dir: dir, Kind: kind})
	if err != nil {
		return nil, nil, err
	}
	run = func(args []string) func() (float64, error) {
		return func() (float64, error) {
			start := time.Now()
			err := ws.Run(ctx, &workspace.Cmd{Args: args})
			return since(start, time.Now()), err
		}
	}
	return run, func() error { return errors.Join(ws.Close(), os.RemoveAll(dir)) }, nil
}

// plainBwrap is a bubblewrap with every namespace and nothing else.
func plainBwrap(dir string, args []string) []string {
	return append([]string{"bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev",
		"--tmpfs", "/tmp", "--bind", dir, dir}, args...)
}

// timed runs a program.
func timed(ctx context.Context, args []string) func() (float64, error) {
	return func() (float64, error) {
		start := time.Now()
		out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%s: %w: %s", args[0], err, out)
		}
		return since(start, time.Now()), err
	}
}

func (b *bench) b10Kind(ctx context.Context, t *table, kind sandbox.Kind, commands ...[]string) (err error) {
	run, done, err := b.caged(ctx, kind)
	if errors.Is(err, sandbox.ErrNone) {
		t.row("`true`, "+string(kind), 0, "-", "-", "-", "-", "-", "-", "not measured: "+err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	for i, command := range commands {
		target := 0.0
		if i == 0 && kind == sandbox.Bubblewrap {
			target = 1.3
		}
		mine, theirs, err := alternate(b10Runs*b.pairs, b.calm(ctx), run(command), timed(ctx, plainBwrap(b.dir, command)))
		if err != nil {
			return err
		}
		b10Row(t, fmt.Sprintf("`%s`, %s", command[len(command)-1], kind), mine, "plain bwrap", theirs, target)
	}
	return nil
}

// b10Row adds a row; a target of 0 is none.
func b10Row(t *table, what string, mine []float64, beside string, theirs []float64, target float64) {
	ratio := stats.Estimated(stats.Ratios(mine, theirs))
	want, met := "-", "-"
	if target > 0 {
		want, met = fmt.Sprintf("<= %.1f x", target), ratio.AtMost(target)
	}
	t.row(what, len(mine), interval(stats.Estimated(mine), "%.1f"), fmt.Sprintf("%.1f", stats.Quantile(mine, 0.9)),
		beside, fmt.Sprintf("%.1f", stats.Median(theirs)), interval(ratio, "%.2f"), want, met)
}

// b10Peers measures the sandboxes of Codex and Claude Code, if they are in PATH.
func (b *bench) b10Peers(ctx context.Context, t *table, command []string) (err error) {
	run, done, err := b.caged(ctx, sandbox.Auto)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	for _, peer := range [][]string{{"codex", "sandbox", "--"}, {"srt"}} {
		if _, err := exec.LookPath(peer[0]); err != nil {
			t.row("`true`, beside "+peer[0], 0, "-", "-", peer[0], "-", "-", "<= 0.5 x", "not measured: it is not in PATH")
			continue
		}
		mine, theirs, err := alternate(max(7, b.pairs), b.calm(ctx), run(command), timed(ctx, append(peer, command...)))
		if err != nil {
			return err
		}
		b10Row(t, "`true`, auto", mine, peer[0], theirs, 0.5)
	}
	return nil
}

// b10Cell measures a piece of Python in an interpreter that is there already.
func (b *bench) b10Cell(ctx context.Context, t *table) (err error) {
	dir, err := os.MkdirTemp(b.dir, "ws-")
	if err != nil {
		return err
	}
	ws, err := sandbox.Open(ctx, sandbox.Options{Dir: dir})
	if err != nil {
		return err
	}
	python := tools.NewPython(ws)
	defer func() { err = errors.Join(err, python.Close(), ws.Close(), os.RemoveAll(dir)) }()
	input, err := json.Marshal(map[string]any{"code": "print(1)", "keep_state": true})
	if err != nil {
		return err
	}
	call := openmanus.Call{Call: llm.Call{Name: "python_execute", Input: string(input)}, Session: "bench", Live: io.Discard}
	var times []float64
	for i := range 1 + 10*b10Runs {
		start := time.Now()
		if _, err := python.Run(ctx, call); err != nil {
			return err
		}
		if i > 0 { // the first one starts the interpreter
			times = append(times, since(start, time.Now()))
		}
	}
	e := stats.Estimated(times)
	t.row("a warm cell of Python, "+ws.Sandbox(), len(times), interval(e, "%.2f"), fmt.Sprintf("%.2f", stats.Quantile(times, 0.9)), "-", "-", "-", "<= 2 ms", e.AtMost(2))
	return nil
}
