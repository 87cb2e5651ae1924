//go:build unix

package provenance

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func BenchmarkFind(b *testing.B) {
	var x Index
	for i := range 50 {
		x.Add(i, english(uint64(i), 20_000))
	}
	for _, n := range []int{20, 200, 2_000, 100_000} {
		text := english(77, n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			busy := cpu()
			for b.Loop() {
				x.Find(text)
			}
			b.ReportMetric(float64(cpu()-busy)/float64(b.N), "cpu-ns/op")
		})
	}
	b.Run("tool call", func(b *testing.B) {
		text := `{"command":"cd /home/user/project && grep -rn 'func (s *Server) handle' --include=*.go . | head -20 && go test ./internal/server -run TestHandle -count=1 2>&1 | tail -40","timeout":120000}`
		busy := cpu()
		for b.Loop() {
			x.Find(text)
		}
		b.ReportMetric(float64(cpu()-busy)/float64(b.N), "cpu-ns/op")
	})
}

// BenchmarkFindWorst has arguments of 100 kB all of which may be encoded.
func BenchmarkFindWorst(b *testing.B) {
	var x Index
	for i := range 50 {
		x.Add(i, english(uint64(i), 20_000))
	}
	long := english(1, 100_000)
	for i := range disguises {
		d := &disguises[i]
		text := d.apply(seeded(1), long)
		text = strings.ToValidUTF8(text[:min(len(text), 100_000)], "")
		b.Run(d.name, func(b *testing.B) {
			busy := cpu()
			for b.Loop() {
				x.Find(text)
			}
			b.ReportMetric(float64(cpu()-busy)/float64(b.N)/1e6, "cpu-ms/op")
		})
	}
}

func cpu() int64 {
	var u syscall.Rusage
	syscall.Getrusage(0, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

func BenchmarkAdd(b *testing.B) {
	text := english(5, 1<<20)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	busy := cpu()
	for b.Loop() {
		var x Index
		x.Add(1, text)
		b.ReportMetric(float64(8*len(x.slots)+24*len(x.sets.nodes))/float64(len(text)), "index/byte")
	}
	b.ReportMetric(float64(b.N*len(text))*1e3/float64(cpu()-busy), "MB/cpu-s")
}
