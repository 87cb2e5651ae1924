package llm_test

import (
	"fmt"
	"testing"

	"github.com/openmanus-go/openmanus/llm"
)

// A model that writes a large file into a call's arguments must not cost more
// per fragment than one that writes a small one.
func BenchmarkReplyAdd(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(n, " fragments"), func(b *testing.B) {
			for b.Loop() {
				var r llm.Reply
				for range n {
					if err := r.Add(llm.Delta{Piece: llm.Call{Input: "abcd"}}); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/fragment")
		})
	}
}
