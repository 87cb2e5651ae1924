// Package snapshot keeps what a directory contained at some moment, compares such
// moments, and puts files back as they were.
//
// A [Tracker] follows one directory. [Tracker.Take] stores what has changed since
// the last time in blobs, and returns a [Tree], which names the whole content in a
// few bytes and is fit to be recorded in an event:
//
//	t := snapshot.NewTracker(root, blobs, snapshot.Options{})
//	before, err := t.Take(ctx)
//	... a command runs ...
//	after, err := t.Take(ctx)
//	changes, err := snapshot.NewReader(blobs).Diff(ctx, before.Tree, after.Tree)
//
// # What is kept
//
// Regular files with content, permissions, modification time, owner, holes and
// extended attributes; symbolic links; directories. For pipes, sockets and devices
// only the kind. The names of a file that has several are independent files: what puts
// one back gives it a content of its own.
//
// What is not kept has a reason in [Entry.Left]: a file or directory that could not be
// read, a file that is larger than the limits, or another file system that is mounted
// inside. Writes of a program into a mapped file may be seen some seconds late, when
// the kernel gives the file its time.
//
// # How it is stored
//
// Content is put into packs, blobs of some megabytes, each of which is a sequence
// of compressed frames. A directory is an object in a pack as well: it lists its
// entries with the hash of their content and where it is. So trees share what they
// have in common, equal directories have equal hashes, and a tree is compared with
// another without reading what they share. A pack is stored before anything refers
// to it and never changes. Whoever deletes blobs must keep the packs of all trees
// that are still wanted: see [Taken.Packs]. Sessions that work in one directory share
// its tracker, each with its [History].
//
// Taking a snapshot again is a walk that looks at every name: a file whose inode,
// change time and size are those of the last snapshot is not read.
package snapshot
