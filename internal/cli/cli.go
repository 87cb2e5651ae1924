// Package cli reads command lines into structs: their fields are commands,
// flags and arguments, as their tags say.
//
//	cmd:""            a command: a struct with flags, arguments and commands of its own
//	arg:""            an argument; a slice takes all that follow
//	help:"TEXT"       what it is, in a sentence or two
//	name:"NAME"       what it is called, instead of the field's name-in-words
//	short:"x"         a flag that is also -x
//	placeholder:"N"   what stands for a flag's value in the help
//	default:"VALUE"   what is meant without the flag; of a command, with any text: it is meant where none is named
//	enum:"a,b"        what the value may be
//	optional:""       an argument that may be missing
//	passthrough:""    an argument after which nothing is a flag any more
//	sep:"none"        a flag of several values that may contain commas: it is given several times
//	hidden:""         not in the help
//
// All other exported fields are flags, and those of embedded structs are as if
// they were the struct's own. Values are strings, booleans, whole numbers,
// durations, and slices of strings. A command whose type has a method
// Help() string is explained by it.
//
// Nothing is called by its name: a library that does so makes the linker keep
// every exported method of the program, which was 40 % of it.
package cli

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
)

// A Command is one that can be given.
type Command struct {
	Name, Help string
	Hidden     bool
	Parent     *Command

	// What can be given to it. That of a command below it is read when
	// [Command.Command] is asked for it: of many, few are.
	Commands []*Command
	Flags    []*Value // its own; those of its parents can be given as well
	Args     []*Value

	usual string // which of Commands is meant where none is named
	known bool   // its fields have been read
	into  reflect.Value
}

// A Value is a flag or an argument.
type Value struct {
	Name, Help, Placeholder string

	Short    string   // one letter, or ""
	Default  string   // of a flag
	Enum     []string // what it may be; none: anything
	Many     bool     // takes several values
	Optional bool     // of an argument

	rest  bool // nothing behind it is a flag
	whole bool // commas do not part its values
	given bool
	into  reflect.Value
}

// New returns the command line that a struct describes. The struct is filled
// in by [Command.Parse]. A wrong description panics when it is read.
func New(name, help string, into any) *Command {
	c := &Command{Name: name, Help: help, into: reflect.ValueOf(into).Elem()}
	c.read()
	return c
}

func (c *Command) read() {
	if !c.known {
		c.known = true
		c.fields(c.into)
	}
}

// Target is a pointer to the struct of a command.
func (c *Command) Target() any { return c.into.Addr().Interface() }

// Path is the command with those above it, but for the program's own name.
func (c *Command) Path() string {
	switch {
	case c.Parent == nil:
		return ""
	case c.Parent.Parent == nil:
		return c.Name
	}
	return c.Parent.Path() + " " + c.Name
}

// Flag returns the flag that is written so (--name or -n), one of the
// command's own or of those above it; nil: there is none.
func (c *Command) Flag(word string) *Value {
	for at := c; at != nil; at = at.Parent {
		for _, f := range at.Flags {
			if word == "--"+f.Name || f.Short != "" && word == "-"+f.Short {
				return f
			}
		}
	}
	return nil
}

// Command returns the command below this one that has a name; nil: there is
// none.
func (c *Command) Command(name string) *Command {
	for _, below := range c.Commands {
		if below.Name == name {
			below.read()
			return below
		}
	}
	return nil
}

// names are the commands below, but for hidden ones.
func (c *Command) names() (names []string) {
	for _, below := range c.Commands {
		if !below.Hidden {
			names = append(names, below.Name)
		}
	}
	return names
}

// Switch says whether a flag stands for itself and takes no value.
func (v *Value) Switch() bool { return v.into.Kind() == reflect.Bool }

func (c *Command) fields(s reflect.Value) {
	for i := range s.NumField() {
		f := s.Type().Field(i)
		tag := func(name string) string { return f.Tag.Get(name) }
		has := func(name string) bool { _, ok := f.Tag.Lookup(name); return ok }
		switch {
		case f.Anonymous:
			c.fields(s.Field(i))
		case !f.IsExported():
		case has("cmd"):
			below := &Command{Name: nameOf(f), Help: tag("help"), Hidden: has("hidden"), Parent: c, into: s.Field(i)}
			c.Commands = append(c.Commands, below)
			if has("default") {
				c.usual = below.Name
			}
		default:
			v := &Value{
				Name: nameOf(f), Help: tag("help"), Placeholder: tag("placeholder"), Short: tag("short"), Default: tag("default"),
				Many: f.Type.Kind() == reflect.Slice, Optional: has("optional"), rest: has("passthrough"), whole: tag("sep") == "none", into: s.Field(i),
			}
			if has("enum") {
				v.Enum = strings.Split(tag("enum"), ",")
			}
			if err := v.reset(); err != nil {
				panic(fmt.Sprintf("cli: %s.%s: %v", s.Type(), f.Name, err))
			}
			if has("arg") {
				v.whole = true
				c.Args = append(c.Args, v)
			} else {
				c.Flags = append(c.Flags, v)
			}
		}
	}
}

// nameOf is what a field is called: MaxSteps is max-steps, BaseURL base-url.
func nameOf(f reflect.StructField) string {
	if name := f.Tag.Get("name"); name != "" {
		return name
	}
	var b strings.Builder
	letters := []rune(f.Name)
	for i, r := range letters {
		begins := i > 0 && unicode.IsUpper(r) && (unicode.IsLower(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if begins {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
