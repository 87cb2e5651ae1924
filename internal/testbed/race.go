//go:build race

package testbed

// Slower is how much less the longest tests do under the race detector, which makes them
// that much slower: make full plays them whole, without it.
const Slower = 5
