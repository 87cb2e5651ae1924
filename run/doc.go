// Package run drives sessions: a [Worker] carries out tasks, and [Local] is the
// runtime of one process.
package run
