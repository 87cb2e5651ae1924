package config

import (
	"fmt"
	"strings"
)

// From is the kind of a [Source].
type From string

// Where values come from.
const (
	Default     From = "default"
	File        From = "file"
	Environment From = "env"
	Flag        From = "flag"
	Record      From = "record" // a session: see [Config.ModelAt]
	Catalogued  From = "catalogue"
)

// A Source is where a value came from. The zero Source is the default.
type Source struct {
	From From
	Name string // the file's path, the variable's name, the flag with its dashes, or the catalogue's pattern
	Line int    // in the file, from 1
}

// String returns s as in "FILE:LINE", "env NAME", "--flag" or "default".
func (s Source) String() string {
	switch s.From {
	case File:
		return fmt.Sprintf("%s:%d", s.Name, s.Line)
	case Environment:
		return "env " + s.Name
	case Flag:
		return s.Name
	case Record:
		return "the session"
	case Catalogued:
		return "catalogue " + s.Name
	}
	return string(Default)
}

// An Error says what is wrong with one setting.
type Error struct {
	Source Source
	Key    string // "" if it is about the whole file
	Found  string // what was there, quoted; "" if it is a secret or makes no difference
	Text   string // what is wrong, or what is allowed
	Hint   string // what to try
}

func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.Source.From == File && e.Source.Line == 0:
		b.WriteString(e.Source.Name + ": ")
	default:
		b.WriteString(e.Source.String() + ": ")
	}
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	if e.Found != "" {
		b.WriteString("found " + e.Found + ", ")
	}
	b.WriteString(e.Text)
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Errors are all that is wrong, in the order of the sources.
type Errors []error

// maxErrors is how many errors are told of at once.
const maxErrors = 20

func (es Errors) Error() string {
	var lines []string
	for i, e := range es {
		if i == maxErrors {
			lines = append(lines, fmt.Sprintf("and %d more", len(es)-i))
			break
		}
		lines = append(lines, e.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap implements the convention of [errors.Join].
func (es Errors) Unwrap() []error { return es }

// A Warning is about a setting that is no mistake and yet not what it seems:
// one without a meaning here, or a key file that others can read.
type Warning struct {
	Source Source
	Key    string
	Text   string
}

func (w Warning) String() string {
	at := w.Source.String()
	if w.Source.From == File && w.Source.Line == 0 {
		at = w.Source.Name
	}
	if w.Key != "" {
		at += ": " + w.Key
	}
	return at + ": " + w.Text
}

// quoted returns text as it is shown in an error: in one line, and short.
func quoted(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
