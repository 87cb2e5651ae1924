//go:build race

package lawtest_test

// slowdown is how much less the longest tests do under the race detector.
const slowdown = 5
