package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/bench/stats"
)

// machine prints where the tables were measured.
func (b *bench) machine() error {
	sync, err := fsyncTime(b.dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "Machine: %s, %d cores, %s/%s%s, %s. fsync after 512 bytes in %s: p50 %.0f us, p90 %.0f us.\n",
		cpuModel(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, kernel(), runtime.Version(), os.TempDir(), stats.Median(sync), stats.Quantile(sync, 0.9))
	if load := firstField("/proc/loadavg"); load != "" {
		fmt.Fprintf(b.out, "Load average at the beginning: %s.\n", load)
	}
	if stats.Median(sync) < 5 {
		fmt.Fprintln(b.out, "Note: fsync costs nothing here, so the rows with fsync say nothing. Name a directory on a disk with -dir.")
	}
	return nil
}

// fsyncTime appends to a file and syncs it, and returns what each took in us.
func fsyncTime(dir string) ([]float64, error) {
	f, err := os.CreateTemp(dir, "fsync-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var took []time.Duration
	for range 100 {
		start := time.Now()
		if _, err := f.Write(make([]byte, 512)); err != nil {
			return nil, err
		}
		if err := f.Sync(); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
	}
	return stats.Micros(took), nil
}

func cpuModel() string {
	data, _ := os.ReadFile("/proc/cpuinfo") // absent elsewhere
	for line := range strings.Lines(string(data)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return "unknown processor"
}

func kernel() string {
	if v := firstField("/proc/sys/kernel/osrelease"); v != "" {
		return " " + v
	}
	return ""
}

func firstField(file string) string {
	data, _ := os.ReadFile(file)
	if f := strings.Fields(string(data)); len(f) > 0 {
		return f[0]
	}
	return ""
}
