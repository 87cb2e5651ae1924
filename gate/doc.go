// Package gate rules on calls by what is configured and by what a person
// decided before.
//
// A rule has a kind and a pattern:
//
//	tool:NAME         calls of the tool; * stands for any letters
//	command:WORDS     a command in a shell script: command:go test *
//	path:PATTERN      a file or directory that a call names: path:**/*.pem
//	edit:PATTERN      the same, for calls that may change it
//	host:PATTERN      a host that a call names, as in [egress.Policy]
//
// In a command, * within a word stands for any letters, and as the last word
// for any further words. A path without a slash is found in every directory;
// others begin at the workspace.
//
// What counts, the first before the next:
//
//  1. a rule that denies
//  2. a call that was denied for good, or allowed for good: this very call
//  3. the mode readonly
//  4. a rule that asks
//  5. a rule that allows
//  6. the mode
//
// Commands are read as a shell reads them, and that is advice, not a wall: a
// program can do what its name does not say. The wall is the sandbox. Rules
// that deny or ask therefore look also at what is wrapped (sudo, env, sh -c,
// xargs, find -exec), and take what cannot be read for a reason to ask; rules
// that allow need every command of a script to be plain and to fit.
//
// In a sandbox, commands and edits of the workspace need no question in the
// mode ask; what reaches beyond it does, such as files that programs outside
// read and obey: see [Protected].
package gate
