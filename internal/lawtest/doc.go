// Package lawtest holds the tests of the laws of docs/design.md: whole sessions
// that are driven in memory, interrupted, resumed and folded again.
package lawtest
