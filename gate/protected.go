package gate

import (
	"path"
	"slices"
	"strings"
)

// Protected reports whether name is a file or directory that programs outside
// of a sandbox read and obey: git, shells, editors and agents, when they are
// started there. Who can write such a file can run anything later. name is
// slash-separated and relative to a workspace.
func Protected(name string) bool {
	name = strings.ToLower(path.Clean(name))
	for at := name; at != "." && at != "/"; at = path.Dir(at) {
		if slices.Contains(protectedDirs, path.Base(at)) {
			return true
		}
	}
	base := path.Base(name)
	return slices.Contains(protectedFiles, base) ||
		strings.HasSuffix(base, ".code-workspace") || strings.HasSuffix(base, ".pth")
}

// Names in lower case: some file systems ignore case.
var (
	protectedDirs = strings.Fields(`.git .vscode .idea .fleet .zed .claude .cursor .codex .gemini .openmanus
		.husky .devcontainer .direnv`)
	protectedFiles = strings.Fields(`.gitmodules .gitconfig .gitattributes .bashrc .bash_profile .bash_login
		.bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .inputrc .envrc .npmrc
		.pypirc .netrc .mcp.json mcp.json openmanus.toml .ripgreprc .tool-versions sitecustomize.py usercustomize.py`)
)
