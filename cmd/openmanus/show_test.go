package main

import (
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/host"
)

// What a person approves is shown whole: nothing is dropped without a sign, and no
// line of it looks like one of the program or like another argument.
func TestApprovalsShowEverything(t *testing.T) {
	var b strings.Builder
	p := newPrinter(&b, style{}, true)
	p.question("May file_saver write %s?", ".vscode/x\n? May it read safe.txt\u202e")
	p.block(host.ReadableArguments(`{"path":"a\npath: b\r","command":"\u001b[2Jrm\u200b -rf\t/"}`))
	want := `? May file_saver write .vscode/x
  │ ? May it read safe.txt\u202e?
  │ path: 
  │   a
  │   path: b\r
  │ command: \x1b[2Jrm\u200b -rf	/
`
	if b.String() != want {
		t.Errorf("shown:\n%s\nwant:\n%s", b.String(), want)
	}
}
