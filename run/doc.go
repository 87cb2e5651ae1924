// Package run drives sessions: it carries out the tasks that their flows return,
// until nothing is left to do.
//
// [Local] is the runtime of one process. Give it a journal and a function that
// returns the flow of a session, and wake it for each session that something was
// appended to; it asks models, rules on calls, runs tools, opens child sessions,
// records everything in the journal, and streams it to subscribers. A session may
// be woken again after a crash, or by another process: it goes on from the
// journal.
//
// A [Worker] carries out single tasks and keeps nothing between two of them. Local
// is built on it, and so can a runtime be that sends tasks to other machines.
//
// [Tree] and [Questions] look at a session together with its descendants. A
// [Budget] bounds what all sessions spend together.
package run
