package run

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/openmanus-go/openmanus"
)

// sourcesOf returns who wrote the content of a result, for the event that records
// it: as the tool says, or as follows from what its spec declares. Texts of this
// program about the session itself have no sources.
func sourcesOf(s *openmanus.State, spec openmanus.ToolSpec, input string, res openmanus.Result) []openmanus.Source {
	if spec.Hints.Reach != "" { // it may have printed private files, too
		network := openmanus.Source{From: openmanus.FromNetwork, Private: true}
		return append(withFiles(s, append(declaredSources(s, spec, input), res.Sources...)), network)
	}
	switch {
	case res.Sources != nil:
		return withFiles(s, res.Sources)
	case spec.From != "":
		return []openmanus.Source{{From: spec.From, Private: true}}
	case strings.Contains(res.Source, "://"):
		return []openmanus.Source{{From: res.Source}}
	}
	if from := declaredSources(s, spec, input); len(from) > 0 {
		return from
	}
	switch {
	case res.Source != "":
		return s.FileSources(res.Source)
	case spec.Hints.Internal, spec.Hints.Final:
		return nil
	}
	return []openmanus.Source{openmanus.FileSource(".")}
}

// withFiles adds to the sources of files what calls of this session wrote there.
func withFiles(s *openmanus.State, sources []openmanus.Source) []openmanus.Source {
	var all []openmanus.Source
	for _, src := range sources {
		all = append(all, src)
		if path, ok := strings.CutPrefix(src.From, openmanus.FromFile); ok && len(src.Words) == 0 {
			all = append(all, s.FileSources(path)[1:]...)
		}
	}
	return distinct(all)
}

// declaredSources returns the sources of the paths and blobs that a call reads.
func declaredSources(s *openmanus.State, spec openmanus.ToolSpec, input string) []openmanus.Source {
	var args map[string]any
	if json.Unmarshal([]byte(input), &args) != nil {
		return nil
	}
	var from []openmanus.Source
	for _, a := range spec.Arguments {
		for _, v := range given(a, args) {
			switch {
			case a.Kind == openmanus.PathArgument && a.Does != openmanus.Sends:
				from = append(from, s.FileSources(v)...)
			case a.Kind == openmanus.BlobArgument:
				for _, ref := range openmanus.FindRef(s.Refs(), v) {
					from = append(from, s.SourcesOf(ref)...)
				}
			case a.Kind == openmanus.CommandArgument:
				from = append(from, commandFiles(s, v)...)
			}
		}
	}
	return distinct(from)
}

// writtenPaths returns the paths that a call writes, by what spec says of it.
func writtenPaths(spec openmanus.ToolSpec, input string) []string {
	var args map[string]any
	if spec.Hints.ReadOnly || json.Unmarshal([]byte(input), &args) != nil {
		return nil
	}
	var paths []string
	for _, a := range spec.Arguments {
		if a.Kind != openmanus.PathArgument || a.Does != openmanus.Writes {
			continue
		}
		paths = append(paths, given(a, args)...)
	}
	return paths
}

// commandFiles returns the sources of what a command may print: the words of it that
// look like paths, and the workspace, since it can read any file there.
func commandFiles(s *openmanus.State, command string) []openmanus.Source {
	const most = 8
	var from []openmanus.Source
	for _, w := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;|&<>()'\"`$=", r) }) {
		looks := strings.ContainsAny(w, "./") && !strings.HasPrefix(w, "-") && !strings.Contains(w, "://") && len(w) < 200
		if looks && strings.ContainsFunc(w, unicode.IsLetter) && len(from) < most {
			from = append(from, s.FileSources(strings.TrimPrefix(w, "./"))...)
		}
	}
	return append(from, openmanus.FileSource("."))
}

// given returns the texts of an argument, or what its absence means.
func given(a openmanus.Argument, args map[string]any) []string {
	v, ok := args[a.Name]
	if !ok && a.Value != "" {
		return []string{a.Value}
	}
	return texts(v)
}

// texts returns v, if it is a text, or the texts in it, if it is a list.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var list []string
		for _, e := range v {
			list = append(list, texts(e)...)
		}
		return list
	}
	return nil
}

// distinct returns the sources, each once.
func distinct(sources []openmanus.Source) []openmanus.Source {
	var list []openmanus.Source
	for _, src := range sources {
		same := func(o openmanus.Source) bool {
			return o.From == src.From && o.Trusted == src.Trusted && len(o.Words) == 0 && len(src.Words) == 0
		}
		if !slices.ContainsFunc(list, same) {
			list = append(list, src)
		}
	}
	return list
}

// TextSources returns who wrote a text that the session id, in state s, has written and
// that is given back to it, such as a plan that the user has edited and approved: see
// [openmanus.UserSaid].Sources.
func TextSources(id string, s *openmanus.State, text string) []openmanus.Source {
	return taskSources(id, s, text)
}

// taskSources returns who wrote a task that a session in state s gives to a child:
// the user, if the session has read nothing that is not trusted; otherwise the user
// wrote the words that are the user's, and the session the rest.
func taskSources(id string, s *openmanus.State, task string) []openmanus.Source {
	read := s.Read()
	if len(read) == 0 {
		return []openmanus.Source{openmanus.Person()}
	}
	person := openmanus.Person()
	sources := []openmanus.Source{{From: openmanus.FromSession + id, Private: anyPrivate(read)}}
	known := s.TextProvenance(task)
	person.Words = sharedAddresses(known.Said, task)
	for _, a := range known.Arguments {
		for _, f := range a.Parts {
			part := a.Value[f.From:f.To]
			switch {
			case f.As != "":
			case f.Source.From == openmanus.FromPerson:
				person.Words = append(person.Words, part)
			case !f.Source.Trusted:
				src := f.Source
				src.Words = []string{part}
				sources = append(sources, src)
			}
		}
	}
	if len(person.Words) > 0 {
		sources = append(sources, person)
	}
	return append(sources, joined(read)...)
}

// sharedAddresses returns the words of what the user said that are addresses, paths or
// the like and stand in the task, too. A page that repeats more of the task hides such a
// word from the search for where the task came from.
func sharedAddresses(said []string, task string) []string {
	var shared []string
	for _, text := range said {
		for _, w := range strings.Fields(text) {
			w = strings.Trim(w, ".,;:!?()<>[]{}\"'`*")
			address := strings.ContainsAny(w, ".:/") || strings.EqualFold(w, "localhost")
			if len(w) >= 4 && address && strings.Contains(task, w) && !slices.Contains(shared, w) {
				shared = append(shared, w)
			}
		}
	}
	return shared
}

// joined returns the labels of a text that a session made of what it has read: the
// last of its sources. The text is private if any of them is, since it may be made of
// that.
func joined(read []openmanus.Source) []openmanus.Source {
	const most = 8
	private := anyPrivate(read)
	var list []openmanus.Source
	for _, src := range read[max(0, len(read)-most):] {
		src.Private = private
		list = append(list, src)
	}
	return list
}

// anyPrivate reports whether one of the sources is private: so is then what a session
// that has read them writes.
func anyPrivate(read []openmanus.Source) bool {
	return slices.ContainsFunc(read, func(s openmanus.Source) bool { return s.Private })
}

// reportSources returns who wrote the report of a child session in state s: the
// child, which is trusted if all that it read is, and what it read that is not.
func reportSources(child string, s *openmanus.State) []openmanus.Source {
	read := s.Read()
	own := openmanus.Source{From: openmanus.FromSession + child, Trusted: len(read) == 0, Private: anyPrivate(read)}
	return append([]openmanus.Source{own}, joined(read)...)
}
