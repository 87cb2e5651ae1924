package gate

import (
	"path"
	"slices"
	"strings"
)

// Protected reports whether the file or directory name, slash-separated and
// relative to a workspace, is one that programs outside a sandbox read and
// obey: what git, shells, editors and agents run when they are started there.
// Whoever may write it may run what they like later.
func Protected(name string) bool {
	name = strings.ToLower(path.Clean(name))
	for at := name; at != "." && at != "/"; at = path.Dir(at) {
		base := path.Base(at)
		if slices.Contains([]string{".git", ".vscode", ".idea", ".fleet", ".zed", ".claude", ".cursor", ".codex", ".gemini", ".openmanus", ".husky", ".devcontainer", ".direnv"}, base) {
			return true
		}
	}
	base := path.Base(name)
	return slices.Contains([]string{".gitmodules", ".gitconfig", ".gitattributes", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
		".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".inputrc", ".envrc", ".npmrc", ".pypirc", ".netrc", ".mcp.json", "mcp.json", "openmanus.toml", ".ripgreprc",
		".tool-versions", "sitecustomize.py", "usercustomize.py"}, base) || strings.HasSuffix(base, ".code-workspace") || strings.HasSuffix(base, ".pth")
}
