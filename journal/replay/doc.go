// Package replay runs recorded sessions again without a network, a model or a tool:
// what came from outside of the program is taken from the record, and everything
// that the program does with it is done again. The result is the same journal, byte
// for byte, or the first event that is another one today.
//
// A [Recording] has the events and blobs of a session and of those below it: from a
// store ([Load]), or from a file ([Read]), which [Recording.Write] writes. [Run]
// replays one, and [Test] does so in the tests of a program, which keeps recorded
// runs as fixtures. [Recording.Redact] takes names and secrets out of them.
//
// # What is done again
//
// A session is a fold of its events. For each event that the program decided on,
// Run asks the flow what the session called for, carries the task out with a
// [run.Worker], as a runtime does, and compares the event that this makes with the
// recorded one. The requests to models are made again, too: events have digests of
// them, see [llm.Sent].
//
// From the record come what people said, what models replied, and what tools, gates
// and budgets returned; when a process began to drive the session and which sandbox
// it had; which files changed, and the snapshots of them; the times, and the order of
// what happened at the same time. Such events are checked for what the program has to
// do with them: a result needs a call that was allowed and had started, a reply needs
// a task that asked for it. So a result that someone changed in a file is found at the
// next request, which would have other bytes.
//
// # What cannot be replayed
//
// A session of version 1 of the format recorded too little. One with events of types
// that this version does not know cannot be driven. A blob that is lost is an error
// if a result needs it. In a session that was imported, the events that came with the
// file were made elsewhere, and are taken as they are.
package replay
