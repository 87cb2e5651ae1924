package strict

import (
	_ "embed" // tools.json
	"encoding/json"
)

// A Tool is a schema as servers have it.
type Tool struct {
	Of     string            // what it is an example of
	Schema json.RawMessage   // as the server says it
	Good   []json.RawMessage // arguments that fit it
	Bad    []json.RawMessage // and that do not
	Says   string            // what a description says of it where it is rewritten
	Same   bool              // every provider takes it as it is
}

//go:embed testdata/tools.json
var tools []byte

// Tools returns schemas of real servers, shortened, and of each kind that a provider
// refuses.
func Tools() (all []Tool) {
	if err := json.Unmarshal(tools, &all); err != nil {
		panic("strict: " + err.Error())
	}
	return all
}
