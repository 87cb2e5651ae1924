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
// uses Worker. A runtime that sends tasks to other machines can use Worker too.
//
// [Tree] and [Questions] look at a session together with its descendants. A
// [Budget] bounds what all sessions spend together.
//
// # How a session is driven
//
// [Local.Wake] takes the lease of a session, loads its state, and starts a driver. The
// driver is one goroutine: of this process's goroutines, it alone appends the events of
// the session's work, and folds them. In a loop it asks the flow for tasks. The driver
// does tasks that only record something, such as a ruling by the gate, at once and in
// one commit. Every other task becomes a job with a goroutine and a copy of the state.
// Jobs report through a channel, and the driver records their outcomes together with
// everything that follows from them.
//
// A journal that is an [openmanus.Pipeliner] lets the driver go on while a commit is under
// way. Requests to the model and calls that only read may begin on events that are not
// stored yet; everything with an effect waits. If the journal refuses the events, because
// another process has appended to the session, the driver drops what it built on them and
// loads the session again.
//
// Deltas of replies and the output of running calls do not pass through the journal. The
// hub of the session passes them to the subscribers of this process. A subscriber
// receives each of them after the events to which it belongs.
//
// When the flow has no task and no job is left, the session is idle: it has ended, or
// waits for a person or a child session. The driver then gives the lease back, and looks
// once more for events that arrived meanwhile.
//
// # Who calls whom
//
//   - local.go, driver.go and jobs.go drive sessions; pipeline.go and watch.go belong to them.
//   - worker.go dispatches a task to reply.go, rule.go, call.go, compact.go or delegation.go, which return bodies and append nothing.
//   - budget.go, hooks.go and effect.go are what a host adds: bounds over all sessions, programs that are asked, and previews of edited calls.
package run
