// Package coldstart keeps the garbage collector out of the program's first
// milliseconds. What many libraries make before main begins lives as long as
// the program: to look through it once or twice on the way frees nothing, and
// is a fifth of what `openmanus version` takes.
//
// It is the one package whose import has an effect, and main alone imports it.
package coldstart

import "runtime/debug"

var usual = debug.SetGCPercent(-1)

// Over says that the program has begun: from here on memory is collected as
// usual, and as GOGC says.
func Over() { debug.SetGCPercent(usual) }
