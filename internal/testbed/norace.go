//go:build !race

package testbed

// Slower is how much less the longest tests do: nothing, without the race detector.
const Slower = 1
