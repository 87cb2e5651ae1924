// Package tui is the full-screen interface of the terminal.
//
// It is a follower of journals: a program keeps one number, the last event that it has
// seen, and everything on the screen is a function of the events up to there, the size
// of the terminal, and what the person is typing. Nothing is kept of a session that is
// not on the screen or near it: the conversation is read from the journal in pages.
//
//	events ──► page (blocks) ──► lines at a width ──► frame ──► terminal
//	       └─► view.Session (usage, files, plan, questions: what the status line says)
//
// The rest of the program is behind a [Source]: sessions of this process, or those of a
// server (see [Attach]). Commands and answers go through it, and come back as events.
//
// Text of models, tools, servers and files is foreign: before it becomes part of a line,
// it passes through package clip, so that nothing in it can control the terminal.
//
// # How it runs
//
// The program is a model of package tea: one goroutine handles messages, one after the
// other, and changes the state; everything that waits (reading events, requests to a
// server, the clipboard) happens in commands, which send a message when they are done. So
// no part of the state has a lock. A message that belongs to a session which is no longer
// on the screen carries an old generation, and is dropped.
//
// After each message the frame is drawn anew. That is fast because blocks keep their
// lines: a block is drawn again only if it changed or the width did, and only blocks on
// the screen are drawn. A streaming reply is drawn line by line; finished lines are
// kept.
//
// The composer edits text by clusters, so the caret never stops within a character.
// Questions open a dialog on top of it; the widget on top gets the keys.
//
// [Line] is the interface without the full screen: one input line below text that scrolls
// away.
package tui
