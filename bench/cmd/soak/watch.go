package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/bench/server"
)

// A sample is what the server holds at a moment.
type sample struct {
	at          time.Duration
	descriptors int
	memory      int // MiB that are resident and not of a file
	processes   int // of the server, at any depth
	held        int // sessions that have a shell
}

// watch samples the server until ctx ends, and prints a line for each sample.
func watch(ctx context.Context, c *crowd, model *server.Server, pid int, every time.Duration) (all []sample) {
	fmt.Println("| minute | requests | failed | sessions | held | descriptors | memory MiB | processes |")
	fmt.Println("| ------ | -------- | ------ | -------- | ---- | ----------- | ---------- | --------- |")
	began := time.Now()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return all
		case <-tick.C:
		}
		model.End() // what it recorded is not needed
		model.Begin(nil)
		s := look(pid)
		if s.held = c.held(ctx); ctx.Err() != nil {
			return all // the server did not answer any more
		}
		s.at = time.Since(began)
		all = append(all, s)
		c.mu.Lock()
		sessions := len(c.sessions)
		c.mu.Unlock()
		fmt.Printf("| %6.1f | %8d | %6d | %8d | %4d | %11d | %10d | %9d |\n",
			s.at.Minutes(), c.asked.Load(), c.failed.Load(), sessions, s.held, s.descriptors, s.memory, s.processes)
	}
}

func look(pid int) (s sample) {
	open, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range bytes.Lines(status) {
		if kib, ok := bytes.CutPrefix(line, []byte("RssAnon:")); ok {
			n, _ := strconv.Atoi(string(bytes.Fields(kib)[0]))
			s.memory = n >> 10
		}
	}
	s.descriptors, s.processes = len(open), below(pid)
	return s
}

// below counts the processes below one.
func below(root int) (n int) {
	parent := map[int]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range files {
		data, _ := os.ReadFile(name)
		_, rest, _ := strings.Cut(string(data), ") ") // after the name
		if f := strings.Fields(rest); len(f) > 1 {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			parent[pid], _ = strconv.Atoi(f[1])
		}
	}
	for pid := range parent {
		p := parent[pid]
		for p > 1 && p != root {
			p = parent[p]
		}
		if p == root {
			n++
		}
	}
	return n
}

// flat returns an error if more was held in the last minutes than from the second to the fourth. A busy machine has more
// sessions at work at once, each with what it needs, so descriptors are those for each session that has a shell.
func flat(all []sample) error {
	var early []sample
	for _, s := range all {
		if s.at >= 2*time.Minute && s.at < 4*time.Minute {
			early = append(early, s)
		}
	}
	if len(early) == 0 || len(all) < 3*len(early) {
		fmt.Println("too short to say whether it is flat: eight minutes are needed")
		return nil
	}
	late := all[len(all)-len(early):]
	var errs []error
	for _, of := range []struct {
		what string
		of   func(sample) float64
		most float64 // times what it was
	}{
		{"sessions that have a shell", func(s sample) float64 { return float64(s.held) }, 1.5},
		{"descriptors for each of them", func(s sample) float64 { return float64(s.descriptors) / float64(max(1, s.held)) }, 1.1},
		{"MiB of memory", func(s sample) float64 { return float64(s.memory) }, 1.1},
	} {
		was, is := mean(early, of.of), mean(late, of.of)
		fmt.Printf("%s: %.1f in minutes 2 to 4, %.1f in the last two\n", of.what, was, is)
		if is > was*of.most {
			errs = append(errs, fmt.Errorf("%s: %.1f, and later %.1f", of.what, was, is))
		}
	}
	return errors.Join(errs...)
}

func mean(all []sample, of func(sample) float64) float64 {
	sum := 0.0
	for _, s := range all {
		sum += of(s)
	}
	return sum / float64(len(all))
}
