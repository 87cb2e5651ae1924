//go:build !race

package lawtest_test

const slowdown = 1
