//go:build !race

package openmanus_test

const slowdown = 1
