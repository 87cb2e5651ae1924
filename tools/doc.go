// Package tools provides the tools with which an agent works in a workspace: a
// shell, Python, files, search, plans, questions, delegation and the end of the
// work. The names, arguments and many results are those of OpenManus.
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
//			tools.NewAskHuman(),    // ask_human: a question to the person
//			tools.NewReadOutput(),  // read_output: the part that was cut out of a long result
//			tools.NewTerminate(),   // terminate: the end of the work
//		},
//	}
//
// A tool reads its workspace at the moment of a call. It keeps nothing of a
// session in memory, except for the processes of bash and python_execute: its
// memory is the Detail of its last result ([openmanus.Call].Last), so that the
// session can continue in another process. Paths in arguments are relative to
// the workspace, or absolute within it.
//
// # What a tool declares
//
// Rules about commands, paths and hosts know no tool by its name. Each tool declares
// which of its arguments are paths or commands, and what it does with them
// ([openmanus.Argument]); arguments that are only text are declared as such. A tool
// that comes across files which its call does not name, as grep over a directory
// does, reads them through [workspace.Unnamed], where files that a rule asks about
// do not exist, and names them in [openmanus.Result].Sources. Files that a rule
// denies exist in no view of the workspace.
//
// # Prompts
//
// Descriptions and schemas are part of every prompt and stand in the folder
// spec. They do not depend on the machine, the time or the workspace, so that
// prompts stay the same and providers can cache them. Errors are written for
// the model: they say what to try.
package tools
