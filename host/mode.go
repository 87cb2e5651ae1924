package host

import (
	"github.com/openmanus-go/openmanus"
)

// commandsLook reports whether commands of sessions with the spec can change nothing.
func commandsLook(spec openmanus.Spec) bool {
	return spec.SandboxReadOnly || openmanus.Mode(spec.Approve).LooksOnly()
}
