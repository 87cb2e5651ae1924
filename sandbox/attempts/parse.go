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

	"github.com/openmanus-go/openmanus/internal/protected"
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
	return append(all, listed()...)
}

// listed returns an attempt for each class of the list of protected names: to
// make each of them at the top of the workspace and far below.
func listed() []Attempt {
	names := make(map[string][]string)
	for _, r := range protected.Rules() {
		if r.Protected && r.Class != protected.Git {
			names[r.Class] = append(names[r.Class], strings.NewReplacer("*", "a", "?", "a").Replace(r.Pattern))
		}
	}
	var all []Attempt
	for _, class := range slices.Sorted(maps.Keys(names)) {
		a := Attempt{Class: "persistence", Name: "every protected name: " + class,
			Tries: "to make each name of the class " + class + " that programs obey", parts: make(map[string]string)}
		var script strings.Builder
		for _, name := range names[class] {
			for _, dir := range []string{"", "packages/app/"} {
				at := dir + name
				a.clear = append(a.clear, at, strings.ToUpper(at))
				fmt.Fprintf(&script, "mkdir -p %[1]s; echo EVIL > %[2]s; echo EVIL > n; mv n %[2]s; ln -s n %[2]s; mkdir -p %[2]s; "+
					"echo EVIL > %[2]s/x; echo EVIL > %[3]s\n", path.Dir(at), at, dir+strings.ToUpper(name))
			}
		}
		a.parts["inside.sh"] = script.String()
		all = append(all, a)
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
		case key == "alone":
			a.alone = value == "yes"
		default:
			errs = append(errs, fmt.Errorf("unknown field %q; the fields are tries, clear, free, alone", key))
		}
	}
	return errors.Join(errs...)
}

// add adds a section of an attempt, or of all if the prefix is "shared ".
func (a *Attempt) add(prefix string, f txtar.File) error {
	if name, ok := strings.CutPrefix(f.Name, "ws/"); ok {
		a.files = slices.DeleteFunc(a.files, func(f txtar.File) bool { return f.Name == name }) // a shared one
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
		return []string{"sh", "-c", a.parts["shared inside.sh"] + script + "\necho " + tried}
	}
	return []string{python, "-ISc", library("inside.py"), a.parts["shared inside.py"] + a.parts["inside.py"]}
}
