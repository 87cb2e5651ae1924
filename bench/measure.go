package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/bench/server"
	"github.com/openmanus-go/openmanus/bench/stats"
)

// A client is a program that talks to the model server until its script ends.
type client struct {
	name    string
	program string   // of peer/
	durable bool     // it keeps every event in a file
	replay  string   // it posts the bodies that are recorded in this file
	extra   []string // arguments
}

// A sample is one run of a client.
type sample struct {
	gaps []float64 // us, one for every step
	cpu  float64   // ms, of the user and the system, from the start of the process to its end
	rss  float64   // MiB, the most so far when the last request arrived
	run  *server.Run
}

// runLimit is how long one run may take before it counts as hung.
const runLimit = 2 * time.Minute

// measure runs c through steps calls with results of size bytes. If not
// stream, the answers are plain, also to a client that only ever asks for
// streams.
func (b *bench) measure(ctx context.Context, c client, steps, size int, stream bool) (sample, error) {
	model := fmt.Sprintf("steps-%d-%d", steps, size)
	if !stream {
		model += server.Plain
	}
	args := []string{"-url", b.srv.URL(), "-model", model, "-steps", strconv.Itoa(steps), "-stream=" + strconv.FormatBool(stream)}
	if c.durable {
		dir, err := os.MkdirTemp(b.dir, "db-")
		if err != nil {
			return sample{}, err
		}
		defer os.RemoveAll(dir)
		args = append(args, "-db", dir)
	}
	if c.replay != "" {
		args = append(args, "-replay", c.replay)
	}
	var s sample
	var rssErr error
	cmd := exec.Command(b.program(c.program), append(args, c.extra...)...)
	cmd.Env = childEnv()
	run, err := b.child(ctx, cmd, func(pid int, r server.Record) {
		if r.Last {
			s.rss, rssErr = peakRSS(pid)
		}
	})
	if err == nil {
		err = errors.Join(run.Check(steps+1), rssErr)
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", c.name, err)
	}
	s.run, s.gaps = run, stats.Micros(run.Gaps())
	s.cpu = float64(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()) / float64(time.Millisecond)
	return s, nil
}

// child runs cmd to its end and returns what it asked of the model server.
// hook, if not nil, sees every request before it is answered, with the
// process id.
func (b *bench) child(ctx context.Context, cmd *exec.Cmd, hook func(pid int, r server.Record)) (*server.Run, error) {
	var stderr bytes.Buffer
	if cmd.Stderr == nil {
		cmd.Stderr = &stderr
	}
	runtime.GC() // of the driver, so that it does not collect in the middle of the run
	started := make(chan struct{})
	b.srv.Begin(func(r server.Record) {
		<-started
		if hook != nil {
			hook(cmd.Process.Pid, r)
		}
	})
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	close(started)
	err := wait(ctx, cmd)
	run := b.srv.End()
	if err != nil {
		return run, fmt.Errorf("%s: %w\n%s", cmd, err, tail(stderr.String()))
	}
	return run, nil
}

// wait waits for cmd, and kills it at the end of ctx or of its time.
func wait(ctx context.Context, cmd *exec.Cmd) error {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	kill := context.AfterFunc(ctx, func() { cmd.Process.Kill() })
	defer kill()
	err := cmd.Wait()
	return errors.Join(ctx.Err(), err)
}

// tail is the end of what a failed program said.
func tail(s string) string { return s[max(0, len(s)-2000):] }

// childEnv is what a peer gets to know of the environment.
func childEnv() []string {
	env := []string{"HOME=" + os.TempDir()}
	for _, k := range []string{"PATH", "SystemRoot", "TMPDIR", "TEMP"} {
		if v, ok := os.LookupEnv(k); ok {
			env = append(env, k+"="+v)
		}
	}
	return env
}

// alternate takes n pairs of measurements in the order A B B A A B B A …, and
// calls before, if it is not nil, before each pair.
func alternate[T any](n int, before func() error, a, b func() (T, error)) (as, bs []T, err error) {
	take := func(to *[]T, f func() (T, error)) {
		if err == nil {
			var m T
			m, err = f()
			*to = append(*to, m)
		}
	}
	for i := range n {
		if before != nil && err == nil {
			err = before()
		}
		if i%2 == 0 {
			take(&as, a)
			take(&bs, b)
		} else {
			take(&bs, b)
			take(&as, a)
		}
	}
	return as, bs, err
}

// peakRSS is the most memory that a process had resident so far, in MiB. It
// is not the ru_maxrss of wait, which in a child includes the memory of the
// driver it was started from.
func peakRSS(pid int) (float64, error) { return procStatus(pid, "VmHWM") }

// currentRSS is what a process has resident now, in MiB.
func currentRSS(pid int) (float64, error) { return procStatus(pid, "VmRSS") }

func procStatus(pid int, field string) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("memory is read from /proc, so the tables need Linux: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if v, ok := strings.CutPrefix(line, field+":"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(v), "kB")), 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no %s", pid, field)
}

// each returns f of every sample.
func each(samples []sample, f func(sample) float64) []float64 {
	out := make([]float64, len(samples))
	for i, s := range samples {
		out[i] = f(s)
	}
	return out
}

func gap(s sample) float64 { return stats.Median(s.gaps) }
func cpu(s sample) float64 { return s.cpu }
func rss(s sample) float64 { return s.rss }

// record runs c once and keeps the bodies that it posts in a file, for the
// bare client.
func (b *bench) record(ctx context.Context, c client, steps, size int, stream bool) (sample, string, error) {
	s, err := b.measure(ctx, c, steps, size, stream)
	if err != nil {
		return s, "", err
	}
	f, err := os.CreateTemp(b.dir, "bodies-")
	if err != nil {
		return s, "", err
	}
	return s, f.Name(), errors.Join(s.run.Save(f), f.Close())
}

var (
	ours    = client{name: "openmanus", program: "ours"}
	durable = client{name: "openmanus, fsync", program: "ours", durable: true}
	eino    = client{name: "Eino " + einoVersion, program: "eino"}
	lcgo    = client{name: "langchaingo " + lcgoVersion, program: "langchaingo"}
)

// The versions that go.mod pins.
const (
	einoVersion = "0.7.36"
	lcgoVersion = "0.1.14"
)

// bare posts the bodies in a file; if durable, it syncs a file as often as
// openmanus does.
func bare(replay string, durable bool) client {
	c := client{name: "net/http", program: "bare", replay: replay, durable: durable}
	if durable {
		c.name = "net/http, 2 fsyncs a step"
	}
	return c
}

// calm waits for the machine to be quiet, if that was asked for.
func (b *bench) calm(ctx context.Context) func() error {
	return func() error { return b.patience.wait(ctx) }
}
