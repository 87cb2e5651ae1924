package sandbox

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/workspace"
)

// personHome makes a home directory with toolchains and, in and beside them, secrets:
// files with the word SECRET.
func personHome(t *testing.T) string {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".ssh/id_ed25519": "SECRET", ".netrc": "SECRET", ".npmrc": "//registry/:_authToken=SECRET", ".pypirc": "SECRET",
		".config/pip/pip.conf": "SECRET", ".config/go/env": "GOPROXY=https://u:SECRET@example.org\nGOFLAGS=-v\n", ".env": "SECRET",
		".cargo/credentials.toml": "SECRET", ".cargo/credentials": "SECRET", ".cargo/bin/cargo": "#!/bin/sh\n",
		".cargo/config.toml": "[registry]\ntoken = \"SECRET\"\n[registries.x]\nindex = \"https://u:SECRET@example.org/i\"\ntoken = \"SECRET\"\n" +
			"[env]\nX = \"SECRET\"\n[http]\nproxy = \"SECRET\"\n[source.crates-io]\nreplace-with = \"x\"\n[alias]\nb = \"build\"\n",
		".cargo/registry/cache/i/a-1.crate": "crate", ".cargo/registry/src/i/a-1/lib.rs": "rust",
		".m2/settings-security.xml": "SECRET", ".m2/repository/a/a.jar": "jar",
		".m2/settings.xml": "<settings><servers><server><id>x</id><password>SECRET</password></server></servers><mirrors><mirror><id>m</id>" +
			"<url>https://u:SECRET@example.org/m2</url><mirrorOf>*</mirrorOf></mirror></mirrors><profiles><profile><id>p</id><properties>" +
			"<pass>SECRET</pass></properties></profile></profiles></settings>",
		".pyenv/versions/3.99.1/bin/python3": "#!/bin/sh\n", ".pyenv/version": "3.99.1\n", ".pyenv/.git/config": "SECRET",
		".nvm/nvm.sh": "", ".nvm/.npmrc": "SECRET", ".nvm/versions/node/v20.99.0/bin/node": "#!/bin/sh\n",
		".npm/_cacache/index-v5/00/x": "index", ".npm/_cacache/content-v2/sha512/00/x": "content", ".npm/_logs/x.log": "SECRET",
		"miniconda3/conda-meta/history": "x", "miniconda3/.condarc": "SECRET", "miniconda3/bin/conda": "#!/bin/sh\n",
		".local/bin/uv": "#!/bin/sh\n", ".local/bin/deploy": "SECRET", ".local/share/keyrings/x": "SECRET",
		".local/share/pipx/venvs/a/bin/a": "#!/bin/sh\n", ".local/share/pipx/logs/x": "SECRET", ".config/mise/config.toml": "[env]\nX = \"SECRET\"\n[tools]\nnode = \"20\"\n",
		".local/share/mise/installs/node/20/bin/node": "#!/bin/sh\n", "go/pkg/mod/cache/download/x": "mod", "go/bin/tool": "SECRET",
		".sdkman/candidates/java/17/bin/java": "#!/bin/sh\n", ".sdkman/etc/config": "SECRET", "bin/mine": "SECRET", "notes.txt": "SECRET",
		".rustup/toolchains/stable/bin/rustc": "#!/bin/sh\n", ".rustup/settings.toml": "x = 1\n", ".rustup/tmp/x": "SECRET",
		".cache/pypoetry/virtualenvs/a/bin/python": "#!/bin/sh\n", ".config/pypoetry/auth.toml": "SECRET", ".cache/pypoetry/cache/x": "SECRET",
		"venvs/lib/python3.11/os.py": "", "venvs/bin/python3": "#!/bin/sh\n", "venvs/secret": "SECRET",
	} {
		at := filepath.Join(home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../share/pipx/venvs/a/bin/a", filepath.Join(home, ".local/bin/a")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"PYENV_ROOT", "NVM_DIR", "RUSTUP_HOME", "CARGO_HOME", "GOPATH", "GOMODCACHE", "JAVA_HOME", "SDKMAN_DIR",
		"VIRTUAL_ENV", "CONDA_PREFIX", "GOPROXY", "XDG_CONFIG_HOME", "GOENV"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	t.Setenv("PATH", home+"/.local/bin:"+home+"/go/bin:"+home+"/bin:"+home+"/venvs/bin:"+home+"/.pyenv/versions/3.99.1/bin:/usr/bin:/bin")
	return home
}

// TestNoSecretsOfToolchains holds that commands find the toolchains of a home directory
// and none of the secrets in it, with and without a network.
func TestNoSecretsOfToolchains(t *testing.T) {
	testbed.Need(t, "bwrap")
	home := personHome(t)
	for _, kind := range []Kind{Bubblewrap, Landlock} {
		for _, network := range []Network{NoNetwork, AllNetwork} {
			ws, err := Open(t.Context(), Options{Dir: t.TempDir(), Kind: kind, Network: network, Toolchains: []string{AutoToolchains}})
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			err = ws.Run(t.Context(), &workspace.Cmd{Args: []string{"bash", "-c", `grep -Rls SECRET "$0" "$HOME"; env | grep SECRET
				for f in .cargo/bin/cargo .pyenv/versions/3.99.1/bin/python3 .nvm/versions/node/v20.99.0/bin/node miniconda3/bin/conda \
					.sdkman/candidates/java/17/bin/java .rustup/toolchains/stable/bin/rustc .local/share/mise/installs/node/20/bin/node \
					.cache/pypoetry/virtualenvs/a/bin/python venvs/bin/python3; do "$0/$f" || echo "no $f"; done
				uv && a && python3 || echo 'no programs'
				cat ~/.cargo/registry/src/i/a-1/lib.rs ~/.cargo/registry/cache/i/a-1.crate ~/.npm/_cacache/index-v5/00/x > /dev/null || echo 'no caches'
				echo x > ~/.cargo/registry/src/i/b && echo x > ~/.npm/_cacache/index-v5/00/y || echo 'no room'
				grep -c example.org ~/.cargo/config.toml ~/.m2/settings.xml
				command -v deploy mine tool
				for d in .cargo/bin .pyenv/versions .local/share/pipx/venvs miniconda3/bin; do (echo x > "$0/$d/x") 2> /dev/null && echo "wrote $d"; done; true`, home},
				Stdout: &out, Stderr: &out})
			inside := ws.Cage.(interface{ Name() string }).Name()
			got := out.String()
			for line := range strings.Lines(got) {
				if strings.Contains(line, "config.toml:1") || strings.Contains(line, "settings.xml:1") {
					got = strings.ReplaceAll(got, line, "")
				}
			}
			if err != nil || got != "" {
				t.Errorf("%s, network %s: %v\n%s", inside, network, err, got)
			}
			if err := ws.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestToolchainOptions holds what is shown of a home directory with each kind of
// option, and with rules that deny.
func TestToolchainOptions(t *testing.T) {
	home := personHome(t)
	none := func(string) bool { return false }
	find := func(o Options) (*toolchains, error) { return findToolchains(o, t.TempDir(), none) }
	has := func(tools *toolchains, name string) bool {
		return withinAny(tools.shown(), filepath.Join(home, name))
	}
	auto := []string{AutoToolchains}
	for _, row := range []struct {
		name      string
		o         Options
		yes, no   []string
		wantError string
	}{
		{"none", Options{}, nil, []string{".pyenv/versions", ".cargo/bin", ".local/bin/uv"}, ""},
		{"auto", Options{Toolchains: auto}, []string{".pyenv/versions/3.99.1", ".cargo/bin", ".cargo/registry/src", "go/pkg/mod", "venvs/lib"},
			[]string{".pyenv", ".cargo", "go/bin", "bin", "venvs", ".local/bin", ".npm", ".m2", ".config/go"}, ""},
		{"a list", Options{Toolchains: []string{home + "/.pyenv"}}, []string{".pyenv/versions"}, []string{".cargo/bin", "go/pkg/mod"}, ""},
		{"a list without a toolchain", Options{Toolchains: []string{home + "/bin"}}, nil, nil, "no toolchain was recognised"},
		{"a list with what is not there", Options{Toolchains: []string{home + "/nothing"}}, nil, nil, "no such file"},
		{"a relative path", Options{Toolchains: []string{"x"}}, nil, nil, "not an absolute path"},
		{"the home directory", Options{Toolchains: []string{home}}, []string{".pyenv/versions"}, []string{"notes.txt", ".ssh"}, ""},
		{"a rule for a directory", Options{Toolchains: auto, Deny: func(name string) bool { return name == home+"/.pyenv" }},
			[]string{".cargo/bin"}, []string{".pyenv/versions"}, ""},
		{"own directories", Options{Toolchains: auto, Hide: []string{home + "/.pyenv/versions/3.99.1"}}, []string{".cargo/bin"},
			[]string{".pyenv/versions"}, ""},
		{"own directories above", Options{Toolchains: auto, Hide: []string{home + "/.cargo"}}, []string{".pyenv/versions"}, []string{".cargo/bin"}, ""},
	} {
		tools, err := find(row.o)
		if row.wantError != "" {
			if err == nil || !strings.Contains(err.Error(), row.wantError) {
				t.Errorf("%s: %v", row.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		for _, name := range row.yes {
			if !has(tools, name) {
				t.Errorf("%s: %s is not shown", row.name, name)
			}
		}
		for _, name := range row.no {
			if has(tools, name) {
				t.Errorf("%s: %s is shown", row.name, name)
			}
		}
	}
	denied := filepath.Join(home, ".pyenv/versions/3.99.1/bin/python3")
	tools, err := find(Options{Toolchains: auto, Deny: func(name string) bool { return name == denied }})
	if err != nil || !slices.Contains(tools.masked, denied) || !has(tools, ".pyenv/versions") {
		t.Errorf("a rule for a file: %v, hidden are %q", err, tools.masked)
	}
}

// FuzzSettings holds that what is left of settings has nothing but what is listed, and
// that nothing panics.
func FuzzSettings(f *testing.F) {
	f.Add([]byte("<settings><servers><server/></servers><mirrors><mirror><url>https://u:p@h/</url></mirror></mirrors></settings>"))
	f.Add([]byte("[registry]\ntoken = \"x\"\n[registries.a]\nindex = \"https://u:p@h/\"\ntoken = \"y\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if out, err := mavenSettings(data); err == nil {
			for d := xml.NewDecoder(strings.NewReader(string(out))); ; {
				token, err := d.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%q: %v", out, err)
				}
				if e, ok := token.(xml.StartElement); ok && (!slices.Contains(mavenKept, e.Name.Local) || len(e.Attr) > 0) {
					t.Fatalf("%q has %s", out, e.Name.Local)
				}
			}
		}
		var m map[string]any
		if toml.Unmarshal(data, &m) != nil {
			return
		}
		kept := cargoSettings(m)
		withoutPasswords(kept)
		if r, ok := kept["registry"].(map[string]any); ok && r["token"] != nil {
			t.Fatal("the token is there")
		}
		if all, ok := kept["registries"].(map[string]any); ok {
			for _, r := range all {
				if table, ok := r.(map[string]any); ok && table["token"] != nil {
					t.Fatal("a token is there")
				}
			}
		}
	})
}
