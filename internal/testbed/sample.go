package testbed

import (
	"hash/fnv"
	"os"
	"strconv"
)

// Seed is what a test draws its sample of cases by: the variable SEED, a number or any
// text, or 0 without it. .ci/run sets it to the commit, so that each change tries others.
func Seed() uint64 {
	text := os.Getenv("SEED")
	if text == "" {
		return 0
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n
	}
	h := fnv.New64a()
	h.Write([]byte(text)) // never fails
	return h.Sum64()
}

// Drawn reports whether the case at i is in the sample, which has one case in n.
func Drawn(i, n int) bool { return (uint64(i)+Seed())%uint64(n) == 0 }
