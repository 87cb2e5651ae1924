//go:build linux

package cluster_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/pgtest"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
	"github.com/openmanus-go/openmanus/run/durable"
)

// number returns what a variable of the environment says, or else a default.
func number(name string, orElse int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return orElse
}

// Many sessions that rest cost a server and a worker nothing that grows: CLUSTER_SESSIONS in
// place of 100. Each was driven by the worker, and shown by the server.
func TestManyAtRest(t *testing.T) {
	f := start(t, 1, 1, "-- any --\nThe end.\n")
	db := f.open()
	many := number("CLUSTER_SESSIONS", 100)
	first := f.task(f.servers[0], "alice", "Do nothing.", map[string]any{"workspace": "w"})
	f.waits("the first session", func() bool { return f.status(f.servers[0], "alice", first) == "finished" })
	var opening []openmanus.Body
	for _, ev := range f.journal(db, first).events[first] {
		switch ev.Body.(type) {
		case openmanus.Opened, openmanus.Configured:
			opening = append(opening, ev.Body)
		}
	}
	c, err := durable.Dial(t.Context(), durable.Options{Address: f.temporal}, func(context.Context, string) (durable.Route, error) { return durable.Route{Owner: "alice"}, nil })
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	before := [2]int{f.resident(f.servers[0]), f.resident(f.workers[0])}
	begun := time.Now()
	var running sync.WaitGroup
	queue := make(chan string)
	for range 16 {
		running.Go(func() {
			for id := range queue {
				said := openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "Do nothing.")}
				if _, err := db.Append(t.Context(), id, append(opening, said)...); err != nil {
					t.Error(err)
				} else if err := c.Wake(t.Context(), id); err != nil {
					t.Error(err)
				}
			}
		})
	}
	ids := make([]string, many)
	for i := range ids {
		ids[i] = fmt.Sprintf("20300101-0000-rest%05d", i)
		queue <- ids[i]
	}
	close(queue)
	running.Wait()
	for _, id := range ids {
		f.waits("session "+id, func() bool { return f.status(f.servers[0], "alice", id) == "finished" })
	}
	took := time.Since(begun)
	after := [2]int{f.resident(f.servers[0]), f.resident(f.workers[0])}
	t.Logf("%d sessions were driven and shown in %v; resident memory: the server %d to %d MB, the worker %d to %d MB",
		many, took.Round(time.Second), before[0]>>20, after[0]>>20, before[1]>>20, after[1]>>20)
	for i, name := range []string{"server", "worker"} {
		if each := (after[i] - before[i]) / many; many >= 1000 && each > 24<<10 {
			t.Errorf("each session costs the %s %d bytes", name, each)
		}
	}
}

// resident returns the bytes that a process of the fleet has in memory.
func (f *fleet) resident(p *process) (bytes int) {
	f.t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", inner(f.t, p.cmd)))
	if err == nil {
		var all int
		_, err = fmt.Sscan(string(data), &all, &bytes)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return bytes * os.Getpagesize()
}

// Many workers in one process, each with a queue of its own, drive sessions whose model takes
// its time: the rate grows with the workers until the machine has no more to give, most of it
// to PostgreSQL. CLUSTER_WORKERS is how many at most, in place of 8, and CLUSTER_STEPS how
// many calls of the model each session makes.
func TestRateGrowsWithWorkers(t *testing.T) {
	needsCluster(t)
	server := pgtest.StartDurable(t)
	db := openAt(t, server.URL("workers"))
	f := &fleet{t: t, dir: t.TempDir(), temporal: free(t)}
	f.startTemporal()
	steps, most := number("CLUSTER_STEPS", 20), number("CLUSTER_WORKERS", 8)
	const latency = 50 * time.Millisecond
	var calls atomic.Int64
	agent := &openmanus.Agent{Name: "busy", Gate: openmanus.AllowAll, Tools: []openmanus.Tool{noted()}, Limits: openmanus.Limits{Steps: -1}, Model: &llmtest.Model{Reply: func(req *llm.Request) llm.Message {
		time.Sleep(latency) // what a model takes
		calls.Add(1)
		if n := llmtest.Spoken(req); n < steps-1 {
			return llmtest.Use(fmt.Sprint("c", n), "note", map[string]int{"n": n})
		}
		return llmtest.Say("The end.")
	}}}
	rates := map[int]float64{}
	for workers := 1; ; workers = min(workers*10, most) {
		before, ours, theirs, temporal := calls.Load(), cpuOf(t, "self"), server.CPU(), cpuOf(t, fmt.Sprint(inner(t, f.server.cmd)))
		took := f.drive(db, agent, workers, fmt.Sprint("w", workers))
		rate := float64(calls.Load()-before) / took.Seconds()
		rates[workers] = rate
		t.Logf("%3d workers: %.0f calls of the model a second, of %.0f at most; processors: PostgreSQL %.2f, Temporal %.2f, workers %.2f", workers,
			rate, float64(workers)/latency.Seconds(), (server.CPU()-theirs).Seconds()/took.Seconds(),
			(cpuOf(t, fmt.Sprint(inner(t, f.server.cmd)))-temporal).Seconds()/took.Seconds(), (cpuOf(t, "self")-ours).Seconds()/took.Seconds())
		if workers == most {
			break
		}
	}
	if rates[most] < rates[1]*min(float64(most), 10)/2 {
		t.Errorf("%d workers do not more than one: %v", most, rates)
	}
}

// noted is a tool that changes something, and takes no time.
func noted() openmanus.Tool {
	spec := openmanus.ToolSpec{}
	spec.Name, spec.Description = "note", "Notes something."
	return openmanus.Func(spec, func(context.Context, openmanus.Call, map[string]int) (openmanus.Result, error) {
		return openmanus.TextResult("noted"), nil
	})
}

// drive has workers in this process drive three sessions each, and returns how long that took.
func (f *fleet) drive(db interface {
	openmanus.Journal
	openmanus.Locker
}, agent *openmanus.Agent, workers int, name string) time.Duration {
	f.t.Helper()
	c, err := durable.Dial(f.t.Context(), durable.Options{Address: f.temporal, Queue: name}, func(context.Context, string) (durable.Route, error) { return durable.Route{}, nil })
	if err != nil {
		f.t.Fatal(err)
	}
	defer c.Close()
	ctx, stop := context.WithCancel(f.t.Context())
	defer stop()
	var working, driving sync.WaitGroup
	sessions := 3 * workers
	driving.Add(sessions)
	for i := range workers {
		local := &run.Local{Worker: run.Worker{Journal: db, Flow: run.FlowsByName(agent), Name: fmt.Sprint(name, "-", i)}}
		w := &durable.Worker{Name: local.Name, Sessions: 1,
			Drive: func(ctx context.Context, session string) error {
				err := local.Wake(ctx, session)
				if err == nil {
					driving.Done()
				}
				return err
			},
			Failed: func(_ context.Context, session string, err error) error {
				f.t.Errorf("%s: %v", session, err)
				return nil
			},
		}
		working.Go(func() {
			if err := w.Work(ctx, c); err != nil {
				f.t.Error(err)
			}
		})
	}
	ids := make([]string, sessions)
	for i := range ids {
		ids[i] = fmt.Sprint(name, "-session-", i)
		if err := openmanus.Open(f.t.Context(), db, ids[i], agent, &openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "Go.")}); err != nil {
			f.t.Fatal(err)
		}
	}
	begun := time.Now()
	for _, id := range ids {
		if err := c.Wake(f.t.Context(), id); err != nil {
			f.t.Fatal(err)
		}
	}
	driving.Wait()
	took := time.Since(begun)
	stop()
	working.Wait()
	return took
}

// cpuOf returns the processor time that a process has taken.
func cpuOf(t *testing.T, pid string) time.Duration {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return 0 // it has ended
	}
	return pgtest.CPU(string(data))
}
