package tools

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/toolspec"
)

// specFiles are the texts that models read: NAME.txt is the description of a
// tool and NAME.json the schema of its arguments. They are worth choosing word
// by word, so they stand in files of their own. Words in braces, such as
// {usual}, are placeholders.
//
//go:embed spec
var specFiles embed.FS

// specText returns the text of a file in spec.
func specText(file string) string { return toolspec.Text(specFiles, "spec/"+file) }

// specOf returns the spec of the tool name, from its files.
func specOf(name string, h openmanus.Hints, arguments ...openmanus.Argument) openmanus.ToolSpec {
	return toolspec.Read(specFiles, "spec", name, h, arguments...)
}

// filledSpec returns the spec of the tool name from file.txt and file.json,
// with their placeholders replaced by fill.
func filledSpec(
	name, file string, fill *strings.Replacer, h openmanus.Hints, arguments ...openmanus.Argument,
) openmanus.ToolSpec {
	return toolspec.Headed(name, fill.Replace(specText(file+".txt")), fill.Replace(specText(file+".json")), h,
		arguments...)
}

// Declarations of arguments: see [openmanus.Argument].

// onlyText declares that all arguments are content, with which the call does
// nothing outside its session.
var onlyText = openmanus.Argument{Name: "*", Kind: openmanus.TextArgument}

func readsPath(name string) openmanus.Argument {
	return openmanus.Argument{Name: name, Kind: openmanus.PathArgument, Does: openmanus.Reads}
}

func writesPath(name string) openmanus.Argument {
	return openmanus.Argument{Name: name, Kind: openmanus.PathArgument, Does: openmanus.Writes}
}

// hinted is a tool whose calls differ in what they may do. If show is not nil,
// it can also show beforehand what a call would do.
type hinted struct {
	openmanus.Tool
	hints func(openmanus.Call) openmanus.Hints
	show  func(context.Context, openmanus.Call) (string, error)
}

// Hints implements [openmanus.CallHinter].
func (h hinted) Hints(call openmanus.Call) openmanus.Hints { return h.hints(call) }

// Preview implements [openmanus.Previewer].
func (h hinted) Preview(ctx context.Context, call openmanus.Call) (string, error) {
	if h.show == nil {
		return "", nil
	}
	return h.show(ctx, call)
}

// stringArgument returns the string that a call has for one of its arguments,
// or "".
func stringArgument(call openmanus.Call, name string) string {
	var in map[string]json.RawMessage
	var s string
	if json.Unmarshal([]byte(call.Input), &in) != nil || json.Unmarshal(in[name], &s) != nil {
		return ""
	}
	return s
}

// A refusal is an error in the words of OpenManus, which models know.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, a ...any) error { return refusal(fmt.Sprintf(format, a...)) }

// required returns the refusal for a parameter that one command of a tool needs
// and others do not, so that the schema cannot require it.
func required(param, command string) error {
	return refuse("Parameter `%s` is required for command: %s", param, command)
}
