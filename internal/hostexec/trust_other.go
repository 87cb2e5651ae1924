//go:build !unix

package hostexec

import (
	"os"
	"path/filepath"
)

// onlyRoot reports whether nobody but the system can change a file. Here nobody knows.
func onlyRoot(string) bool { return false }

// untrusted says why a file or directory is in a workspace, as a clause, or "". It does not
// look at who else can write it.
func untrusted(path string, off []place, _ bool) string {
	for at := RealPath(path); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return err.Error()
		}
		if in := inside(at, info, off); in != "" {
			return "it is in " + in + ", where commands of the agent write"
		}
		if filepath.Dir(at) == at {
			return ""
		}
	}
}
