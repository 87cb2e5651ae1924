// Package linemode shows a session on a terminal line by line: what is printed stays,
// and only a status line at the end changes while something runs.
//
// What a person sees has few rules:
//
//   - What the agent says begins at the left margin and is shown as it streams.
//   - A call is one line, "● Running  make". Below it, behind a bar, stands the end
//     of its result or a diff of what it changed, and how it ended: "└ exit 1 · 0.4s".
//     Of calls that run at once, a result that does not follow its call names it
//     again: "○ Ran  make".
//   - What the program says begins with a mark: · for a remark, ! for a problem, ?
//     for a question.
//   - Text of an agent, a tool, a file or a server never reaches the terminal as a
//     control sequence.
//   - Everything is printed once.
package linemode
