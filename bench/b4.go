package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"github.com/openmanus-go/openmanus/bench/peer"
)

// b4Sessions is how many conversations are held at once.
const b4Sessions = 10_000

// b4 measures what conversations take in which nothing happens. These are
// bytes of the heap and of stacks after a collection, which hardly vary, so
// each is measured once.
func (b *bench) b4(ctx context.Context) error {
	t := table{head: []string{"client", "bytes, in the store alone", "target", "met", "bytes, held in memory", "target", "met", "goroutines", "target", "met"}}
	for _, c := range []client{durable, eino} {
		stored, warm, routines, err := b.idle(ctx, c)
		if err != nil {
			return err
		}
		met := func(v, target float64) string {
			if v <= target {
				return "yes"
			}
			return "no"
		}
		if c.durable {
			t.row(c.name, fmt.Sprintf("%.0f", stored), "<= 1024", met(stored, 1<<10), fmt.Sprintf("%.0f", warm), "<= 24576", met(warm, 24<<10), routines, "0", met(float64(routines), 0))
		} else {
			t.row(c.name, "-", "-", "-", fmt.Sprintf("%.0f", warm), "-", "-", routines, "-", "-")
		}
	}
	t.print(b.out, fmt.Sprintf("B4: %d idle sessions of %d messages of %d bytes, each", b4Sessions, peer.Messages, peer.MessageSize))
	return nil
}

// idle has a client hold many conversations, and returns what each takes.
func (b *bench) idle(ctx context.Context, c client) (stored, warm float64, routines int, err error) {
	args := []string{"-url", b.srv.URL(), "-idle", strconv.Itoa(b4Sessions)}
	if c.durable {
		dir, err := os.MkdirTemp(b.dir, "db-")
		if err != nil {
			return 0, 0, 0, err
		}
		defer os.RemoveAll(dir)
		args = append(args, "-db", dir)
	}
	cmd := exec.CommandContext(ctx, b.program(c.program), args...)
	cmd.Env, cmd.Stderr = childEnv(), os.Stderr
	out, err := cmd.Output()
	if err == nil {
		_, err = fmt.Sscan(string(out), &stored, &warm, &routines)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", c.name, err)
	}
	return stored, warm, routines, err
}
