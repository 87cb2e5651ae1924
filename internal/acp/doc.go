// Package acp lets editors work with sessions: it is an agent of the Agent Client
// Protocol, version 1, over lines of JSON-RPC.
//
// What an editor sees of a session is a function of the session's events: a [Story] turns
// each into updates, for what happens now as for what session/load shows again. An update
// of a stored event has a frame id, SEQ.N, in its _meta (openmanus/frame); session/resume
// with that id in its _meta (openmanus/after) sends what came after it.
//
// Commands run in the sandbox and never in a terminal of the editor, which has none.
package acp
