// Package cli parses command lines into structs. The exported fields of a struct
// are the commands, arguments and flags, as their tags say.
//
//	cmd:""            a command: a struct with flags, arguments and commands of its own
//	arg:""            an argument; a slice takes all remaining ones
//	help:"TEXT"       a description of a sentence or two
//	name:"NAME"       the name, if not that of the field: MaxSteps is max-steps
//	short:"x"         a one-letter name of a flag: -x
//	placeholder:"N"   the name of a flag's value in the help
//	default:"VALUE"   the value without the flag; of a command: it is the default command
//	enum:"a,b"        the allowed values
//	optional:""       an argument that may be missing
//	passthrough:""    an argument after which nothing is a flag
//	sep:"none"        a flag whose values may contain commas: it is repeated for several
//	hidden:""         not in the help
//
// A field without cmd or arg is a flag. The fields of an embedded struct count
// as those of the struct around it. Values are strings, booleans, integers,
// durations and slices of strings. If the type of a command has a method
// Help() string, the help includes its result.
//
// The package calls no method by its name. A library that does makes the linker
// keep all exported methods of the program, which was 40 % of its size.
package cli

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
)

// A Command is the program itself, or a command within another one.
type Command struct {
	Name, Help string
	Hidden     bool
	Parent     *Command

	// Those of a command within this one are read by [Command.Command], because
	// a run of the program needs few of them.
	Commands []*Command
	Flags    []*Value // its own; those of its parents are valid for it too
	Args     []*Value

	usual string        // the default command, or ""
	known bool          // whether its fields have been read
	into  reflect.Value // the struct
}

// A Value is a flag or an argument.
type Value struct {
	Name, Help, Placeholder string

	Short    string   // one letter, or ""
	Default  string   // of a flag
	Enum     []string // the allowed values; nil: all
	Many     bool     // takes several values
	Optional bool     // of an argument

	rest  bool          // nothing after it is a flag
	whole bool          // commas do not separate its values
	given bool          // it was set by the command line
	into  reflect.Value // the field
}

// New returns the command that the struct into points to describes, which
// [Command.Parse] fills in. It panics if a tag is invalid, and so do the methods
// that read the fields of further commands.
func New(name, help string, into any) *Command {
	c := &Command{Name: name, Help: help, into: reflect.ValueOf(into).Elem()}
	c.read()
	return c
}

// read reads the fields of the command's struct, once.
func (c *Command) read() {
	if !c.known {
		c.known = true
		c.fields(c.into)
	}
}

// Target returns a pointer to the command's struct.
func (c *Command) Target() any { return c.into.Addr().Interface() }

// Path returns the names of the command and its parents, without the program's.
func (c *Command) Path() string {
	switch {
	case c.Parent == nil:
		return ""
	case c.Parent.Parent == nil:
		return c.Name
	}
	return c.Parent.Path() + " " + c.Name
}

// Flag returns the flag of the command or of its parents that is written as word,
// --name or -n, or nil.
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

// Command returns the command of this name within c, or nil.
func (c *Command) Command(name string) *Command {
	for _, below := range c.Commands {
		if below.Name == name {
			below.read()
			return below
		}
	}
	return nil
}

// names returns the names of the commands within c, without hidden ones.
func (c *Command) names() (names []string) {
	for _, below := range c.Commands {
		if !below.Hidden {
			names = append(names, below.Name)
		}
	}
	return names
}

// Switch reports whether the flag takes no value.
func (v *Value) Switch() bool { return v.into.Kind() == reflect.Bool }

// fields adds what the fields of the struct s describe.
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
			below := &Command{Name: NameOf(f), Help: tag("help"), Hidden: has("hidden"), Parent: c, into: s.Field(i)}
			c.Commands = append(c.Commands, below)
			if has("default") {
				c.usual = below.Name
			}
		default:
			v := &Value{
				Name: NameOf(f), Help: tag("help"), Placeholder: tag("placeholder"),
				Short: tag("short"), Default: tag("default"),
				Many: f.Type.Kind() == reflect.Slice, Optional: has("optional"),
				rest: has("passthrough"), whole: tag("sep") == "none", into: s.Field(i),
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

// NameOf returns the name of the flag, argument or command of a field: MaxSteps is max-steps, BaseURL base-url.
func NameOf(f reflect.StructField) string {
	if name := f.Tag.Get("name"); name != "" {
		return name
	}
	var b strings.Builder
	letters := []rune(f.Name)
	for i, r := range letters {
		starts := i > 0 && unicode.IsUpper(r) &&
			(unicode.IsLower(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if starts {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
