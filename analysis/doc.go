// Package analysis has the tools with which an agent looks into data: charts
// with what is to be seen in them (data_visualization), a cleaned table first
// where one is needed (visualization_preparation), and a report that can be
// sent to somebody (data_report).
//
// Files are read and written through the workspace. Nothing is loaded from
// the network, and no program is run save the Chromium that makes a PDF.
package analysis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// newSpec returns a spec whose schema is written by hand.
func newSpec(name, description, schema string, h openmanus.Hints) openmanus.Spec {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(schema)); err != nil {
		panic(fmt.Sprintf("analysis: the schema of %s: %v", name, err))
	}
	return openmanus.Spec{ToolSpec: llm.ToolSpec{Name: name, Description: strings.TrimSpace(description), Input: b.Bytes()}, Hints: h}
}
