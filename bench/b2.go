package main

import (
	"context"
	"fmt"

	"github.com/openmanus-go/openmanus/bench/server"
	"github.com/openmanus-go/openmanus/bench/stats"
)

// The script of B2, and the spans whose medians it compares.
const (
	b2Steps = 1000
	b2Size  = 1024
	b2Span  = 100
	b2Ratio = 1.3 // target: late over early, …
	b2Share = 100 // … or this many us in all
)

// A growth is one client's own share in early and late steps, in us: its gap
// without that of a bare client that posts the same bytes.
type growth struct {
	early, late         []float64 // of every pair
	gapEarly, gapLate   []float64
	bareEarly, bareLate []float64
	same                bool // every run posted the same bytes
}

// b2 measures how a step's cost grows with the conversation.
func (b *bench) b2(ctx context.Context) error {
	t := &table{head: []string{"client", "pairs", "gap 1-100 us", "gap 901-1000 us", "bare 1-100", "bare 901-1000",
		"own share 1-100 us", "own share 901-1000 us", "late - early us", "late / early", "met"}}
	same := true
	for _, c := range []struct {
		client
		pairs int
	}{{ours, b.pairs}, {durable, b.pairs}, {eino, 3}} {
		g, err := b.grow(ctx, c.client, c.pairs)
		if err != nil {
			return err
		}
		same = same && g.same
		t.row(b2Row(c.client, g)...)
	}
	t.print(b.out, fmt.Sprintf("B2: %d steps, results of %d bytes, streamed. Target: late / early <= %.1f, or own share <= %d us in all", b2Steps, b2Size, b2Ratio, b2Share))
	if !same {
		fmt.Fprintln(b.out, "\nNote: the runs of a client did not all post the same bytes; the bare client posted those of its first run.")
	}
	return nil
}

// grow runs c and the bare client in turn. The bare client posts the bytes of
// c's first run, which is not counted.
func (b *bench) grow(ctx context.Context, c client, pairs int) (growth, error) {
	first, replay, err := b.record(ctx, c, b2Steps, b2Size, true)
	if err != nil {
		return growth{}, err
	}
	one := func(c client) func() (sample, error) {
		return func() (sample, error) { return b.measure(ctx, c, b2Steps, b2Size, true) }
	}
	mine, floor, err := alternate(pairs, b.calm(ctx), one(c), one(bare(replay, false)))
	if err != nil {
		return growth{}, err
	}
	g := growth{
		gapEarly: each(mine, early), gapLate: each(mine, late),
		bareEarly: each(floor, early), bareLate: each(floor, late), same: true,
	}
	g.early, g.late = stats.Differences(g.gapEarly, g.bareEarly), stats.Differences(g.gapLate, g.bareLate)
	for i := range mine {
		g.same = g.same && server.SameBodies(first.run, mine[i].run) && server.SameBodies(first.run, floor[i].run)
	}
	return g, nil
}

func early(s sample) float64 { return stats.Median(s.gaps[:b2Span]) }
func late(s sample) float64  { return stats.Median(s.gaps[len(s.gaps)-b2Span:]) }

func b2Row(c client, g growth) []any {
	ratio := stats.Estimated(stats.Ratios(g.late, g.early))
	share := stats.Estimated(g.late)
	met := ratio.AtMost(b2Ratio)
	if by := share.AtMost(b2Share); met != "yes" && by == "yes" {
		met = "yes, by the share"
	}
	us := func(xs []float64) string { return fmt.Sprintf("%.0f", stats.Median(xs)) }
	return []any{c.name, len(g.late), us(g.gapEarly), us(g.gapLate), us(g.bareEarly), us(g.bareLate),
		interval(stats.Estimated(g.early), "%.0f"), interval(share, "%.0f"),
		interval(stats.Estimated(stats.Differences(g.late, g.early)), "%.0f"), interval(ratio, "%.2f"), met}
}
