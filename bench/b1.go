package main

import (
	"context"
	"fmt"

	"github.com/openmanus-go/openmanus/bench/stats"
)

// The script of B1.
const (
	b1Steps = 100
	b1Size  = 1024
)

// A contest is one comparison of B1.
type contest struct {
	a, b   client
	target float64 // of the ratio of gaps; 0: none
}

// b1 compares what a step costs.
func (b *bench) b1(ctx context.Context) error {
	for _, stream := range []bool{true, false} {
		if err := b.b1Mode(ctx, stream); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) b1Mode(ctx context.Context, stream bool) error {
	_, replay, err := b.record(ctx, ours, b1Steps, b1Size, stream)
	if err != nil {
		return err
	}
	contests := []contest{{ours, eino, 1.0}, {durable, eino, 1.2}, {ours, lcgo, 0}, {durable, lcgo, 0}, {ours, bare(replay, false), 0}, {durable, bare(replay, true), 1.5}}
	levels := make(map[string][]sample)
	ratios := table{head: []string{"ratio (median of pairs, 95 %)", "step gap p50", "target", "met", "CPU", "RSS"}}
	for _, c := range contests {
		as, bs, err := b.pair(ctx, c.a, c.b, stream)
		if err != nil {
			return err
		}
		levels[c.a.name] = append(levels[c.a.name], as...)
		levels[c.b.name] = append(levels[c.b.name], bs...)
		ratios.row(ratioRow(c, as, bs)...)
	}
	for _, c := range []client{ours, eino} {
		as, bs, err := b.pair(ctx, c, c, stream)
		if err != nil {
			return err
		}
		ratios.row(againstItself(c, as, bs)...)
	}
	mode := map[bool]string{true: "streamed", false: "plain"}[stream]
	title := fmt.Sprintf("B1, %s: %d steps, results of %d bytes, %d pairs", mode, b1Steps, b1Size, b.pairs)
	b1Levels(levels, []string{bare("", false).name, bare("", true).name, ours.name, durable.name, eino.name, lcgo.name}).print(b.out, title)
	ratios.print(b.out, "B1, "+mode+": ratios")
	return nil
}

func (b *bench) pair(ctx context.Context, x, y client, stream bool) (xs, ys []sample, err error) {
	one := func(c client) func() (sample, error) {
		return func() (sample, error) { return b.measure(ctx, c, b1Steps, b1Size, stream) }
	}
	return alternate(b.pairs, b.calm(ctx), one(x), one(y))
}

func ratioRow(c contest, as, bs []sample) []any {
	of := func(f func(sample) float64) stats.Estimate {
		return stats.Estimated(stats.Ratios(each(as, f), each(bs, f)))
	}
	target, met := "-", "-"
	if c.target > 0 {
		target, met = fmt.Sprintf("<= %.1f", c.target), of(gap).AtMost(c.target)
	}
	return []any{c.a.name + " / " + c.b.name, interval(of(gap), "%.2f"), target, met, interval(of(cpu), "%.2f"), interval(of(rss), "%.2f")}
}

// againstItself is the row of an A/A run, whose ratio of gaps is to be within
// 5 % of 1.
func againstItself(c client, as, bs []sample) []any {
	row := ratioRow(contest{a: c, b: c}, as, bs)
	mid := stats.Median(stats.Ratios(each(as, gap), each(bs, gap)))
	row[2], row[3] = "0.95 to 1.05", "yes"
	if mid < 0.95 || mid > 1.05 {
		row[3] = "no: too noisy"
	}
	return row
}

func b1Levels(levels map[string][]sample, order []string) *table {
	t := &table{head: []string{"client", "runs", "step gap p50 us", "p90 us", "last 10 steps us", "CPU ms", "RSS MiB", "connections", "cached prefix"}}
	for _, name := range order {
		runs := levels[name]
		median := func(f func(sample) float64) float64 { return stats.Median(each(runs, f)) }
		p90 := func(s sample) float64 { return stats.Quantile(s.gaps, 0.9) }
		last := func(s sample) float64 { return stats.Median(s.gaps[len(s.gaps)-10:]) }
		conns := func(s sample) float64 { return float64(s.run.Conns()) }
		prefix := "-"
		if p, err := runs[0].run.Prefix(); err == nil {
			prefix = fmt.Sprintf("%.4f", p.Ratio())
		}
		t.row(name, len(runs), fmt.Sprintf("%.0f", median(gap)), fmt.Sprintf("%.0f", median(p90)), fmt.Sprintf("%.0f", median(last)),
			fmt.Sprintf("%.0f", median(cpu)), fmt.Sprintf("%.1f", median(rss)), median(conns), prefix)
	}
	return t
}
