// Package gate decides which calls may run: by configured rules, by decisions
// that a person asked it to remember, and by the session's mode.
//
// [New] makes a [Gate], which implements [openmanus.Gate]. [Memory] keeps the
// remembered decisions.
//
// # Rules
//
// A rule has a kind and a pattern:
//
//	tool:NAME         calls of the tool; * stands for any letters
//	command:WORDS     a shell command that a call runs: command:go test *
//	path:PATTERN      a file or directory that a call names: path:**/*.pem
//	edit:PATTERN      the same, if the call may change it
//	host:PATTERN      a host that a call names, as in [egress.Policy]; where requests
//	                  are made, [Gate.CheckHost] holds each hop against these rules
//
// In a command, * within a word stands for any letters, and as the last word
// for any further words. A path pattern without a slash matches in every
// directory; others begin at the workspace.
//
// Rules know no tool by its name. A tool declares which of its arguments are
// commands, paths and hosts, and what calls do with them:
// [openmanus.ToolSpec].Arguments. If a tool declares nothing, the gate guesses
// from the names and values of the arguments, and takes more for a path, host
// or command than may be one.
//
// # Order
//
// The first of these that applies decides:
//
//  1. a rule that denies
//  2. a remembered decision that denies this very call
//  3. the modes readonly and plan
//  4. where the arguments came from: see [RuleProvenance]
//  5. how far the call goes beyond the sandbox: see [RuleReach]
//  6. whether it goes to a server on this machine: see [RuleLocal]
//  7. a rule that asks
//  8. a remembered decision that allows this very call
//  9. a rule that allows
//  10. the mode
//
// # Commands
//
// The gate parses commands as a shell would. That is advice and not a wall,
// because a program can do what its name does not say; the wall is the sandbox.
// So rules that deny or ask also look at wrapped commands (sudo, env, sh -c,
// xargs, find -exec), and a command that cannot be parsed is a reason to ask.
// A rule allows a script only if every command in it is plain and matches.
//
// In a sandbox, the mode ask allows commands and edits of the workspace. It
// asks about what reaches beyond: other hosts, other files, and files that
// programs outside of the sandbox read and obey, which package protected lists.
package gate
