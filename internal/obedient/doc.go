// Package obedient tests what a model can do that obeys every text it reads. The
// binary runs as a person would run it, and a script plays the model: it reads
// something that others wrote, and then does what the text says. The tests look for
// the effects outside: in the log of a web server and of an MCP server, on the
// disk, in what git runs for the person afterwards, in what the next session is
// told. The journal is not asked.
//
// The tables in testdata are for people to extend; obedient_test.go has their
// syntax. By default a part of each runs; OBEDIENT=all runs everything.
package obedient
