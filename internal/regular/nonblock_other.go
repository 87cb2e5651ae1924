//go:build !unix

package regular

// Nonblock is 0: files are never pipes here.
const Nonblock = 0
