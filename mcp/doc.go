// Package mcp speaks the Model Context Protocol, both ways: a [Client] offers
// the tools of other servers to agents, and a [Server] offers tools and
// agents of ours to other clients.
//
//	c := mcp.NewClient(mcp.Options{Servers: servers, Runner: dir})
//	defer c.Close()
//	c.Start(ctx)
//	agent.Tools = append(agent.Tools, c.Tools()...)
//	agent.Gate = c.Gate(agent.Gate)
//
// # What is believed
//
// A server is somebody else's program. What it says of itself is shown, with
// where it comes from, and counts for nothing: its hints are believed only if
// the configuration trusts it, its tools are those that were there when it was
// approved, and one whose name, description or schema is another since then
// is held until a person has looked at it. Whatever it does, it costs at most
// its time limit, and its own tools.
//
// # One process for each server
//
// A Client is shared by the sessions and agents of a process. It starts a
// server once, all of them at the same time, starts one that ended again when
// it is next used, with a growing pause, and ends them when it is closed.
package mcp
