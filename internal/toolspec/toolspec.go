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

// Read is [Headed] with the text in dir/NAME.txt and the schema in dir/NAME.json
// of files, which are part of the program: a file that is missing is a programmer's
// mistake, and Read panics.
func Read(
	files fs.FS, dir, name string, h openmanus.Hints, arguments ...openmanus.Argument,
) openmanus.ToolSpec {
	return Headed(name, Text(files, path.Join(dir, name+".txt")), Text(files, path.Join(dir, name+".json")), h, arguments...)
}

// Text returns a file of files. It panics if there is none.
func Text(files fs.FS, name string) string {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		panic("toolspec: " + err.Error())
	}
	return string(data)
}

// Headed is [New] with a text of the program's own: what stands in it above a line "---" is
// for people, as [Says] has it, and the rest is the description.
func Headed(name, text, schema string, h openmanus.Hints, arguments ...openmanus.Argument) openmanus.ToolSpec {
	head, description, headed := strings.Cut(text, "\n---\n")
	if !headed {
		return New(name, text, schema, h, arguments...)
	}
	spec := New(name, description, schema, h, arguments...)
	spec.Says = Says(head)
	return spec
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

// Says reads what people read of a tool's calls, on a line each:
//
//	[ARGUMENT=VALUE] [KIND]: DO, DOING, DID | the same in Chinese [@ ARGUMENT, …]
//
// The arguments after @ say what a call works on. Says panics if the text has another form.
func Says(text string) (all []openmanus.Saying) {
	for line := range strings.SplitSeq(text, "\n") {
		about, words, _ := strings.Cut(line, ":")
		words, on, _ := strings.Cut(words, " @ ")
		en, zh, _ := strings.Cut(words, " | ")
		s := openmanus.Saying{Words: map[string]string{"en": strings.TrimSpace(en), "zh": strings.TrimSpace(zh)}}
		for _, forms := range s.Words {
			if strings.Count(forms, ", ") != 2 {
				panic(fmt.Sprintf("toolspec: %q has not three forms in both languages", line))
			}
		}
		for _, f := range strings.Fields(about) {
			if strings.Contains(f, "=") {
				s.If = f
			} else {
				s.Kind = openmanus.ToolKind(f)
			}
		}
		if on != "" {
			s.On = strings.Split(on, ", ")
		}
		all = append(all, s)
	}
	return all
}
