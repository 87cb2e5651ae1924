package sandbox

// A manager is a program that keeps toolchains or their caches in a directory of
// its own, usually in the home directory. The table managers knows them by name;
// nothing else in a home directory is ever shown, whoever names it.
//
// The list show is what is shown of the root, and nothing else of it: a root may
// also have settings, tokens and logs.
type manager struct {
	name string
	root []string // where it is: "$NAME" is a variable, "~/" the home directory; the first that exists
	mark string   // a name that its root has, so that another directory is not taken for it; "": none
	show []string // patterns of names in the root, with slashes
	vars []string // NAME=VALUE for commands; {} in a value is the root
	list string   // a directory of the root whose names are versions; "": none
	of   string   // what these are versions of
}

// managers are the layouts that are known. Where the variable of a manager is
// set, it says where the root is, as it does for the manager itself.
var managers = []manager{
	{name: "pyenv", root: []string{"$PYENV_ROOT", "~/.pyenv"}, mark: "versions", list: "versions", of: "python",
		show: []string{"bin", "libexec", "plugins", "pyenv.d", "shims", "version", "versions", "completions"},
		vars: []string{"PYENV_ROOT={}"}},
	{name: "uv", root: []string{"~/.local/share/uv"}, list: "python", of: "python", show: []string{"python", "tools"},
		vars: []string{"UV_PYTHON_INSTALL_DIR={}/python", "UV_TOOL_DIR={}/tools"}},
	{name: "conda", root: []string{"$CONDA_ROOT", "~/miniconda3", "~/miniforge3", "~/mambaforge", "~/anaconda3",
		"~/micromamba"}, mark: "conda-meta", list: "envs", of: "conda environment", show: []string{"[^.]*"}},
	{name: "conda environments", root: []string{"~/.conda"}, mark: "envs", show: []string{"envs"}, list: "envs",
		of: "conda environment"},
	{name: "pipx", root: []string{"$PIPX_HOME", "~/.local/share/pipx", "~/.local/pipx"}, mark: "venvs",
		show: []string{"venvs", "shared", "py"}},
	{name: "poetry", root: []string{"~/.local/share/pypoetry"}, mark: "venv", show: []string{"venv"}},
	{name: "poetry environments", root: []string{"~/.cache/pypoetry"}, mark: "virtualenvs",
		show: []string{"virtualenvs"}, vars: []string{"POETRY_VIRTUALENVS_PATH={}/virtualenvs"}},
	{name: "pipenv environments", root: []string{"~/.local/share/virtualenvs"}, show: []string{"[^.]*"},
		vars: []string{"WORKON_HOME={}"}},
	{name: "python packages of the user", root: []string{"~/.local/lib"}, show: []string{"python3.*"}},
	{name: "nvm", root: []string{"$NVM_DIR", "~/.nvm", "~/.config/nvm"}, mark: "nvm.sh", list: "versions/node",
		of: "node", show: []string{"nvm.sh", "nvm-exec", "bash_completion", "alias", "versions"},
		vars: []string{"NVM_DIR={}"}},
	{name: "volta", root: []string{"$VOLTA_HOME", "~/.volta"}, mark: "tools", list: "tools/image/node", of: "node",
		show: []string{"bin", "tools", "layout.v*"}, vars: []string{"VOLTA_HOME={}"}},
	{name: "fnm", root: []string{"$FNM_DIR", "~/.local/share/fnm", "~/.fnm"}, mark: "node-versions",
		list: "node-versions", of: "node", show: []string{"fnm", "node-versions", "aliases"},
		vars: []string{"FNM_DIR={}"}},
	{name: "npm", root: []string{"$NPM_CONFIG_CACHE", "$npm_config_cache", "~/.npm"}, mark: "_cacache",
		show: []string{"_cacache"}},
	{name: "npm packages of the user", root: []string{"~/.npm-global"}, mark: "lib/node_modules",
		show: []string{"bin", "lib"}},
	{name: "corepack", root: []string{"$COREPACK_HOME", "~/.cache/node/corepack"}, show: []string{"v1"},
		vars: []string{"COREPACK_HOME={}"}},
	{name: "bun", root: []string{"$BUN_INSTALL", "~/.bun"}, mark: "bin/bun", show: []string{"bin"}},
	{name: "deno", root: []string{"$DENO_INSTALL", "~/.deno"}, mark: "bin/deno", show: []string{"bin"}},
	{name: "rustup", root: []string{"$RUSTUP_HOME", "~/.rustup"}, mark: "toolchains", list: "toolchains", of: "rust",
		show: []string{"toolchains", "settings.toml", "update-hashes"}, vars: []string{"RUSTUP_HOME={}"}},
	{name: "cargo", root: []string{"$CARGO_HOME", "~/.cargo"}, show: []string{"bin", "env", "registry/index",
		"registry/cache", "registry/src", "git/db", "git/checkouts"}},
	{name: "Go modules", root: []string{"$GOMODCACHE", "$GOPATH/pkg/mod", "~/go/pkg/mod"}, mark: "cache",
		show: []string{"."}},
	{name: "Go versions", root: []string{"~/sdk"}, show: []string{"go*"}, list: ".", of: "go"},
	{name: "sdkman", root: []string{"$SDKMAN_DIR", "~/.sdkman"}, mark: "candidates", list: "candidates/java",
		of: "java", show: []string{"candidates", "bin", "src", "libexec"}, vars: []string{"SDKMAN_DIR={}"}},
	{name: "Maven", root: []string{"~/.m2"}, show: []string{"repository", "wrapper"}},
	{name: "mise", root: []string{"$MISE_DATA_DIR", "~/.local/share/mise"}, mark: "installs",
		show: []string{"installs", "shims", "plugins"}, vars: []string{"MISE_DATA_DIR={}"}},
	{name: "asdf", root: []string{"$ASDF_DATA_DIR", "$ASDF_DIR", "~/.asdf"}, mark: "installs",
		show: []string{"installs", "shims", "plugins", "bin", "lib", "libexec", "internal", "asdf.sh", "version.txt"},
		vars: []string{"ASDF_DATA_DIR={}", "ASDF_DIR={}"}},
	{name: "rbenv", root: []string{"$RBENV_ROOT", "~/.rbenv"}, mark: "versions", list: "versions", of: "ruby",
		show: []string{"bin", "libexec", "plugins", "rbenv.d", "shims", "version", "versions"},
		vars: []string{"RBENV_ROOT={}"}},
	{name: "Homebrew", root: []string{"$HOMEBREW_PREFIX", "/home/linuxbrew/.linuxbrew", "~/.linuxbrew"},
		mark: "Cellar", show: []string{"bin", "sbin", "Cellar", "opt", "lib", "libexec", "share", "include", "etc"}},
}

// A layout is what the directory of one toolchain has in it, wherever it is: the
// names of one of these all exist in it.
type layout struct {
	name  string
	marks []string // patterns
}

// layouts are the toolchains that are recognised by what they have. The first two
// are those of Python, which a workspace may name too.
var layouts = []layout{
	{"python environment", []string{"pyvenv.cfg", "bin/python*"}},
	{"python", []string{"bin/python3*", "lib*/python3*/os.py"}},
	{"go", []string{"bin/go", "VERSION", "src/runtime"}},
	{"java", []string{"bin/java", "release"}},
	{"node", []string{"bin/node", "include/node"}},
	{"node", []string{"bin/node", "lib/node_modules"}},
	{"rust", []string{"bin/rustc", "lib/rustlib"}},
	{"conda", []string{"conda-meta", "bin/python"}},
	{"Maven", []string{"bin/mvn", "lib/maven-core-*.jar"}},
	{"Gradle", []string{"bin/gradle", "lib/gradle-*.jar"}},
	{"ruby", []string{"bin/ruby", "lib/ruby"}},
}

// ofPrefix are the names that are shown of a toolchain that a layout recognised.
var ofPrefix = []string{"bin", "sbin", "lib", "lib32", "lib64", "libexec", "include", "share", "src", "pkg", "api",
	"misc", "test", "jmods", "legal", "boot", "conf/logging", "release", "VERSION", "go.env", "pyvenv.cfg",
	"conda-meta", "etc/conda", "ssl", "x86_64-conda-linux-gnu", "x86_64-conda_cos6-linux-gnu"}

// neverShown are the directories of a home directory that hold keys, settings or
// everything at once. A toolchain that is, or has, one of them is not shown; one
// in them is, where the table managers says so or a layout recognises it.
var neverShown = []string{".", ".ssh", ".gnupg", ".aws", ".azure", ".config", ".kube", ".docker", ".password-store",
	".mozilla", ".thunderbird", ".local", ".local/bin", ".local/share", ".local/share/keyrings", ".local/state",
	".cache", ".gcloud", ".oci", ".terraform.d", "Documents", "Downloads", "Desktop", "Pictures", "bin"}

// neverBelow are those of them in which nothing is a toolchain.
var neverBelow = []string{".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", ".mozilla",
	".thunderbird", ".local/share/keyrings", ".gcloud", ".oci", ".terraform.d"}

// passedTools are variables of this process that tools read and that name no
// secret: commands have them too if what they name, a path, is visible.
var passedTools = []string{"JAVA_HOME", "GOROOT", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_EXE", "M2_HOME",
	"MAVEN_HOME", "GRADLE_HOME", "NVM_BIN"}

// passedSettings are variables of this process with settings of tools: names and
// versions, never addresses or keys.
var passedSettings = []string{"PYENV_VERSION", "RUSTUP_TOOLCHAIN", "CONDA_DEFAULT_ENV", "RBENV_VERSION"}

// goSettings are the settings of Go that commands get, from the variables or the
// file of `go env -w`. GOPROXY is not among them: it may have a password.
var goSettings = []string{"GOFLAGS", "GOTOOLCHAIN", "GOPRIVATE", "GONOSUMDB", "GOEXPERIMENT",
	"CGO_ENABLED", "GO111MODULE"}
