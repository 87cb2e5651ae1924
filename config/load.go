package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm/provider"
)

// Sources are where a configuration comes from. Only Dir is required; without
// Providers there is no model.
type Sources struct {
	// File is the one file to read (--config). If it is "", OPENMANUS_CONFIG
	// names it, and if that is not set either, the user's file and the
	// workspace's are read where they exist.
	File string

	// Dir is the working directory, absolute: where openmanus.toml is looked
	// for, and where relative paths of flags and variables begin.
	Dir string

	// Providers are the providers that models can be asked at.
	Providers provider.List

	// Env finds environment variables. Nil: there are none.
	Env Lookup

	// EnvNames, if known, are the names of all variables that are set. Load
	// warns about an OPENMANUS_… among them that sets no key, and takes the
	// values of …_API_KEY for secrets.
	EnvNames []string

	// Flags are the flags that were given, by name without dashes: agent,
	// approve, base-url, budget-tokens, data-dir, max-cost, max-steps, mcp-config,
	// model, timeout, workspace.
	Flags map[string]string

	// Trusted reports whether the user trusts the content of the workspace's
	// file: then it may set every key. Nil: the user does not.
	Trusted func(path string, content []byte) bool

	// Keyring returns a secret of the system's keyring: see [InKeyring]. Nil: there
	// is no keyring.
	Keyring func(name string) (string, error)

	// GOOS is the system whose directories are used; "": this one.
	GOOS string
}

// A FileState is a file that was looked for.
type FileState struct {
	Path  string
	Role  string // "--config", "user" or "workspace"
	Found bool

	Trusted bool // the user trusts this file of a workspace
}

// workspaceFile is the name of the file that is looked for in [Sources].Dir.
const workspaceFile = "openmanus.toml"

// A setting is the value of a key, and where it came from. Its text is what a
// variable would say; its value has the type of the field.
type setting struct {
	key    key
	sub    string // what stands for the star in the key's name
	text   string
	value  any
	source Source
	hides  *setting // the value that would hold without this one
}

// Load reads all sources, weakest first: defaults, files, environment, flags.
// Warnings do not keep the configuration from being used. An error is [Errors]
// with all mistakes; the configuration is nil then.
func Load(src Sources) (*Config, []Warning, error) {
	l := newLoader(src)
	l.defaults()
	l.readFiles()
	l.environment()
	l.shared()
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
// it. Variables that configure something count as not set.
func Check(file string, env Lookup, providers provider.List) (*Config, []Warning, error) {
	only := func(name string) (string, bool) {
		if strings.HasPrefix(name, "OPENMANUS_") || strings.HasPrefix(name, "OPENAI_") {
			return "", false
		}
		return env.get(name), true
	}
	return Load(Sources{File: file, Dir: filepath.Dir(file), Env: only, Providers: providers,
		Keyring: func(string) (string, error) { return "checked", nil }})
}

// A loader collects settings, and the mistakes in them, while sources are read.
type loader struct {
	src      Sources
	goos     string
	cfg      *Config
	keys     []key          // in the order of the manual
	schema   map[string]key // by name
	settings map[string]setting
	warnings []Warning
	errs     Errors
	stranger bool // the file that is read is a workspace's that the user does not trust
	refused  bool // a key in the workspace's file was, so the hint was given
}

// newLoader returns a loader that has read nothing.
func newLoader(src Sources) *loader {
	l := &loader{src: src, goos: src.GOOS, schema: map[string]key{}, settings: map[string]setting{}}
	l.goos = cmp.Or(l.goos, runtime.GOOS)
	for k := range allKeys() {
		l.keys = append(l.keys, k)
		l.schema[k.name] = k
	}
	l.cfg = &Config{LLM: new(LLM), Profiles: map[string]*LLM{}, Models: map[string]*Info{}, Users: map[string]*User{}, A2A: map[string]*RemoteAgent{}, Schedules: map[string]*Schedule{}, Triggers: map[string]*Trigger{},
		providers: src.Providers, env: src.Env, dir: src.Dir, settings: l.settings}
	return l
}

func (l *loader) fail(e *Error)        { l.errs = append(l.errs, e) }
func (l *loader) warn(w Warning)       { l.warnings = append(l.warnings, w) }
func (l *loader) text(n string) string { return l.settings[n].text }

// defaults sets the default values.
func (l *loader) defaults() {
	for _, k := range l.keys {
		if k.std != "" {
			l.set(k, "", k.std, Source{})
		}
	}
}

// set gives the key a value, over the one it has. The value is a text or a
// value of TOML that fits the key's kind.
func (l *loader) set(k key, sub string, v any, src Source) {
	name, text := k.with(sub), k.kind.text(v)
	if k.kind.id == "path" && k.field != "" && text != "" {
		text = l.resolve(k, text, src)
		v = text
	}
	if k.secret() {
		secret, err := l.fromKeyring(text, src)
		if err != nil {
			l.fail(&Error{Source: src, Key: name, Text: err.Error()})
			return
		}
		if secret != text {
			text, v = secret, secret
		}
	}
	if k.secret() && inQuotes(text) {
		if src.From != Environment { // there [Config.credential] says it
			l.warn(Warning{src, name, "stands in quotes within its quotes, which are not sent"})
		}
		text = BareKey(text)
		v = text
	}
	if k.secret() && dummy.MatchString(text) {
		l.warn(Warning{src, name, "is the placeholder of an example, and counts as not set"})
		return
	}
	value, err := k.kind.parse(v)
	if err != nil {
		l.wrong(k, name, text, src, err)
		return
	}
	s := setting{key: k, sub: sub, text: text, value: value, source: src}
	if below, ok := l.settings[name]; ok {
		s.hides = &below
	}
	l.settings[name] = s
}

// wrong adds the error of a value that its kind refuses. It shows no secret.
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

// didYouMean returns a hint at the name; "" for "".
func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return "did you mean " + name + "?"
}

// resolve makes a path absolute. The bare name of a program stays, to be looked
// up in PATH.
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

// fill puts the settings into the fields of the Config, and derives what depends
// on several of them.
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
		if field := s.key.at(c, s.sub); field != nil {
			assign(field, s.value)
		}
	}
	c.openManus()
	for _, name := range c.Redact {
		if v := l.src.Env.get(name); v != "" && len(v) < shortestSecret {
			l.warn(Warning{c.Origin("redact"), "redact", name + fmt.Sprintf(" has fewer than %d characters: this is too short to be recognised, so it is not redacted", shortestSecret)})
		}
	}
	c.secrets = l.secrets()
}

// shortestSecret is the length from which [journal.Secrets] replaces a value.
const shortestSecret = 8

// assign stores a parsed value in the field, which it points to. It panics if a kind and
// a field in keys.txt do not fit, which a test would find.
func assign(field, value any) {
	switch f := field.(type) {
	case *string:
		*f = value.(string)
	case *Secret:
		*f = Secret(value.(string))
	case *int:
		*f = value.(int)
	case **int:
		n := value.(int)
		*f = &n
	case *bool:
		*f = value.(bool)
	case **bool:
		b := value.(bool)
		*f = &b
	case *int64:
		*f = value.(int64)
	case *float64:
		*f = *value.(*float64)
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

// quotedName returns name as TOML writes it in the name of a key.
func quotedName(name string) string {
	if bare.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}
