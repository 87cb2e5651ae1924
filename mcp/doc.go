// Package mcp speaks the Model Context Protocol, both ways: a [Client] offers
// the tools of MCP servers to agents, and a [Server] offers tools and agents to
// MCP clients.
//
//	c := mcp.NewClient(mcp.Options{Servers: servers, Runner: dir})
//	defer c.Close()
//	c.Start(ctx)
//	agent.Tools = append(agent.Tools, c.Tools()...)
//	agent.Gate = c.Gate(agent.Gate)
//
// # Trust
//
// A server is a program of another author. Its texts are shown with their
// source. Its hints count only if the configuration trusts the server. Agents
// get only the tools that a person approved ([Approvals]): a tool whose name,
// description or schema has changed since is held until a person has looked at
// it. A server that misbehaves costs at most its time limit and its own tools.
//
// What a server writes is foreign text wherever it goes: control characters,
// escape sequences and characters that hide or reorder others are left out of
// names, descriptions, the texts in schemas, questions and notes. Names and values
// in schemas and arguments stay as they are, because the server compares them.
// Descriptions have a limit, schemas too, and a schema that would cost too much to
// check is replaced by one that accepts every object.
//
// An annotation that a server leaves out means what the specification says: a tool
// without annotations may destroy, may be repeated with another effect, and
// reaches beyond the server. A question that a server asks the person in the
// middle of a call (elicitation) names the server; if it seems to ask for a
// secret, a warning says that MCP forbids that.
//
// # Results
//
// A result has texts, images, audio, PDFs, resources and links for the model, and its
// structured content as JSON unless a text already says the same. A result that is
// an error becomes the error of the call. Every result has the server as its source
// ("mcp:NAME"), and is never trusted.
//
// # Processes
//
// The sessions and agents of a process share one Client. It starts all servers
// at the same time, each once. It starts a server that ended again at its next
// use, with growing pauses, and ends all servers when it is closed.
//
// # Names
//
// Some types stand for one thing at different times: a link is a server, with
// its connection if there is one; a listing is what the server offers; a remote
// is one of its tools; a flight is a call that is under way at the server.
package mcp
