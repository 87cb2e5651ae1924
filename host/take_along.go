package host

import (
	"path"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/protected"
)

// StaysAtHome returns a function that says why a name in the workspace dir, and
// everything below it, is not taken along to another machine, nor brought from one, or
// "": what the program keeps for itself, what programs take orders from, and what
// usually holds secrets. A repository can be cloned, and settings are the person's.
func (e Env) StaysAtHome(cfg *config.Config, dir string) func(name string) string {
	own := e.Own(cfg, dir)
	return func(name string) string {
		switch r, _ := protected.Find(name); {
		case own(name):
			return "OpenManus keeps its own configuration or data there"
		case r.Protected:
			return "it stays on its machine: " + r.Reason
		case protected.HoldsSecrets(path.Base(name)):
			return "files of this name usually hold secrets"
		}
		return ""
	}
}

// StaysAtHome is [Env.StaysAtHome] with the host's configuration.
func (h *Host) StaysAtHome(dir string) func(name string) string {
	return h.Env.StaysAtHome(h.Config, dir)
}
