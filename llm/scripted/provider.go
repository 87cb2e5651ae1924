package scripted

import (
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/provider"
)

// Provider describes scripts. A model is named scripted:FILE, where FILE is an
// archive that [Open] reads.
func Provider() *provider.Provider {
	return &provider.Provider{
		Name:   "scripted",
		Script: true,
		New: func(o provider.Options) (llm.Model, error) {
			script, err := Open(o.Model)
			if err != nil {
				return nil, err
			}
			return script.Model(), nil
		},
	}
}
