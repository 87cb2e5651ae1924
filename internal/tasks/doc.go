// Package tasks plays real tasks with the built binary, as a person would give them:
// a project whose tests fail, a table that is a mess, three documents, a site with a
// form. A script plays the model, mistakes included, and reads what the tools answer.
// The result of a task is checked from outside: in the files, in what the person's
// own tests say, in the log of the site.
//
// Each task has a budget in testdata/budgets.txt: the requests to the model, the calls
// of tools, the tokens of all requests and of all replies, and the questions to the
// person. A task that needs more fails. The time is printed and not asserted.
//
//	make tasks                   plays them all, and prints the table
//	make tasks TASK=python       plays one
//	make tasks UPDATE=1          writes what they need today to testdata/budgets.txt
//	make tasks SHOW=1            prints each conversation, for writing a script
//
// Tokens are counted in the requests that arrive, by [llm/tokens], so a longer prompt,
// schema or result is noticed wherever it comes from.
//
// [llm/tokens]: https://pkg.go.dev/github.com/openmanus-go/openmanus/llm/tokens
package tasks
