//go:build linux

package attempts

import (
	"embed"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

//go:embed scripts
var scripts embed.FS

// All returns every attempt, class by class. It panics if an embedded script is
// malformed.
func All() []Attempt {
	entries, err := scripts.ReadDir("scripts")
	var all []Attempt
	for _, e := range entries {
		if path.Ext(e.Name()) == ".txtar" && err == nil {
			var some []Attempt
			some, err = parse(e.Name(), library(e.Name()))
			all = append(all, some...)
		}
	}
	if err != nil {
		panic(err)
	}
	return all
}

// library returns an embedded file.
func library(name string) string {
	data, err := scripts.ReadFile("scripts/" + name)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// parse reads the attempts of one archive. The error names every section at
// fault.
func parse(file, text string) ([]Attempt, error) {
	archive := txtar.Parse([]byte(text))
	class, ok := strings.CutPrefix(strings.SplitN(text, "\n", 2)[0], "class: ")
	if !ok {
		return nil, fmt.Errorf(`%s: the first line must be "class: NAME"`, file)
	}
	var all []Attempt
	var errs []error
	shared := Attempt{Class: class, parts: make(map[string]string)}
	for _, f := range archive.Files {
		var err error
		switch name, begins := strings.CutPrefix(f.Name, "attempt: "); {
		case begins:
			a := Attempt{Class: class, Name: name, parts: maps.Clone(shared.parts), files: slices.Clone(shared.files)}
			err = a.addFields(string(f.Data))
			all = append(all, a)
		case len(all) == 0:
			err = shared.add("shared ", f)
		default:
			err = all[len(all)-1].add("", f)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: section %q: %w", file, f.Name, err))
		}
	}
	for _, a := range all {
		if a.Tries == "" || a.parts["inside.sh"]+a.parts["inside.py"]+a.parts["outside.py"] == "" {
			errs = append(errs, fmt.Errorf(`%s: attempt %q needs the field "tries" and a script`, file, a.Name))
		}
	}
	return all, errors.Join(errs...)
}

// addFields reads the lines KEY: VALUE with which an attempt begins.
func (a *Attempt) addFields(text string) error {
	var errs []error
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case key == "tries":
			a.Tries = value
		case key == "clear":
			a.clear = strings.Fields(value)
		case key == "free":
			a.free = strings.Fields(value)
		default:
			errs = append(errs, fmt.Errorf("unknown field %q; the fields are tries, clear, free", key))
		}
	}
	return errors.Join(errs...)
}

// add adds a section of an attempt, or of all if the prefix is "shared ".
func (a *Attempt) add(prefix string, f txtar.File) error {
	if name, ok := strings.CutPrefix(f.Name, "ws/"); ok {
		a.files = append(a.files, txtar.File{Name: name, Data: f.Data})
		return nil
	}
	switch f.Name {
	case "inside.sh", "inside.py", "outside.py":
		if a.parts[prefix+f.Name] != "" {
			return errors.New("the attempt has it already")
		}
		a.parts[prefix+f.Name] = string(f.Data)
		return nil
	}
	return errors.New("unknown section; there are attempt: NAME, inside.sh, inside.py, outside.py, ws/PATH")
}

// tried is what an inside script prints at its end: without it the attempt was
// not made.
const tried = "TRIED"

// python runs the Python of both sides.
const python = "/usr/bin/python3"

// command returns the arguments that run the inside script. Python that raises
// an OSError was refused something, and so was made.
func (a *Attempt) command() []string {
	if script := a.parts["inside.sh"]; script != "" {
		return []string{"sh", "-c", script + "\necho " + tried}
	}
	return []string{python, "-ISc", library("inside.py"), a.parts["shared inside.py"] + a.parts["inside.py"]}
}
