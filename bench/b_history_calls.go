package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/bench/peer"
	"github.com/openmanus-go/openmanus/bench/server"
	"github.com/openmanus-go/openmanus/bench/stats"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/scripted"
	"github.com/openmanus-go/openmanus/run"
	"github.com/openmanus-go/openmanus/store"
)

// The measurements of the table of steps with and without history.
const (
	stepsFiles = 2000 // of the workspace
	stepsCalls = 300
)

// historySteps measures what history adds to a step: of calls that only read, and of
// calls that may change files and change none. The events are in memory, as in B1 where
// a step costs least, so that what is added shows.
func (b *bench) historySteps(ctx context.Context) error {
	work := filepath.Join(b.dir, "history-steps")
	if err := writeText(work, stepsFiles, 200); err != nil {
		return err
	}
	defer os.RemoveAll(work)
	t := &table{head: []string{"a step whose call", "runs", "with history us", "without us", "with / without (median, 95 %)", "target", "met"}}
	for _, c := range []struct {
		what   string
		reads  bool
		target float64
	}{
		{"only reads", true, 1.05},
		{"may change 2,000 files, and changes none", false, 0},
	} {
		steps := func(history bool) func() (float64, error) {
			return func() (float64, error) { return b.stepOf(ctx, work, c.reads, history) }
		}
		as, bs, err := alternate(b.pairs, b.calm(ctx), steps(true), steps(false))
		if err != nil {
			return err
		}
		e := stats.Estimated(stats.Ratios(as, bs))
		target, met := "-", "-"
		if c.target > 0 {
			target, met = fmt.Sprintf("<= %.2f", c.target), e.AtMost(c.target)
		}
		t.row(c.what, len(as), fmt.Sprintf("%.0f", stats.Median(as)), fmt.Sprintf("%.0f", stats.Median(bs)), interval(e, "%.3f"), target, met)
	}
	t.print(b.out, fmt.Sprintf("History: %d steps with and without it, events in memory", stepsCalls))
	return nil
}

// stepOf returns the microseconds that a step takes, of a session in the directory work.
func (b *bench) stepOf(ctx context.Context, work string, reads, history bool) (us float64, err error) {
	dir, err := os.MkdirTemp(b.dir, "steps-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	db, err := store.Open(dir, nil)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	h, err := host.New(host.Options{Config: &config.Config{DataDir: dir, History: config.History{Enabled: true}}, Store: db})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	var text strings.Builder
	text.WriteString("Calls.\n")
	for i := range stepsCalls + 1 {
		fmt.Fprintf(&text, "-- reply --\n@call %s {\"i\": %d, \"size\": 1024}\n", server.Tool, i)
	}
	text.WriteString("-- reply --\nThat is all.\n")
	script, err := scripted.Parse([]byte(text.String()))
	if err != nil {
		return 0, err
	}
	var first, last time.Time // calls: what comes before the first one is not of a step
	tool := openmanus.ToolSpec{Hints: openmanus.Hints{ReadOnly: reads}}
	tool.Name, tool.Description = server.Tool, peer.ToolDescription
	agent := &openmanus.Agent{
		Name: "bench", Model: script.Model(), Gate: openmanus.AllowAll, Limits: openmanus.Limits{Steps: stepsCalls + 9, Tokens: -1, Money: -1},
		Spec: openmanus.Spec{Model: "scripted:bench", Workspace: work},
		Tools: []openmanus.Tool{openmanus.Func(tool, func(_ context.Context, _ openmanus.Call, in peer.Input) (openmanus.Result, error) {
			if last = time.Now(); first.IsZero() {
				first = last
			}
			return openmanus.TextResult("%s", server.Result(in.I, in.Size)), nil
		})},
	}
	j := new(journal.Memory)
	h.Local.Journal, h.Local.Flow = j, run.FlowsByName(agent)
	if !history {
		h.Local.Changes = nil
	}
	if err := openmanus.Open(ctx, j, "s", agent, &openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "go")}); err != nil {
		return 0, err
	}
	if err := h.Local.Wake(ctx, "s"); err != nil {
		return 0, err
	}
	s, err := openmanus.Load(ctx, j, "s")
	if err == nil && (s.Status() != openmanus.Finished || s.Turn != stepsCalls+2) {
		err = fmt.Errorf("the session is %s after %d turns", s.Status(), s.Turn)
	}
	return float64(last.Sub(first).Microseconds()) / stepsCalls, err
}
