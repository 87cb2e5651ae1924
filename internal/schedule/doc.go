// Package schedule decides when tasks are due that repeat.
//
// A schedule has a journal of its own. Each of its slots, the times at which its
// task is to run, gets one answer there, a [Due] or a [Skipped], in the order of the
// slots. Answers are numbered, and the number is the key, so any number of processes
// may answer: one succeeds, and the others read what it said. The answer is a
// function of the journal and the time ([State.Decide]).
package schedule
