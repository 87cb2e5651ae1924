// Package toolspec makes the specs of tools whose schemas are written by hand,
// where the descriptions that the model reads matter word by word.
package toolspec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// Read is [New] with the description in dir/NAME.txt and the schema in dir/NAME.json
// of files, which are part of the program: a file that is missing is a programmer's
// mistake, and Read panics.
func Read(
	files fs.FS, dir, name string, h openmanus.Hints, arguments ...openmanus.Argument,
) openmanus.ToolSpec {
	return New(name, Text(files, path.Join(dir, name+".txt")), Text(files, path.Join(dir, name+".json")), h, arguments...)
}

// Text returns a file of files. It panics if there is none.
func Text(files fs.FS, name string) string {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		panic("toolspec: " + err.Error())
	}
	return string(data)
}

// New returns the spec of a tool. It trims the description and compacts the
// schema. arguments declare what calls do with their arguments, for rules about
// commands, paths and hosts. New panics if schema is not JSON.
func New(name, description, schema string, h openmanus.Hints, arguments ...openmanus.Argument) openmanus.ToolSpec {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(schema)); err != nil {
		panic(fmt.Sprintf("the schema of the tool %s: %v", name, err))
	}
	return openmanus.ToolSpec{
		ToolSpec:  llm.ToolSpec{Name: name, Description: strings.TrimSpace(description), Input: b.Bytes()},
		Hints:     h,
		Arguments: arguments,
	}
}
