package analysis

import (
	"embed"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/toolspec"
)

// specFiles are the texts that models read: NAME.txt is the description of the
// tool NAME, and NAME.json the schema of its arguments.
//
//go:embed spec
var specFiles embed.FS

// specOf returns the spec of the tool name, from its files.
func specOf(name string, h openmanus.Hints, arguments ...openmanus.Argument) openmanus.ToolSpec {
	return toolspec.Read(specFiles, "spec", name, h, arguments...)
}
