package cli

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/internal/near"
)

// ErrHelp is returned by [Command.Parse] for -h and --help.
var ErrHelp = errors.New("help requested")

// Parse parses the words of a command line, without the program's name, into the
// struct of [New]. It returns the command that the words name; with an error, the
// one that it had come to. Errors are for the user. Parse may be called once.
//
// Flags may stand anywhere, and are those of the command so far and of its
// parents. Values follow their flag: --name=VALUE, --name VALUE, -n VALUE or
// -nVALUE; a value that is itself a flag needs the equals sign. Short switches
// can be joined: -xy. After -- no word is a flag or a command. If a command has
// a default command, words that are not commands are parsed as that one's.
func (c *Command) Parse(words []string) (*Command, error) {
	r := parser{at: c, words: words}
	for len(r.words) > 0 {
		if err := r.next(); err != nil {
			return r.at, err
		}
	}
	return r.at, r.end()
}

// A parser has the state of [Command.Parse].
type parser struct {
	at    *Command
	words []string // that are left
	args  int      // how many of at.Args have a value
	ended bool     // no more flags follow
}

// next parses the next word, and the value that may follow it.
func (r *parser) next() error {
	word := r.words[0]
	r.words = r.words[1:]
	switch {
	case r.ended || !strings.HasPrefix(word, "-") || word == "-":
		return r.word(word)
	case word == "--":
		r.ended = true
		return nil
	case word == "--help" || word == "-h":
		return ErrHelp
	case strings.HasPrefix(word, "--"):
		return r.long(word)
	}
	return r.short(word)
}

// word parses a word that is not a flag: a command or an argument.
func (r *parser) word(word string) error {
	if len(r.at.Commands) > 0 && !r.ended {
		if below := r.at.Command(word); below != nil {
			r.at = below
			return nil
		}
	}
	names := r.at.names()
	r.usual()
	if r.args == len(r.at.Args) {
		if strings.ContainsAny(word, " \n") {
			return fmt.Errorf("unexpected argument %q", word)
		}
		return fmt.Errorf("unexpected argument %s%s", word, meant(word, names))
	}
	a := r.at.Args[r.args]
	if err := a.set(word); err != nil {
		return fmt.Errorf("%s: %w", a.shape(), err)
	}
	if !a.Many {
		r.args++
	}
	r.ended = r.ended || a.rest
	return nil
}

// usual continues with the default command, if there is one.
func (r *parser) usual() {
	if usual := r.at.Command(r.at.usual); usual != nil {
		r.at = usual
	}
}

// long parses --name, --name=VALUE and --name VALUE.
func (r *parser) long(word string) error {
	name, value, has := strings.Cut(word, "=")
	f, err := r.flag(name)
	if err != nil {
		return err
	}
	if !has {
		if value, err = r.value(f, name); err != nil {
			return err
		}
	}
	if err := f.set(value); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// short parses -x, -x VALUE, -xVALUE, and -xy for -x -y.
func (r *parser) short(word string) error {
	name, rest := word[:2], word[2:]
	f, err := r.flag(name)
	if err != nil {
		return err
	}
	value := strings.TrimPrefix(rest, "=")
	if f.Switch() && rest != "" && value == rest {
		r.words = slices.Insert(slices.Clone(r.words), 0, "-"+rest)
		rest = ""
	}
	if rest == "" {
		if value, err = r.value(f, name); err != nil {
			return err
		}
	}
	if err := f.set(value); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// flag returns the flag that is written as word. If only the default command has
// it, parsing continues with that command.
func (r *parser) flag(word string) (*Value, error) {
	if f := r.at.Flag(word); f != nil {
		return f, nil
	}
	if usual := r.at.Command(r.at.usual); usual != nil {
		if f := usual.Flag(word); f != nil {
			r.at = usual
			return f, nil
		}
	}
	words := []string{"--help"}
	for at := r.at; at != nil; at = at.Parent {
		for _, f := range at.Flags {
			words = append(words, "--"+f.Name)
		}
	}
	return nil, fmt.Errorf("unknown flag %s%s", word, meant(word, words))
}

// value returns the value of a flag that has none after an equals sign.
func (r *parser) value(f *Value, name string) (string, error) {
	switch {
	case f.Switch():
		return "true", nil
	case len(r.words) == 0:
		return "", fmt.Errorf("%s needs a value: %s=%s", name, name, f.placeholder())
	}
	word := r.words[0]
	if strings.HasPrefix(word, "-") && word != "-" && r.at.Flag(strings.SplitN(word, "=", 2)[0]) != nil {
		return "", fmt.Errorf("%s needs a value, and %s is a flag: if you mean the value, write %s=%s", name, word, name, word)
	}
	r.words = r.words[1:]
	return word, nil
}

// end returns an error if a command or an argument is missing.
func (r *parser) end() error {
	r.usual()
	if len(r.at.Commands) > 0 {
		return fmt.Errorf("expected one of %s", strings.Join(r.at.names(), ", "))
	}
	var missing []string
	for _, a := range r.at.Args {
		if !a.Optional && !a.given {
			missing = append(missing, a.shape())
		}
	}
	if missing != nil {
		return fmt.Errorf("expected %s", strings.Join(missing, " "))
	}
	return nil
}

// meant returns a suggestion for a mistyped word, or "".
func meant(word string, words []string) string {
	if best := near.Nearest(word, words); best != "" {
		return ", did you mean " + strconv.Quote(best) + "?"
	}
	return ""
}

// reset sets v to its default.
func (v *Value) reset() error {
	switch v.into.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64:
	case reflect.Slice:
		if v.into.Type().Elem().Kind() == reflect.String {
			break
		}
		fallthrough
	default:
		return fmt.Errorf("values of type %s are not supported", v.into.Type())
	}
	if v.Default == "" {
		return nil
	}
	err := v.set(v.Default)
	v.given = false
	return err
}

// set sets v, or appends to it if it takes several values. The first value
// replaces the default.
func (v *Value) set(text string) error {
	if v.Enum != nil && !slices.Contains(v.Enum, text) {
		return fmt.Errorf("%q is not one of %s", text, strings.TrimPrefix(strings.Join(v.Enum, ", "), ", "))
	}
	first := !v.given
	v.given = true
	switch v.into.Kind() {
	case reflect.String:
		v.into.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		v.into.SetBool(b)
	case reflect.Slice:
		if first {
			v.into.SetZero()
		}
		parts := []string{text}
		if !v.whole {
			parts = strings.Split(text, ",")
		}
		v.into.Set(reflect.AppendSlice(v.into, reflect.ValueOf(parts)))
	default:
		if v.into.Type() == reflect.TypeFor[time.Duration]() {
			d, err := time.ParseDuration(text)
			if err != nil {
				return fmt.Errorf("%q is not a duration such as 90s, 10m or 1h", text)
			}
			v.into.SetInt(int64(d))
			return nil
		}
		n, err := strconv.ParseInt(text, 10, v.into.Type().Bits())
		switch {
		case errors.Is(err, strconv.ErrRange):
			return fmt.Errorf("%q is too large", text)
		case err != nil:
			return fmt.Errorf("%q is not a whole number", text)
		}
		v.into.SetInt(n)
	}
	return nil
}
