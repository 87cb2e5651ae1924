// Package acp lets editors work with sessions: it is an agent of the Agent Client
// Protocol, version 1, over lines of JSON-RPC.
//
// What an editor sees of a session is a function of the session's events: a [Story] turns
// each into updates, for what happens now as for what session/load shows again. An update
// of a stored event has a frame id, SEQ.N, in its _meta (openmanus/frame); session/resume
// with that id in its _meta (openmanus/after) sends what came after it.
//
// Commands run in the sandbox and never in a terminal of the editor, which has none.
//
// # How a turn runs
//
// Serve reads one message on each line, and handles requests in their order; a handler
// that has to wait returns a function for that, which runs beside the others.
// session/prompt appends the message and waits for the end of the turn: until the session
// has an outcome.
//
// A session that is open here is followed, with its child sessions. Each event goes
// through the Story, and its updates are sent before the next event. Questions become
// requests to the client, session/request_permission or elicitation; the first answer
// counts, whether it comes from the client or from anywhere else, and the request is
// cancelled if it was another one.
//
// Version 2 of the protocol has other words for the same things: v2.go converts at the
// edge.
package acp
