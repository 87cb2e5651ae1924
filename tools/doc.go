// Package tools has the tools that an agent works with in a workspace.
//
//	ws, err := workspace.NewDir(".")
//	...
//	agent := &openmanus.Agent{
//		Name:  "Editor",
//		Model: model,
//		Tools: []openmanus.Tool{
//			tools.NewEditor(ws),    // str_replace_editor: view, create, edit, undo
//			tools.NewFileSaver(ws), // file_saver: write or append to a file
//			tools.NewGrep(ws),      // grep: search in files
//			tools.NewGlob(ws),      // glob: find files by name
//			tools.NewBash(ws),      // bash: a persistent shell
//			tools.NewPython(ws),    // python_execute: run Python code
//			tools.NewPlanning(),    // planning: plans and the state of their steps
//			tools.NewAskHuman(),    // ask_human: a question to a person
//			tools.NewReadOutput(),  // read_output: what was cut out of a long result
//			tools.NewTerminate(),   // terminate: the end of the work
//		},
//	}
//
// A tool reads its workspace at the moment of a call and keeps nothing of a
// session in memory, save the processes of bash and python_execute: what it
// remembers is the Detail of its last result ([openmanus.Call].Last), so a
// session goes on in another process as if nothing had happened. Paths in
// arguments are relative to the workspace or absolute within it.
//
// The descriptions and schemas are part of every prompt. They do not depend
// on the machine, the time or the workspace, so that prompts stay the same.
package tools
