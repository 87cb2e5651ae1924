package hostexec

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The words of a command stay while what they lead to becomes something else: PATH has
// another directory in front, a link another target, a script another line, a package
// another version. So a person's yes to a command is bound to its parts, and not to its
// words. Files that only root can change are known by their place alone: an update of the
// system is no reason to ask.

// A Part is something that decides what a command does.
type Part struct {
	Kind    string `json:"kind"`              // one of the kinds below
	Name    string `json:"name"`              // the path at which it was found, or the package as the command names it
	Real    string `json:"real,omitempty"`    // the path without links; "": there is no such file
	Version string `json:"version,omitempty"` // of a package; "": nobody here knows it
	Sum     string `json:"sum,omitempty"`     // of its content; "": only root can change it, or it is no file
	Stamp   string `json:"stamp,omitempty"`   // while a file has it, its content is the same; "": nobody knows
}

// The kinds of parts.
const (
	Program = "program"
	Script  = "script"
	Package = "package"
)

// String describes the part for people, in one line.
func (p Part) String() string {
	var more []string
	switch {
	case p.Kind == Package && p.Version != "":
		more = append(more, "version "+p.Version)
	case p.Kind == Package:
		more = append(more, "in whichever version there is, since it names none")
	case p.Real == "":
		more = append(more, "which is not there")
	case p.Real != p.Name:
		more = append(more, "really "+p.Real)
	}
	if p.Sum != "" {
		more = append(more, "sha256 "+p.Sum[:min(len(p.Sum), 32)])
	}
	text := p.Kind + " " + p.Name
	if len(more) > 0 {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	return text
}

// A Started is a command as it is started.
type Started struct {
	Words []string // the program and its arguments; or
	Shell string   // a script for a shell
	Dir   string   // where relative paths begin
	Env   []string // NAME=VALUE
	Known []Part   // parts whose sums count for files with their stamps
}

// Runs returns what the command runs at this moment: its program, also behind a wrapper
// such as env or in the script of a shell; the file that an interpreter is given, and other
// programs and scripts that a word names; and the package that npx, uvx or pipx is given.
// It does not look into them: a file that a script loads is no part.
func (f Finder) Runs(c Started) []Part {
	r := &reader{f: f, dir: cmp.Or(c.Dir, "/"), env: map[string]string{}, known: c.Known}
	for _, kv := range c.Env {
		name, value, _ := strings.Cut(kv, "=")
		r.env[name] = value
	}
	r.f.List = cmp.Or(r.env["PATH"], f.List)
	if c.Shell != "" {
		r.script(c.Shell)
	} else {
		r.command(c.Words, false)
	}
	for _, name := range slices.Concat(single, options) {
		if v := r.env[name]; v != "" {
			r.loose(strings.FieldsFunc(v, func(c rune) bool { return strings.ContainsRune(" \t\n\"'", c) }))
		}
	}
	return r.parts
}

// maxDepth is how deep commands within commands are looked into.
const maxDepth = 8

// A reader finds the parts of one command.
type reader struct {
	f     Finder
	dir   string
	env   map[string]string
	known []Part
	parts []Part
	depth int
}

// A manner says how a program reads its command line, as far as that decides what it runs.
// Options are written with a space around each.
type manner struct {
	values string // options that have a value in the next word
	files  string // options whose value is a file that it runs
	text   string // options whose value is a script for a shell
	dirs   string // options whose value is the directory in which it goes on
	inline string // options after which no file follows that it runs: the program is in the words
	skip   int    // how many other words come before the command: the time of timeout
	then   string // what follows the options: "command", "file", "package", "text", or "again" the words of the same program
}

// manners are the programs that run what their command line names, by name and, for those
// with subcommands, the words of it.
var manners = map[string]manner{
	"env":     {values: " -u --unset ", dirs: " -C --chdir ", text: " -S --split-string ", then: "command"},
	"nice":    {values: " -n --adjustment ", then: "command"},
	"ionice":  {values: " -c -n -p ", then: "command"},
	"nohup":   {then: "command"},
	"setsid":  {then: "command"},
	"time":    {values: " -f -o ", then: "command"},
	"exec":    {values: " -a ", then: "command"},
	"command": {then: "command"},
	"stdbuf":  {values: " -i -o -e ", then: "command"},
	"timeout": {values: " -s --signal -k --kill-after ", skip: 1, then: "command"},
	"sudo":    {values: " -u -g -h -p -C -T ", then: "command"},
	"doas":    {values: " -u -C ", then: "command"},
	"dotenv":  {values: " -f --file -e ", then: "command"},
	"eval":    {then: "text"},
	".":       {then: "file"},
	"source":  {then: "file"},

	"xvfb-run": {values: " -e -f -n -p -s -w ", then: "command"},

	"sh": shellWords, "bash": shellWords, "dash": shellWords, "ash": shellWords, "zsh": shellWords, "ksh": shellWords, "fish": shellWords,
	"cmd":        {then: "text"},
	"pwsh":       {values: " -ExecutionPolicy ", files: " -File -f ", text: " -Command -c ", then: "file"},
	"powershell": {values: " -ExecutionPolicy ", files: " -File ", text: " -Command ", then: "file"},

	"python": pythonWords, "pythonw": pythonWords, "pypy": pythonWords, "py": pythonWords,
	"node": nodeWords, "nodejs": nodeWords, "tsx": nodeWords, "ts-node": nodeWords, "bun": nodeWords, "bun run": nodeWords,
	"deno": {then: "file"}, "deno run": {values: " -c --config --import-map ", then: "file"},
	"ruby": {values: " -I -C ", files: " -r ", inline: " -e ", then: "file"}, "perl": {values: " -I -M ", inline: " -e -E ", then: "file"},
	"php": {values: " -d -c ", files: " -f ", inline: " -r ", then: "file"}, "lua": {values: " -l ", inline: " -e ", then: "file"},
	"rscript": {inline: " -e ", then: "file"}, "dotnet": {then: "file"}, "go run": {then: "file"},
	"java": {values: " -cp -classpath --class-path -p --module-path ", files: " -jar "},

	"npx": npmWords, "npm exec": npmWords, "npm x": npmWords, "pnpx": npmWords, "pnpm dlx": npmWords, "pnpm exec": npmWords, "yarn dlx": npmWords,
	"bunx": npmWords, "bun x": npmWords, "uvx": uvWords, "uv tool run": uvWords,
	"uv": {dirs: " --directory --project ", then: "again"},
	"uv run": {dirs: " --directory --project ", values: " --with --python -p --index --default-index --env-file --extra --group --only-group --package ",
		inline: " -m --module ", then: "command"},
	"pipx run": {values: " --spec --python --index-url --pip-args ", then: "package"},
}

var (
	shellWords  = manner{values: " -o -O +O --rcfile --init-file ", text: " -c -lc -ic -ec -cl -ce -xc ", then: "file"}
	pythonWords = manner{values: " -W -X ", inline: " -c -m ", then: "file"}
	nodeWords   = manner{values: " -C --conditions --env-file ", files: " -r --require --import --loader --experimental-loader ", inline: " -e --eval -p --print ", then: "file"}
	npmWords    = manner{values: " -p --package -w --workspace --registry --cache --prefix --userconfig ", text: " -c --call ", then: "package"}
	uvWords     = manner{values: " --from --with --with-editable --with-requirements --python -p --index --index-url --extra-index-url --default-index -c --constraints ", then: "package"}
)

// versioned is the version at the end of the name of a program.
var versioned = regexp.MustCompile(`[0-9.]+$`)

// called returns the name by which manners knows a program.
func called(path string) string {
	name := strings.ToLower(filepath.Base(filepath.ToSlash(path)))
	for _, end := range []string{".exe", ".cmd", ".bat"} {
		name = strings.TrimSuffix(name, end)
	}
	return cmp.Or(versioned.ReplaceAllString(name, ""), name)
}

// command adds the parts of a command. In the script of a shell, a name that is no program
// is a word of the shell.
func (r *reader) command(words []string, inShell bool) {
	for len(words) > 0 {
		name, value, ok := strings.Cut(words[0], "=")
		if !ok || strings.ContainsAny(name, `/\-. `) {
			break
		}
		if name == "PATH" {
			r.f.List = value
		}
		r.loose([]string{value})
		words = words[1:]
	}
	if r.depth >= maxDepth || len(words) == 0 {
		return
	}
	r.depth++
	defer func() { r.depth-- }()
	if inShell && words[0] == "cd" && len(words) > 1 {
		r.dir = r.path(words[1])
		return
	}
	if !inShell || !slices.Contains(ofShell, words[0]) {
		r.program(words[0], inShell)
	}
	name, rest := called(words[0]), words[1:]
	for n := min(2, len(rest)); n >= 0; n-- { // uv tool run
		if m, ok := manners[strings.Join(append([]string{name}, rest[:n]...), " ")]; ok {
			r.reads(m, name, rest[n:])
			break
		}
	}
	r.loose(rest)
}

// ofShell are words that a shell has itself.
var ofShell = []string{
	":", ".", "[", "[[", "echo", "printf", "test", "true", "false", "pwd", "read", "set", "unset", "export", "local", "shift", "trap", "wait", "exit",
	"return", "eval", "exec", "command", "source", "ulimit", "umask", "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "{", "}", "!",
}

// reads adds what a program runs that reads its command line in this manner.
func (r *reader) reads(m manner, name string, words []string) {
	has := func(list, option string) bool { return strings.Contains(list, " "+option+" ") }
	var named []string // packages
	cache, skip := "", m.skip
	for i := 0; i < len(words); i++ {
		option, value, joined := strings.Cut(words[i], "=")
		switch {
		case option == "--":
			continue
		case name == "env" && joined && !strings.HasPrefix(option, "-"):
			if option == "PATH" {
				r.f.List = value
			}
			continue
		case !strings.HasPrefix(option, "-") && !(name == "cmd" && strings.HasPrefix(option, "/")):
			if skip--; skip >= 0 {
				continue
			}
			if m.then == "again" && i == 0 {
				return
			}
			if m.then == "package" && (len(named) == 0 || m.values == uvWords.values) { // its program is a package, too
				named = append(named, words[i])
			}
			r.packages(name, named, cache)
			r.follows(m.then, name, words[i:])
			return
		case has(m.inline, option):
			return
		}
		if !joined && has(m.values+m.files+m.text+m.dirs, option) {
			if i++; i == len(words) {
				return
			}
			value = words[i]
		}
		switch {
		case has(m.files, option):
			r.file(Script, r.path(value), true)
		case has(m.text, option):
			r.script(value)
			if m.then == "file" {
				return
			}
		case has(m.dirs, option):
			if r.dir = r.path(value); name == "uv" {
				r.file(Script, filepath.Join(r.dir, "pyproject.toml"), false)
				r.file(Script, filepath.Join(r.dir, "uv.lock"), false)
			}
		case option == "--cache":
			cache = value
		case m.then == "package" && has(" -p --package --from --spec --with ", option) && !(option == "-p" && m.values == uvWords.values):
			named = append(named, value)
		}
	}
	r.packages(name, named, cache)
}

// follows adds what the words after the options of a program stand for.
func (r *reader) follows(then, name string, words []string) {
	switch {
	case then == "again":
		r.command(append([]string{name}, words...), false)
	case then == "text":
		r.script(strings.Join(words, " "))
	case then == "file", name == "uv" && strings.HasSuffix(words[0], ".py"):
		r.given(words[0])
	case then == "command":
		r.command(words, false)
	}
}

// given adds the file that an interpreter is given, or what it would take of a directory.
func (r *reader) given(word string) {
	if kind, spec, ok := strings.Cut(word, ":"); ok && (kind == "npm" || kind == "jsr") { // of deno
		r.packages(kind, []string{spec}, "")
		return
	}
	if strings.Contains(word, "://") {
		return // it is in the words
	}
	path := r.path(word)
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		r.file(Script, path, true)
		return
	}
	for _, name := range []string{"__main__.py", "package.json", "index.js", "main.go", "go.mod"} {
		r.file(Script, filepath.Join(path, name), false)
	}
}

// path returns a word as a path.
func (r *reader) path(word string) string {
	if rest, ok := strings.CutPrefix(word, "~/"); ok && r.env["HOME"] != "" {
		return filepath.Join(r.env["HOME"], rest)
	}
	word = strings.TrimPrefix(word, "file://")
	if filepath.IsAbs(word) {
		return filepath.Clean(word)
	}
	return filepath.Join(r.dir, word)
}

// program adds the program that a word names.
func (r *reader) program(word string, inShell bool) {
	path := r.path(word)
	if !strings.ContainsAny(word, `/\`) {
		found, err := r.f.Look(word)
		if err != nil {
			if !inShell {
				r.add(Part{Kind: Program, Name: word})
			}
			return
		}
		path = found
	}
	r.file(Program, path, true)
}

// scripts are the endings of files that programs run.
var scripts = []string{
	".py", ".pyz", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx", ".sh", ".bash", ".zsh", ".fish", ".rb", ".pl", ".pm", ".php", ".lua", ".r", ".jar",
	".ps1", ".bat", ".cmd", ".exe", ".dll", ".so", ".dylib", ".node", ".wasm", ".go",
}

// loose adds the programs and scripts among words of which nobody knows what they are for. A
// file with data is none: its content may change.
func (r *reader) loose(words []string) {
	for _, w := range words {
		for {
			path := r.path(w)
			if info, err := os.Stat(path); w != "" && err == nil && info.Mode().IsRegular() &&
				(slices.Contains(scripts, strings.ToLower(filepath.Ext(path))) || runnable(path)) {
				r.file(Script, path, true)
			}
			var more bool
			if _, w, more = strings.Cut(w, "="); !more { // --config=FILE
				break
			}
		}
	}
}

// runnable reports whether a file begins as programs do.
func runnable(path string) bool {
	head := head(path, 4)
	for _, magic := range []string{"#!", "\x7fELF", "MZ", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return false
}

// head returns the first n bytes of a file, or fewer.
func head(path string, n int64) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, n)) // what cannot be read begins like nothing
	return data
}

// file adds a file, and the interpreter that its first line names. One that is not there is
// a part if it must be: when it comes to be, the command is another.
func (r *reader) file(kind, path string, must bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		if must {
			r.add(Part{Kind: kind, Name: path})
		}
		return
	}
	p := Part{Kind: kind, Name: path, Real: RealPath(path)}
	if slices.ContainsFunc(r.parts, func(q Part) bool { return q.Name == p.Name && q.Real == p.Real }) {
		return
	}
	if !onlyRoot(p.Real) {
		p.Sum, p.Stamp = r.sum(p.Real)
	}
	r.add(p)
	if of := installed(p.Real); of.Name != "" && p.Sum != "" {
		r.add(of)
	}
	if line, _, _ := strings.Cut(string(head(path, 256)), "\n"); strings.HasPrefix(line, "#!") {
		r.command(strings.Fields(line[2:]), false)
	}
}

func (r *reader) add(p Part) {
	if !slices.Contains(r.parts, p) {
		r.parts = append(r.parts, p)
	}
}

// settled is how old a change of a file must be, so that the next one has another time.
const settled = 2 * time.Second

// sum returns a hash of a file's content, or why there is none, and its stamp.
func (r *reader) sum(real string) (sum, stamp string) {
	f, err := os.Open(real)
	if err != nil {
		return err.Error(), ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err.Error(), ""
	}
	stamp, changed := stampOf(info)
	for _, p := range r.known {
		if stamp != "" && p.Real == real && p.Stamp == stamp {
			return p.Sum, stamp
		}
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err.Error(), ""
	}
	if time.Since(changed) < settled {
		stamp = ""
	}
	return hex.EncodeToString(h.Sum(nil)), stamp
}

// Changed says how what a command runs differs from what it ran, as a clause, or "". A
// package whose version nobody knew before, such as one that was not there yet, does not
// differ.
func Changed(was, now []Part) string {
	var gone, came []Part
	var list []string
	left := slices.Clone(was)
	for _, p := range now {
		i := slices.IndexFunc(left, func(q Part) bool { return q.Kind == p.Kind && q.Name == p.Name })
		if i < 0 {
			came = append(came, p)
			continue
		}
		if why := p.differs(left[i]); why != "" {
			list = append(list, why)
		}
		left = slices.Delete(left, i, i+1)
	}
	gone = left
	for _, p := range came {
		i := slices.IndexFunc(gone, func(q Part) bool { return q.Kind == p.Kind })
		if i < 0 {
			list = append(list, fmt.Sprintf("it also runs the %s %s", p.Kind, p.Name))
			continue
		}
		list = append(list, fmt.Sprintf("it runs the %s %s, and not %s", p.Kind, p.Name, gone[i].Name))
		gone = slices.Delete(gone, i, i+1)
	}
	for _, p := range gone {
		list = append(list, fmt.Sprintf("it does not run the %s %s any more", p.Kind, p.Name))
	}
	return strings.Join(list, "; ")
}

// differs says how a part differs from what it was, as a clause, or "".
func (p Part) differs(was Part) string {
	what := "the " + p.Kind + " " + p.Name
	switch {
	case p.Kind == Package && was.Version == "" && was.Sum == "":
		return ""
	case p.Version != was.Version:
		return fmt.Sprintf("%s has the version %s, and not %s", what, cmp.Or(p.Version, "of nobody knows"), was.Version)
	case p.Kind == Package && p.Sum != was.Sum:
		return what + " was installed anew, with other packages that it needs"
	case p.Real == "" && was.Real != "":
		return what + " is not there"
	case was.Real == "" && p.Real != "":
		return what + " was not there before"
	case p.Real != was.Real:
		return fmt.Sprintf("%s leads to %s, and not to %s", what, p.Real, was.Real)
	case p.Sum != was.Sum:
		return "the content of " + what + " is another"
	}
	return ""
}
