// Package tui is the full-screen interface of the terminal.
//
// It is a follower of journals: a program keeps one number, the last event that it has
// seen, and everything on the screen is a function of the events up to there, the size
// of the terminal, and what the person is typing. Nothing is kept of a session that is
// not on the screen or near it: the conversation is read from the journal in pages.
//
//	events ──► page (blocks) ──► lines at a width ──► frame ──► terminal
//	       └─► meter (usage, files, plan, questions: what the status line says)
//
// The rest of the program is behind a [Source]: sessions of this process, or those of a
// server (see [Attach]). Commands and answers go through it, and come back as events.
//
// Text of models, tools, servers and files is foreign: before it becomes part of a line,
// it passes through package clip, so that nothing in it can control the terminal.
package tui
