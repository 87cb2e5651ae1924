package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus/bench/server"
	"github.com/openmanus-go/openmanus/bench/stats"
)

// The script of B3.
const (
	b3Agents = 1000
	b3Steps  = 10
	b3Size   = 1024
)

// A crowd is one run of many agents in one process.
type crowd struct {
	wall  float64   // ms, from the start of the process to its end
	cpu   float64   // ms
	rss   float64   // MiB, the most so far when the last conversation ended
	steps []float64 // ms, from each request of a conversation to its next one
}

// b3 compares many agents at once.
func (b *bench) b3(ctx context.Context) error {
	levels := table{head: []string{"client", "runs", "wall ms", "CPU ms", "RSS MiB", "step p50 ms", "step p99 ms", "p99 / p50", "target", "met"}}
	ratios := table{head: []string{"ratio (median of pairs, 95 %)", "wall", "target", "met", "CPU", "RSS"}}
	var base []crowd
	for _, c := range []contest{{ours, eino, 1.0}, {durable, eino, 1.2}} {
		one := func(c client) func() (crowd, error) { return func() (crowd, error) { return b.crowd(ctx, c) } }
		as, bs, err := alternate(b.pairs, b.calm(ctx), one(c.a), one(c.b))
		if err != nil {
			return err
		}
		base = append(base, bs...)
		levels.row(crowdRow(c.a, as)...)
		of := func(f func(crowd) float64) stats.Estimate {
			return stats.Estimated(stats.Ratios(of(as, f), of(bs, f)))
		}
		wall := of(func(x crowd) float64 { return x.wall })
		ratios.row(c.a.name+" / "+c.b.name, interval(wall, "%.2f"), fmt.Sprintf("<= %.1f", c.target), wall.AtMost(c.target),
			interval(of(func(x crowd) float64 { return x.cpu }), "%.2f"), interval(of(func(x crowd) float64 { return x.rss }), "%.2f"))
	}
	levels.row(crowdRow(eino, base)...)
	levels.print(b.out, fmt.Sprintf("B3: %d agents at once in one process, %d steps each, results of %d bytes, streamed", b3Agents, b3Steps, b3Size))
	ratios.print(b.out, "B3: ratios")
	return nil
}

func crowdRow(c client, runs []crowd) []any {
	median := func(f func(crowd) float64) float64 { return stats.Median(of(runs, f)) }
	spread := stats.Estimated(of(runs, func(x crowd) float64 {
		return stats.Quantile(x.steps, 0.99) / stats.Median(x.steps)
	}))
	return []any{c.name, len(runs), fmt.Sprintf("%.0f", median(func(x crowd) float64 { return x.wall })),
		fmt.Sprintf("%.0f", median(func(x crowd) float64 { return x.cpu })), fmt.Sprintf("%.0f", median(func(x crowd) float64 { return x.rss })),
		fmt.Sprintf("%.0f", median(func(x crowd) float64 { return stats.Median(x.steps) })),
		fmt.Sprintf("%.0f", median(func(x crowd) float64 { return stats.Quantile(x.steps, 0.99) })),
		interval(spread, "%.1f"), "<= 5", spread.AtMost(5)}
}

func of[T any](runs []T, f func(T) float64) []float64 {
	out := make([]float64, len(runs))
	for i, r := range runs {
		out[i] = f(r)
	}
	return out
}

// crowd runs a client as many agents at once.
func (b *bench) crowd(ctx context.Context, c client) (x crowd, err error) {
	args := []string{"-url", b.srv.URL(), "-model", fmt.Sprintf("steps-%d-%d", b3Steps, b3Size), "-steps", strconv.Itoa(b3Steps), "-stream", "-agents", strconv.Itoa(b3Agents)}
	if c.durable {
		dir, err := os.MkdirTemp(b.dir, "db-")
		if err != nil {
			return x, err
		}
		defer os.RemoveAll(dir)
		args = append(args, "-db", dir)
	}
	cmd := exec.Command(b.program(c.program), args...)
	cmd.Env = childEnv()
	var mu sync.Mutex
	last, requests, ended := make(map[string]time.Time), 0, 0
	start := time.Now()
	_, err = b.child(ctx, cmd, func(pid int, r server.Record) {
		mu.Lock()
		defer mu.Unlock()
		if before, ok := last[r.Model]; ok {
			x.steps = append(x.steps, float64(r.In.Sub(before).Microseconds())/1000)
		}
		last[r.Model] = r.In
		if requests++; r.Last {
			ended++
		}
		if ended == b3Agents {
			x.rss, _ = peakRSS(pid)
		}
	})
	x.wall = float64(time.Since(start).Microseconds()) / 1000
	if err == nil && (requests != b3Agents*(b3Steps+1) || ended != b3Agents) {
		err = fmt.Errorf("%d requests arrived, not %d, and %d conversations ended, not %d", requests, b3Agents*(b3Steps+1), ended, b3Agents)
	}
	if err != nil {
		return x, fmt.Errorf("%s: %w", c.name, err)
	}
	x.cpu = float64(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()) / float64(time.Millisecond)
	return x, nil
}
