// Bench measures openmanus beside its peers and prints the tables B1 to B5, B7,
// B9, B10, B12 and those of delegation, data and snapshots. See README.md for how to read them.
//
//	go run .                   # all tables
//	go run . -table b2 -pairs 15
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/bench/server"
	"github.com/openmanus-go/openmanus/sandbox"
)

func main() {
	sandbox.Main() // parts of a sandbox are this program again
	tables := flag.String("table", "b1,b2,b3,b4,b5,b7,b9,b10,b12,delegation,data,history,history-steps,browser", "which tables to measure, separated by commas")
	pairs := flag.Int("pairs", 9, "pairs of runs in each comparison, at least 7")
	dir := flag.String("dir", "", "directory for databases and workspaces; on the disk whose fsync is to count (default: the system's for temporary files)")
	cli := flag.String("cli", "", "the openmanus to measure in B5 and B7 (default: built from this tree, as a release is)")
	quiet := flag.Duration("quiet", 0, "wait before each pair until nobody else uses the machine, for at most so long in all")
	bin := flag.String("bin", "", "directory of the programs in peer and cmd, built before (default: built now)")
	profiles := flag.String("profiles", "", "directory for CPU profiles of what serves in B9")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := &bench{out: os.Stdout, dir: *dir, cli: *cli, bin: *bin, profiles: *profiles, pairs: *pairs, patience: patience{left: *quiet}}
	if err := b.run(ctx, strings.Split(*tables, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// A bench is what the tables share.
type bench struct {
	srv   *server.Server
	out   io.Writer
	dir   string // for whatever a run leaves behind; before run, where to make it
	cli   string // the product
	pairs int

	bin      string // the programs, if they were built before
	profiles string // for CPU profiles; "": none are taken

	patience patience
}

func (b *bench) run(ctx context.Context, tables []string) (err error) {
	known := map[string]func(context.Context) error{"b1": b.b1, "b2": b.b2, "b3": b.b3, "b4": b.b4, "b5": b.b5, "b7": b.b7, "b9": b.b9, "b10": b.b10, "b12": b.b12, "delegation": b.delegation, "data": b.data, "history": b.history, "history-steps": b.historySteps, "browser": b.browser}
	for _, t := range tables {
		if known[t] == nil {
			return fmt.Errorf("there is no table %q; there are b1, b2, b3, b4, b5, b7, b9, b10, b12, delegation, data, history, history-steps and browser", t)
		}
	}
	if b.pairs < 7 {
		return fmt.Errorf("%d pairs prove nothing; at least 7", b.pairs)
	}
	if b.dir, err = tempDir(b.dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if b.srv, err = server.Listen("127.0.0.1:0", models); err != nil {
		return err
	}
	defer b.srv.Close()
	if err := b.build(ctx, tables); err != nil {
		return err
	}
	start := time.Now()
	if err := b.machine(); err != nil {
		return err
	}
	for _, t := range tables {
		if err := known[t](ctx); err != nil {
			return fmt.Errorf("table %s: %w", strings.ToUpper(t), err)
		}
	}
	fmt.Fprintf(b.out, "\nMeasured in %s%s.\n", time.Since(start).Round(time.Second), b.patience.report())
	return nil
}

// tempDir makes a directory in parent and returns its absolute path.
func tempDir(parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, "openmanus-bench-")
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

// models finds the scripts of all tables.
func models(name string) (server.Script, error) {
	if s, err := journey(name); err == nil {
		return s, nil
	}
	name, _, _ = strings.Cut(name, "#") // of many agents at once, each has its own
	return server.Steps(name)
}

// program is the path of a program that build made.
func (b *bench) program(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(cmp.Or(b.bin, filepath.Join(b.dir, "bin")), name)
}

// build makes the programs that the tables need, as released.
func (b *bench) build(ctx context.Context, tables []string) error {
	need := func(names ...string) bool {
		return slices.ContainsFunc(tables, func(t string) bool { return slices.Contains(names, t) })
	}
	peers, product := "./peer/...", need("b5", "b7")
	switch {
	case need("b1", "b2", "b3", "b4", "b5", "b7", "b9", "delegation"):
	case need("b12"):
		peers = "./peer/count"
	default:
		return nil
	}
	if b.bin != "" {
		if b.cli == "" {
			b.cli = b.program("openmanus")
		}
		return nil
	}
	fmt.Fprintln(os.Stderr, "building the programs …")
	bin := filepath.Join(b.dir, "bin") + string(filepath.Separator)
	if err := goBuild(ctx, ".", bin, peers); err != nil || !product {
		return err
	}
	if b.cli != "" {
		var err error
		b.cli, err = filepath.Abs(b.cli)
		return err
	}
	b.cli = b.program("openmanus")
	return goBuild(ctx, "..", bin, "./cmd/openmanus")
}

func goBuild(ctx context.Context, dir, bin, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, pkg)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build %s: %w", pkg, err)
	}
	return nil
}
