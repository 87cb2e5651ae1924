package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/bench/stats"
	"github.com/openmanus-go/openmanus/store"
	"github.com/openmanus-go/openmanus/workspace/snapshot"
)

// The measurements of the table of snapshots.
const (
	historyFiles   = 20_000 // of 2,000 bytes each
	historyLater   = 20     // snapshots after the first, each with historyChanged other files
	historyChanged = 10
	historyRewound = 100     // files that are put back
	historyMany    = 200_000 // files of the largest workspace
	historyCalls   = 1000    // of the session with builds
	historySources = 128 << 20
	historyBuilt   = 896 << 20
)

// history measures snapshots of a workspace, beside a git repository behind the scenes
// that does the same: `git add -A` and `git write-tree` with a directory of its own.
func (b *bench) history(ctx context.Context) error {
	t := &table{head: []string{"what", "runs", "openmanus", "git", "openmanus / git (median, 95 %)", "target", "met"}}
	if err := b.historyPairs(ctx, t); err != nil {
		return err
	}
	if err := b.historyLarge(ctx, t); err != nil {
		return err
	}
	if err := b.historySession(ctx, t); err != nil {
		return err
	}
	t.print(b.out, "History: snapshots of a workspace")
	return nil
}

// A keeper takes snapshots of a directory.
type keeper interface {
	take(context.Context) error
	size() (int64, error) // bytes on the disk
	close() error
}

// historyPairs fills in what is compared.
func (b *bench) historyPairs(ctx context.Context, t *table) error {
	work := filepath.Join(b.dir, "history-files")
	if err := writeText(work, historyFiles, 2000); err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var first, later, space, rewind [2][]float64
	for n := range b.pairs {
		for i := range 2 {
			who := (i + n) % 2 // by turns
			if err := b.patience.wait(ctx); err != nil {
				return err
			}
			runtime.GC()
			f, l, s, err := b.historyRun(ctx, who, work, &rewind[who])
			if err != nil {
				return err
			}
			first[who] = append(first[who], f)
			later[who] = append(later[who], l)
			space[who] = append(space[who], s)
		}
	}
	for _, r := range []struct {
		what, target string
		of           [2][]float64
		format       string
		most, share  float64 // of openmanus; 0: no target
	}{
		{"first snapshot, 20,000 files, 40 MB", "<= 1 s, <= 0.5", first, "%.0f ms", 1000, 0.5},
		{"later ones, 10 files changed", "<= 60 ms", later, "%.0f ms", 60, 0},
		{"space of 21 snapshots", "<= 0.7", space, "%.1f MiB", 0, 0.7},
	} {
		e := stats.Estimated(stats.Ratios(r.of[0], r.of[1]))
		mid := stats.Median(r.of[0])
		met := "yes"
		if r.share > 0 {
			met = e.AtMost(r.share)
		}
		if r.most > 0 && mid > r.most {
			met = "no"
		}
		t.row(r.what, len(r.of[0]), fmt.Sprintf(r.format, mid), fmt.Sprintf(r.format, stats.Median(r.of[1])),
			interval(e, "%.2f"), r.target, met)
	}
	mid := stats.Median(rewind[0])
	t.row("100 files put back, planned and synced", len(rewind[0]), fmt.Sprintf("%.0f ms", mid), "-", "-", "<= 100 ms", atMost(mid, 100))
	return nil
}

func atMost(x, target float64) string {
	if x <= target {
		return "yes"
	}
	return "no"
}

// historyRun takes all snapshots: the time of the first, the median of the others, both
// in milliseconds, and the space in MiB.
func (b *bench) historyRun(
	ctx context.Context, who int, work string, rewind *[]float64,
) (first, later, space float64, err error) {
	dir := filepath.Join(b.dir, "history-kept")
	k, err := newKeeper(who, work, dir)
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() { err = errors.Join(err, k.close(), os.RemoveAll(dir)) }()
	timed := func() (float64, error) {
		start := time.Now()
		err := k.take(ctx)
		return float64(time.Since(start).Microseconds()) / 1000, err
	}
	if first, err = timed(); err != nil {
		return 0, 0, 0, err
	}
	if err := k.take(ctx); err != nil { // files that were new are looked at once more
		return 0, 0, 0, err
	}
	var all []float64
	for n := range historyLater {
		for i := range historyChanged {
			name := filepath.Join(work, textName((n*7919+i*2003)%historyFiles))
			if err := os.WriteFile(name, fmt.Appendf(nil, "run %d of %s, file %d\n", n, time.Now(), i), 0o644); err != nil {
				return 0, 0, 0, err
			}
		}
		took, err := timed()
		if err != nil {
			return 0, 0, 0, err
		}
		all = append(all, took)
	}
	size, err := k.size()
	if o, ok := k.(*ourKeeper); ok && err == nil {
		var took time.Duration
		took, err = o.rewind(ctx, work)
		*rewind = append(*rewind, float64(took.Microseconds())/1000)
	}
	return first, stats.Median(all), float64(size) / (1 << 20), err
}

func newKeeper(who int, work, dir string) (keeper, error) {
	if who == 1 {
		return newGit(work, dir)
	}
	return newOurs(work, dir)
}

// ourKeeper keeps snapshots as openmanus does.
type ourKeeper struct {
	dir     string
	db      *store.DB
	root    *os.Root
	tracker *snapshot.Tracker
}

func newOurs(work, dir string) (*ourKeeper, error) {
	db, err := store.Open(dir, nil)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(work)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	built := func(name string, dir bool) bool { return dir && path.Base(name) == "node_modules" }
	tracker, err := snapshot.NewTracker(root, db, snapshot.Options{Built: built})
	return &ourKeeper{dir, db, root, tracker}, err
}

func (o *ourKeeper) take(ctx context.Context) error {
	_, err := o.tracker.Take(ctx)
	return err
}

func (o *ourKeeper) size() (int64, error) { return diskSize(filepath.Join(o.dir, "blobs")) }

func (o *ourKeeper) close() error { return errors.Join(o.root.Close(), o.db.Close()) }

// rewind changes files, and returns how long it takes to put them back.
func (o *ourKeeper) rewind(ctx context.Context, work string) (time.Duration, error) {
	before := o.tracker.Tree()
	for i := range historyRewound {
		name := filepath.Join(work, textName(i*historyFiles/historyRewound+1))
		if err := os.WriteFile(name, fmt.Appendf(nil, "%d", time.Now().UnixNano()), 0o644); err != nil {
			return 0, err
		}
	}
	after, err := o.tracker.Take(ctx)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	r := snapshot.NewReader(o.db)
	plan, err := r.Undo(ctx, after.Tree, []snapshot.Step{{Before: before, After: after.Tree}})
	if err != nil {
		return 0, err
	}
	out, err := r.Restore(ctx, o.root, plan.Ops)
	took := time.Since(start)
	if len(out) != historyRewound || slices.ContainsFunc(out, func(o snapshot.Outcome) bool { return !o.Done }) {
		err = errors.Join(err, fmt.Errorf("%d files were to be put back: %v", historyRewound, out))
	}
	return took, err
}

// shadowGit keeps snapshots in a git repository beside the files.
type shadowGit struct{ work, dir string }

func newGit(work, dir string) (*shadowGit, error) {
	g := &shadowGit{work, dir}
	return g, g.git(context.Background(), "init", "-q")
}

func (g *shadowGit) git(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = g.work
	cmd.Env = append(os.Environ(), "GIT_DIR="+g.dir, "GIT_WORK_TREE="+g.work, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, tail(out.String()))
	}
	return nil
}

func (g *shadowGit) take(ctx context.Context) error {
	return errors.Join(g.git(ctx, "add", "-A"), g.git(ctx, "write-tree"))
}

func (g *shadowGit) size() (int64, error) { return diskSize(filepath.Join(g.dir, "objects")) }
func (g *shadowGit) close() error         { return nil }

// historyLarge fills in the largest workspace.
func (b *bench) historyLarge(ctx context.Context, t *table) error {
	work, dir := filepath.Join(b.dir, "history-many"), filepath.Join(b.dir, "history-kept")
	defer os.RemoveAll(work)
	defer os.RemoveAll(dir)
	if err := writeText(work, historyMany, 500); err != nil {
		return err
	}
	o, err := newOurs(work, dir)
	if err != nil {
		return err
	}
	defer o.close()
	heap := heapSize()
	var took [3]time.Duration
	for i := range took {
		if i == 2 {
			if err := os.WriteFile(filepath.Join(work, textName(77)), []byte("changed"), 0o644); err != nil {
				return err
			}
		}
		start := time.Now()
		if err := o.take(ctx); err != nil {
			return err
		}
		took[i] = time.Since(start)
	}
	memory := heapSize() - heap
	runtime.KeepAlive(o)
	t.row("first snapshot, 200,000 files, 100 MB", 1, took[0].Round(time.Millisecond), "-", "-", "works", "yes")
	t.row("a later one, 1 file changed", 1, took[2].Round(time.Millisecond), "-", "-", "-", "-")
	t.row("memory that it keeps", 1, fmt.Sprintf("%.0f MiB", float64(memory)/(1<<20)), "-", "-", "-", "-")
	return nil
}

func heapSize() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// historySession fills in a long session in a directory of 1 GiB, most of which are
// dependencies and what builds make: each call changes three files, and every tenth
// builds 10 MiB anew.
func (b *bench) historySession(ctx context.Context, t *table) error {
	work, dir := filepath.Join(b.dir, "history-gigabyte"), filepath.Join(b.dir, "history-kept")
	defer os.RemoveAll(work)
	defer os.RemoveAll(dir)
	if err := writeText(work, historySources/8192, 8192); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(3, 4))
	for i := range historyBuilt / (256 << 10) {
		if err := writeBuilt(work, fmt.Sprintf("node_modules/p%d/lib%d.bin", i/16, i), 256<<10, r); err != nil {
			return err
		}
	}
	o, err := newOurs(work, dir)
	if err != nil {
		return err
	}
	defer o.close()
	var all []float64
	for call := range historyCalls {
		for i := range 3 {
			if err := os.WriteFile(filepath.Join(work, textName(r.IntN(historySources/8192))), fmt.Appendf(nil, "call %d, %d\n%s", call, i, words(r, 8000)), 0o644); err != nil {
				return err
			}
		}
		for i := 0; call%10 == 0 && i < 40; i++ {
			if err := writeBuilt(work, fmt.Sprintf("node_modules/.build/chunk%d.js", i), 256<<10, r); err != nil {
				return err
			}
		}
		start := time.Now()
		if err := o.take(ctx); err != nil {
			return err
		}
		all = append(all, float64(time.Since(start).Microseconds())/1000)
	}
	size, err := o.size()
	gib := float64(size) / (1 << 30)
	t.row("space of 1,000 calls in 1 GiB with builds", 1, fmt.Sprintf("%.2f GiB", gib), "-", "-", "<= 2 GiB", atMost(gib, 2))
	t.row("a snapshot there", len(all)-1, fmt.Sprintf("%.0f ms", stats.Median(all[1:])), "-", "-", "-", "-")
	return err
}

// textName is the name of a file of writeText.
func textName(i int) string { return fmt.Sprintf("d%d/e%d/file%d.txt", i/1000, i/100%10, i) }

// writeText writes n files of size bytes of text, 100 in a directory.
func writeText(dir string, n, size int) error {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		name := filepath.Join(dir, textName(i))
		if i%100 == 0 {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(name, words(r, size), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// vocabulary is what sources and texts are made of here.
var vocabulary = func() (v []string) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		v = append(v, fmt.Sprintf("w%x", r.Uint32()>>(r.Uint32()%24)))
	}
	return v
}()

// words returns text that compresses roughly as sources do.
func words(r *rand.Rand, size int) []byte {
	b := make([]byte, 0, size+16)
	for len(b) < size {
		b = append(append(b, vocabulary[r.IntN(len(vocabulary))]...), " \n"[r.IntN(2)])
	}
	return b[:size]
}

// writeBuilt writes a file that does not compress.
func writeBuilt(dir, name string, size int, r *rand.Rand) error {
	data := make([]byte, size)
	for i := 0; i+8 <= size; i += 8 {
		x := r.Uint64()
		for j := range 8 {
			data[i+j] = byte(x >> (8 * j))
		}
	}
	name = filepath.Join(dir, name)
	return errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, data, 0o644))
}

// diskSize returns the bytes that the files in dir take on the disk.
func diskSize(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "held" {
			return fs.SkipDir // other names of the same files
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += blocks(info)
		}
		return err
	})
	return n, err
}
