package config

import (
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus/llm/provider"
)

// Where values come from: see [provider.Source].
const (
	Default     = provider.Default
	File        = provider.File
	Environment = provider.Environment
	Flag        = provider.Flag
	Record      = provider.Record
	Catalogued  = provider.Catalogued
)

// A Source is where a value came from, and a Setting is a value with its
// source.
type (
	Source  = provider.Source
	Setting = provider.Setting
)

// An Error is a mistake in one setting or file.
type Error struct {
	Source Source
	Key    string // "" if it is about the whole file
	Found  string // what was there, quoted; "" if it is a secret or makes no difference
	Text   string // what is wrong, or what is allowed
	Hint   string // what to try
}

// Error returns one line: the source, the key, what was found, what is wrong, and what to
// try.
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

// Errors are all mistakes, in the order of the sources.
type Errors []error

// maxErrors is the most errors that the text of Errors lists.
const maxErrors = 20

// Error returns a line for each mistake, up to 20 of them.
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

// A Warning is about a setting that is no mistake and may still surprise: one
// without an effect, or a secret in a file that others can read.
type Warning struct {
	Source Source
	Key    string
	Text   string
}

// String returns one line: the source, the key, and the text.
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

// quoted is [provider.Quote].
func quoted(text string) string { return provider.Quote(text) }

// masked is [provider.WithoutPassword].
func masked(address string) string { return provider.WithoutPassword(address) }
