package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/openmanus-go/openmanus/bench/server"
	"github.com/openmanus-go/openmanus/bench/stats"
)

// A launch is one start of a program, in ms and MiB.
type launch struct{ ms, rss float64 }

// b5 measures cold starts of the command-line program, each beside a program
// that does as little as a Go program can.
func (b *bench) b5(ctx context.Context) error {
	t := &table{head: []string{"what", "runs", "openmanus (median, 95 %)", "p90", "target", "met", "least Go program"}}
	if err := b.b5Version(ctx, t); err != nil {
		return err
	}
	_, replay, err := b.record(ctx, ours, 0, 0, true)
	if err != nil {
		return err
	}
	for _, fresh := range []bool{false, true} {
		if err := b.b5Request(ctx, t, replay, fresh); err != nil {
			return err
		}
	}
	info, err := os.Stat(b.cli)
	if err != nil {
		return err
	}
	size := float64(info.Size()) / 1e6
	t.row("binary, MB", 1, fmt.Sprintf("%.1f", size), "-", "<= 60", stats.Estimate{Mid: size, Lo: size, Hi: size}.AtMost(60), "-")
	t.print(b.out, "B5: cold start")
	return nil
}

func (b *bench) b5Version(ctx context.Context, t *table) error {
	one := func(program string, args ...string) func() (launch, error) {
		return func() (launch, error) {
			cmd := exec.Command(program, args...)
			cmd.Env = childEnv()
			start := time.Now()
			if err := cmd.Start(); err != nil {
				return launch{}, err
			}
			err := wait(ctx, cmd)
			return launch{ms: since(start, time.Now())}, err
		}
	}
	mine, floor, err := alternate(4*b.pairs, b.calm(ctx), one(b.cli, "version"), one(b.program("bare")))
	if err != nil {
		return err
	}
	t.row(launchRow("`openmanus version`, ms", mine, floor, func(l launch) float64 { return l.ms }, 10)...)
	return nil
}

// b5Request measures the time from the start of the process to the arrival of
// the last byte of its first request, and its memory at that time; with a data
// directory that is there or, if fresh, on a machine that never saw it.
func (b *bench) b5Request(ctx context.Context, t *table, replay string, fresh bool) error {
	home, err := os.MkdirTemp(b.dir, "home-")
	if err != nil {
		return err
	}
	mine := func() (launch, error) {
		if fresh {
			if err := errors.Join(os.RemoveAll(home), os.Mkdir(home, 0o700)); err != nil {
				return launch{}, err
			}
		}
		cmd, err := b.command(home, "run", "--model", "compat/steps-0-0", "--quiet", "hi")
		if err != nil {
			return launch{}, err
		}
		return b.firstRequest(ctx, cmd)
	}
	if _, err := mine(); err != nil { // makes the data directory
		return err
	}
	floor := func() (launch, error) {
		cmd := exec.Command(b.program("bare"), "-url", b.srv.URL(), "-replay", replay)
		cmd.Env = childEnv()
		return b.firstRequest(ctx, cmd)
	}
	ms, floors, err := alternate(2*b.pairs, b.calm(ctx), mine, floor)
	if err != nil {
		return err
	}
	when := map[bool]string{false: "", true: ", first time ever"}[fresh]
	t.row(launchRow("start to first request"+when+", ms", ms, floors, func(l launch) float64 { return l.ms }, 40)...)
	t.row(launchRow("resident then"+when+", MiB", ms, floors, func(l launch) float64 { return l.rss }, 40e6/(1<<20))...)
	return nil
}

func (b *bench) firstRequest(ctx context.Context, cmd *exec.Cmd) (l launch, err error) {
	var rssErr error
	start := time.Now()
	run, err := b.child(ctx, cmd, func(pid int, r server.Record) {
		l.rss, rssErr = currentRSS(pid)
	})
	if err = errors.Join(err, rssErr); err != nil {
		return l, err
	}
	if err := run.Check(1); err != nil {
		return l, err
	}
	l.ms = since(start, run.Records[0].In)
	return l, nil
}

// command is a command of the product in a home of its own, that asks the model
// server and sends nothing anywhere else.
func (b *bench) command(home string, args ...string) (*exec.Cmd, error) {
	work := filepath.Join(home, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return nil, err
	}
	cmd := exec.Command(b.cli, args...)
	cmd.Dir = work
	cmd.Env = append(childEnv(), "HOME="+home, "XDG_DATA_HOME="+filepath.Join(home, "data"), "XDG_CONFIG_HOME="+filepath.Join(home, "config"),
		"XDG_STATE_HOME="+filepath.Join(home, "state"), "XDG_CACHE_HOME="+filepath.Join(home, "cache"),
		"OPENAI_API_KEY=sk-bench", "OPENAI_BASE_URL="+b.srv.URL())
	return cmd, nil
}

func since(start, end time.Time) float64 { return float64(end.Sub(start)) / float64(time.Millisecond) }

func launchRow(what string, mine, floor []launch, f func(launch) float64, target float64) []any {
	xs, fs := make([]float64, len(mine)), make([]float64, len(floor))
	for i := range mine {
		xs[i], fs[i] = f(mine[i]), f(floor[i])
	}
	e := stats.Estimated(xs)
	return []any{what, len(xs), interval(e, "%.1f"), fmt.Sprintf("%.1f", stats.Quantile(xs, 0.9)),
		fmt.Sprintf("<= %.0f", target), e.AtMost(target), fmt.Sprintf("%.1f", stats.Median(fs))}
}
