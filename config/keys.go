package config

import (
	_ "embed"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus"
)

// trust is what a file that was found in a workspace may do with a key.
type trust string

const (
	refused trust = ""        // nothing
	tighter trust = "tighter" // set a value that allows no more
	adds    trust = "adds"    // add to the list: its rules allow no more
	free    trust = "free"    // set it
)

// A key is one that can be configured. The loader, the listing, the manual and
// the file to begin with go by this alone. Keys are data: see keys.txt.
type key struct {
	name      string // "*" stands for a name that the user chose
	kind      kind
	field     string // the path of the field of Config that takes the value; "" if the key has no effect
	std       string // the default, as text
	flag      string // without dashes
	env       string // a variable besides the one that its name makes
	doc       string // sentences for the manual
	unused    string // why it has no effect: the warning
	workspace trust
}

// A section is keys that stand together in the manual.
type section struct {
	name, doc string
	keys      []key
}

//go:embed keys.txt
var keyTable string

// schema returns every key there is, in the order of the manual. It panics if
// keys.txt has a mistake, which a test would find.
var schema = sync.OnceValue(func() []section {
	sections, err := parseKeys(keyTable)
	if err != nil {
		panic("config: keys.txt: " + err.Error())
	}
	return sections
})

// parseKeys reads a table in the format that the head of keys.txt describes.
func parseKeys(table string) (all []section, err error) {
	std := openmanus.DefaultLimits()
	limits := strings.NewReplacer("{steps}", fmt.Sprint(std.Steps), "{tokens}", fmt.Sprint(std.Tokens),
		"{money}", fmt.Sprint(std.Money.USD()), "{time}", std.Time.String())
	var doc *string
	for n, line := range strings.Split(table, "\n") {
		var s *section
		if len(all) > 0 {
			s = &all[len(all)-1]
		}
		name, isSection := strings.CutPrefix(line, "[")
		like, isLike := strings.CutPrefix(line, "like ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case isSection:
			all = append(all, section{name: strings.TrimSuffix(name, "]")})
			doc = &all[len(all)-1].doc
		case s == nil:
			return nil, fmt.Errorf("line %d stands before the first section", n+1)
		case strings.HasPrefix(line, "    "):
			*doc = strings.TrimSpace(*doc + " " + strings.TrimSpace(line))
		case isLike:
			s.keys = copied(all, like, s.name)
		default:
			k, err := parseColumns(s.name, limits.Replace(line))
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n+1, err)
			}
			s.keys = append(s.keys, k)
			doc = &s.keys[len(s.keys)-1].doc
		}
	}
	return all, nil
}

// parseColumns reads the line of a key.
func parseColumns(section, line string) (k key, err error) {
	columns := strings.Split(line, " | ")
	if len(columns) < 3 {
		return k, fmt.Errorf("%q has fewer than three columns", line)
	}
	k.name = strings.TrimPrefix(section+"."+columns[0], ".")
	if k.kind, err = kindOf(columns[1]); err != nil {
		return k, err
	}
	if columns[2] != "-" {
		k.field = columns[2]
	}
	for _, c := range columns[3:] {
		name, value, _ := strings.Cut(c, "=")
		switch name {
		case "default":
			k.std = value
		case "flag":
			k.flag = value
		case "env":
			k.env = value
		case "workspace":
			k.workspace = trust(value)
		case "unused":
			k.unused = value
		default:
			return k, fmt.Errorf("%s: there is no attribute %q", k.name, name)
		}
	}
	return k, nil
}

// copied returns the keys of the section like for the section of names called
// name, such as those of "llm" for "llm.*". A workspace may set none of them,
// and only their own variables do.
func copied(all []section, like, name string) (keys []key) {
	for _, s := range all {
		if s.name != like {
			continue
		}
		for _, k := range s.keys {
			k.name = name + strings.TrimPrefix(k.name, like)
			k.field = strings.Replace(k.field, "LLM.", "Profiles.", 1)
			k.env, k.workspace = "", refused
			keys = append(keys, k)
		}
	}
	return keys
}

// at returns a pointer to the field of c that takes the value of k, for the
// profile, model or user called sub; nil if k has no effect.
func (k key) at(c *Config, sub string) any {
	if k.field == "" {
		return nil
	}
	v := reflect.ValueOf(c)
	for name := range strings.SplitSeq(k.field, ".") {
		if v = reflect.Indirect(v).FieldByName(name); v.Kind() == reflect.Map {
			v = v.MapIndex(reflect.ValueOf(sub))
		}
	}
	return v.Addr().Interface()
}

// allKeys yields the keys of the schema.
func allKeys() iter.Seq[key] {
	return func(yield func(key) bool) {
		for _, s := range schema() {
			for _, k := range s.keys {
				if !yield(k) {
					return
				}
			}
		}
	}
}

// variable returns the environment variable that a key's name makes.
func variable(name string) string {
	upper := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}
	return "OPENMANUS_" + strings.Map(upper, name)
}

// with returns the name of k for the profile, model or user called sub.
func (k key) with(sub string) string { return strings.Replace(k.name, "*", quotedName(sub), 1) }

// secret reports whether the values of k must not be shown.
func (k key) secret() bool { return k.kind.id == "secret" }
