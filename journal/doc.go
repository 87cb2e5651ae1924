// Package journal has what implementations and users of journals share. The
// interface itself, [openmanus.Journal], is in the root package.
//
// For implementations: a [Codec] encodes bodies, redacts [Secrets] and moves large
// strings into blobs, and [CheckOpening] checks what is appended. The suite in
// package journaltest checks an implementation. [Memory] is the simplest one, and
// package store has one in SQLite.
//
// For users: [Export], [Import] and [Fork] copy sessions, a [Redactor] replaces
// secrets in a text that streams, and an [Index] lists sessions without reading
// their events.
//
// # What an implementation promises
//
// Append is atomic and durable; the suite kills processes to check that. Keys are unique
// within a session, numbers have no gaps, and Follow yields every event once, in order.
// Further abilities are interfaces of their own, which callers look for: [Index] and
// [Searcher] for lists, [Meter] for usage, [Deleter], [Devices] and [Receivers]. An
// implementation that lacks one loses the features that need it, and nothing else.
package journal
