package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
)

// Sources are where a configuration comes from.
type Sources struct {
	// File is the one file to read (--config). If it is "", OPENMANUS_CONFIG
	// names it, and if that is not set either, the user's file and the
	// workspace's are read where they exist.
	File string

	// Dir is the working directory, absolute: where openmanus.toml is looked
	// for, and where relative paths of flags and variables begin.
	Dir string

	// Env finds environment variables. Nil: there are none.
	Env Lookup

	// EnvNames, if known, are the names of all variables that are set. An
	// OPENMANUS_… among them that means nothing is warned about, and the
	// values of …_API_KEY are taken for secrets.
	EnvNames []string

	// Flags are the flags that were given, by name without dashes: agent,
	// approve, base-url, budget-tokens, data-dir, max-cost, max-steps, model,
	// timeout, workspace.
	Flags map[string]string

	// GOOS is the system whose places count; "" is this one.
	GOOS string
}

// A FileState is a file that was looked for.
type FileState struct {
	Path  string
	Role  string // "--config", "user" or "workspace"
	Found bool
}

// workspaceFile is the name of the file that is looked for in [Sources].Dir.
const workspaceFile = "openmanus.toml"

// A setting is the value of a key, and where it came from.
type setting struct {
	key    key
	sub    string // what stands for the star in the key's name
	text   string
	value  any
	source Source
	hides  *setting // the value that would hold without this one
}

// Load reads all sources. An error is [Errors], all that is wrong, and there
// is no configuration then.
func Load(src Sources) (*Config, []Warning, error) {
	l := newLoader(src)
	l.defaults()
	l.readFiles()
	l.environment()
	l.openAI()
	l.flags()
	l.check()
	l.unknownVariables()
	l.fill()
	if len(l.errs) > 0 {
		return nil, l.warnings, l.errs
	}
	return l.cfg, l.warnings, nil
}

// Check loads the file alone, as --config would, and says what is wrong with
// it. The environment is asked for nothing but directories.
func Check(file string, env Lookup) ([]Warning, error) {
	only := func(name string) (string, bool) {
		if strings.HasPrefix(name, "OPENMANUS_") || strings.HasPrefix(name, "OPENAI_") {
			return "", false
		}
		return env.get(name), true
	}
	_, warnings, err := Load(Sources{File: file, Dir: filepath.Dir(file), Env: only})
	return warnings, err
}

type loader struct {
	src      Sources
	goos     string
	cfg      *Config
	keys     []key          // in the order of the manual
	schema   map[string]key // by name
	settings map[string]setting
	warnings []Warning
	errs     Errors
	refused  bool // something in the workspace's file was
}

func newLoader(src Sources) *loader {
	l := &loader{src: src, goos: src.GOOS, schema: map[string]key{}, settings: map[string]setting{}}
	if l.goos == "" {
		l.goos = runtime.GOOS
	}
	for k := range allKeys() {
		l.keys = append(l.keys, k)
		l.schema[k.name] = k
	}
	l.cfg = &Config{LLM: new(LLM), Profiles: map[string]*LLM{}, Models: map[string]*Info{},
		dir: src.Dir, settings: l.settings, ambient: map[string]string{}}
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST"} {
		l.cfg.ambient[name] = strings.TrimSpace(src.Env.get(name))
	}
	return l
}

func (l *loader) fail(e *Error)        { l.errs = append(l.errs, e) }
func (l *loader) warn(w Warning)       { l.warnings = append(l.warnings, w) }
func (l *loader) text(n string) string { return l.settings[n].text }

// defaults sets the values that hold where nobody says anything.
func (l *loader) defaults() {
	for _, k := range l.keys {
		if k.std != "" {
			l.set(k, "", k.std, Source{})
		}
	}
}

// set gives the key a value, over the one it has.
func (l *loader) set(k key, sub, text string, src Source) {
	name := k.with(sub)
	text = strings.TrimSpace(text)
	if k.kind.name == kindPath.name && k.at != nil && text != "" {
		text = l.resolve(k, text, src)
	}
	if k.secret() && dummy.MatchString(text) {
		l.warn(Warning{src, name, "is the placeholder of an example, and counts as not set"})
		return
	}
	v, err := k.kind.parse(text)
	if err != nil {
		l.wrong(k, name, text, src, err)
		return
	}
	s := setting{key: k, sub: sub, text: text, value: v, source: src}
	if below, ok := l.settings[name]; ok {
		s.hides = &below
	}
	l.settings[name] = s
}

func (l *loader) wrong(k key, name, text string, src Source, err error) {
	e := &Error{Source: src, Key: name, Text: err.Error()}
	if !k.secret() {
		e.Found = quoted(masked(text))
	}
	if k.kind.near != nil {
		e.Hint = didYouMean(k.kind.near(text))
	}
	l.fail(e)
}

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return "did you mean " + name + "?"
}

// resolve makes a path absolute. The name of a program stays as it is, to be
// looked for where programs are.
func (l *loader) resolve(k key, text string, src Source) string {
	if k.name == "tools.python.interpreter" && !strings.ContainsAny(text, `/\`) {
		return text
	}
	dir := l.src.Dir
	if src.From == File {
		dir = filepath.Dir(src.Name)
	}
	p, err := l.absolute(text, dir)
	if err != nil {
		l.fail(&Error{Source: src, Key: k.name, Found: quoted(text), Text: err.Error()})
		return text
	}
	return p
}

// environment sets what variables say.
func (l *loader) environment() {
	for k, sub := range l.cfg.keys() {
		for _, name := range k.variables(sub) {
			if text := l.src.Env.get(name); text != "" {
				l.set(k, sub, text, Source{From: Environment, Name: name})
				break
			}
		}
	}
}

// variables are the names of the environment variables of k, the first of
// which comes first.
func (k key) variables(sub string) []string {
	names := []string{variable(strings.Replace(k.name, "*", sub, 1))}
	if k.env != "" && !strings.HasPrefix(k.env, "OPENAI_") { // these are for [loader.openAI]
		names = append(names, k.env)
	}
	return names
}

// openAI lets [llm] have what OPENAI_BASE_URL and OPENAI_API_KEY say, where
// they are about it. They are set for other programs too: the address counts
// for [llm] unless it is of another provider, and the key only if the address
// is OpenAI's or stands in the environment as well.
func (l *loader) openAI() {
	if p, _ := provider(l.text("llm.model"), l.text("llm.api_type"), l.text("llm.base_url")); p != "openai" && p != "compat" {
		return
	}
	base := l.cfg.ambient["OPENAI_BASE_URL"]
	if base != "" && l.settings["llm.base_url"].source.From != Environment {
		l.set(l.schema["llm.base_url"], "", base, Source{From: Environment, Name: "OPENAI_BASE_URL"})
	}
	at := l.settings["llm.base_url"]
	about := at.source.From != File || sameHost(at.text, openAIBase)
	own := l.settings["llm.api_key"].source.From == Environment || l.text("llm.api_key_env") != ""
	if apiKey := l.cfg.ambient["OPENAI_API_KEY"]; apiKey != "" && about && !own {
		l.set(l.schema["llm.api_key"], "", apiKey, Source{From: Environment, Name: "OPENAI_API_KEY"})
	}
}

func (l *loader) flags() {
	byFlag := map[string]key{}
	for _, k := range l.keys {
		if k.flag != "" {
			byFlag[k.flag] = k
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.src.Flags)) {
		src := Source{From: Flag, Name: "--" + name}
		k, ok := byFlag[name]
		if !ok {
			l.fail(&Error{Source: src, Text: "is no flag that sets a key"})
			continue
		}
		l.set(k, "", l.src.Flags[name], src)
	}
}

// unknownVariables warns about variables that look like ours.
func (l *loader) unknownVariables() {
	known := []string{"OPENMANUS_CONFIG"}
	for k, sub := range l.cfg.keys() {
		known = append(known, k.variables(sub)...)
	}
	for _, name := range l.src.EnvNames {
		if strings.HasPrefix(name, "OPENMANUS_") && !slices.Contains(known, name) {
			text := "is set and sets no key"
			if near := didYouMean(nearest(name, known)); near != "" {
				text += " (" + near + ")"
			}
			l.warn(Warning{Source: Source{From: Environment, Name: name}, Text: text})
		}
	}
}

// fill puts the settings into the fields of the Config.
func (l *loader) fill() {
	c := l.cfg
	if _, ok := l.settings["data_dir"]; !ok {
		dir, err := DataDir(l.goos, l.src.Env)
		if err != nil {
			l.fail(&Error{Key: "data_dir", Text: err.Error(), Hint: "set OPENMANUS_DATA_DIR"})
		}
		l.settings["data_dir"] = setting{key: l.schema["data_dir"], text: dir, value: dir}
	}
	for _, s := range l.settings {
		if s.key.at != nil {
			assign(s.key.at(c, s.sub), s.value)
		}
	}
	for _, name := range c.Redact {
		if v := l.src.Env.get(name); v != "" && len(v) < shortestSecret {
			l.warn(Warning{c.Origin("redact"), "redact", name + fmt.Sprintf(" has fewer than %d characters: that is too short to be recognised, and is not kept out", shortestSecret)})
		}
	}
	for _, name := range c.keyEnvs() {
		c.ambient[name] = strings.TrimSpace(l.src.Env.get(name))
	}
	c.secrets = l.secrets()
}

// shortestSecret is the length from which [openmanus.Secrets] replaces a value.
const shortestSecret = 8

func assign(field, value any) {
	switch f := field.(type) {
	case *string:
		*f = value.(string)
	case *Secret:
		*f = Secret(value.(string))
	case *int:
		*f = value.(int)
	case **bool:
		b := value.(bool)
		*f = &b
	case **float64:
		*f = value.(*float64)
	case *[]string:
		*f = value.([]string)
	case *time.Duration:
		*f = value.(time.Duration)
	case *openmanus.Money:
		*f = value.(openmanus.Money)
	default:
		panic(fmt.Sprintf("config: a field of type %T", field))
	}
}

// bare is a name that TOML needs no quotes for.
var bare = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func quotedName(name string) string {
	if bare.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}

// readFiles reads the files there are.
func (l *loader) readFiles() {
	file, role := l.src.File, "--config"
	if file == "" {
		file, role = l.src.Env.get("OPENMANUS_CONFIG"), "OPENMANUS_CONFIG"
	}
	if file != "" {
		p, err := l.absolute(file, l.src.Dir)
		if err != nil {
			l.fail(&Error{Source: Source{From: File, Name: file}, Text: err.Error()})
		} else if !l.readFile(p, role, l.set) {
			l.fail(&Error{Source: Source{From: File, Name: p}, Text: "is not there", Hint: "it is named by " + role})
		}
		return
	}
	if dir, err := UserDir(l.goos, l.src.Env); err == nil {
		l.readFile(filepath.Join(dir, "config.toml"), "user", l.set)
	}
	l.readFile(filepath.Join(l.src.Dir, workspaceFile), "workspace", l.putFromWorkspace)
}

// readFile hands every key of the file to put. It reports whether there is
// such a file.
func (l *loader) readFile(path, role string, put putFunc) bool {
	data, mode, err := readFile(path, role != "workspace")
	found := !errors.Is(err, fs.ErrNotExist)
	l.cfg.files = append(l.cfg.files, FileState{Path: path, Role: role, Found: found})
	switch {
	case !found:
		return false
	case err != nil:
		l.errs = append(l.errs, err)
		return true
	}
	l.read(path, data, put)
	l.readable(path, mode)
	return true
}

// read hands every key in data, the content of a file, to put.
func (l *loader) read(path string, data []byte, put putFunc) {
	doc, err := parse(path, data)
	if err != nil {
		l.errs = append(l.errs, err)
		return
	}
	before := len(l.errs)
	l.leaves(path, doc, l.tables(path, doc), put)
	slices.SortStableFunc(l.errs[before:], func(a, b error) int { return line(a) - line(b) })
}

// line is where err is in its file.
func line(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Source.Line
	}
	return 0
}
