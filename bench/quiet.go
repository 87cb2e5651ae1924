package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// A patience waits for the moments at which nobody else uses the machine.
type patience struct {
	left   time.Duration // how much longer to wait, in all
	waited time.Duration
	given  bool // up: measured all the same
}

// The machine counts as quiet when its processors were idle, and waited for no
// disk, for all but quietShare of a glance.
const (
	quietGlance = 300 * time.Millisecond
	quietShare  = 0.1
)

// wait returns when the machine is quiet or patience is at its end.
func (p *patience) wait(ctx context.Context) error {
	for p.left > 0 {
		busy, err := busyShare(ctx, quietGlance)
		if err != nil || busy <= quietShare {
			return err
		}
		p.left, p.waited = p.left-quietGlance, p.waited+quietGlance
		p.given = p.left <= 0
	}
	return ctx.Err()
}

// report says how much was waited, if anything was.
func (p *patience) report() string {
	switch {
	case p.given:
		return fmt.Sprintf(", of which %s for others to leave the machine alone, in the end in vain", p.waited.Round(time.Second))
	case p.waited > 0:
		return fmt.Sprintf(", of which %s for others to leave the machine alone", p.waited.Round(time.Second))
	}
	return ""
}

// busyShare is the share of all processors' time that was not idle during d.
func busyShare(ctx context.Context, d time.Duration) (float64, error) {
	busy, all, err := processorTime()
	if err != nil {
		return 0, err
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	busy2, all2, err := processorTime()
	if err != nil || all2 == all {
		return 0, err
	}
	return float64(busy2-busy) / float64(all2-all), nil
}

// processorTime reads how many ticks the processors spent so far. Waiting for
// a disk counts as busy.
func processorTime() (busy, all int64, err error) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, fmt.Errorf("whether the machine is quiet is read from /proc, so -quiet needs Linux: %w", err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	var user, nice, system, idle, iowait, irq, soft, steal int64
	if _, err := fmt.Sscanf(line, "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &iowait, &irq, &soft, &steal); err != nil {
		return 0, 0, fmt.Errorf("/proc/stat: %w", err)
	}
	busy = user + nice + system + iowait + irq + soft + steal
	return busy, busy + idle, nil
}
