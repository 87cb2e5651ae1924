package openmanus

import (
	"maps"
	"slices"
	"strings"
)

// A noted is the last change of a file, and the event that says so.
type noted struct {
	change string
	seq    int64
}

// A Tally counts the results of the calls of a tool in a session.
type Tally struct {
	OK     int // that succeeded
	Failed int // that are errors
}

// noteChanges remembers the changes of files that the event seq records, as one
// change since the beginning of the session: a file that was created and deleted
// leaves none.
func noteChanges(known map[string]noted, seq int64, changes []FileChange) map[string]noted {
	if len(changes) == 0 {
		return known
	}
	known = maps.Clone(known) // clones of the state share it
	if known == nil {
		known = make(map[string]noted)
	}
	for _, c := range changes {
		was, before := known[c.Path]
		change := c.Change
		switch {
		case before && was.change == FileCreated && change == FileDeleted:
			delete(known, c.Path)
			continue
		case before && was.change == FileCreated && change == FileModified:
			change = FileCreated
		case before && was.change == FileDeleted && change == FileCreated:
			change = FileModified
		}
		known[c.Path] = noted{change, seq}
	}
	return known
}

// count adds a result to the tally of its tool.
func (s *State) count(tool string, failed bool) {
	s.tally = maps.Clone(s.tally)
	if s.tally == nil {
		s.tally = make(map[string]Tally)
	}
	t := s.tally[tool]
	if failed {
		t.Failed++
	} else {
		t.OK++
	}
	s.tally[tool] = t
}

// Tally returns how the calls of the session ended, by tool. Do not change the map.
func (s *State) Tally() map[string]Tally { return s.tally }

// Files returns what calls of the session, and of its children that have ended,
// created, changed and deleted in the workspace, and last changed after the event
// since, by path. meanwhile is what others may have changed while calls ran.
func (s *State) Files(since int64) (own, meanwhile []FileChange) {
	list := func(known map[string]noted, but map[string]noted) (all []FileChange) {
		for _, path := range slices.Sorted(maps.Keys(known)) {
			if _, also := but[path]; !also && known[path].seq > since {
				all = append(all, FileChange{path, known[path].change})
			}
		}
		return all
	}
	return list(s.files, nil), list(s.meanwhile, s.files)
}

// deletedMark follows the name of a deleted file in [ChildDone].Files.
const deletedMark = " (deleted)"

// FileNames returns changes as they stand in [ChildDone].Files, at most so many.
func FileNames(changes []FileChange, most int) (names []string) {
	for _, c := range changes[:min(len(changes), most)] {
		name := c.Path
		if c.Change == FileDeleted {
			name += deletedMark
		}
		names = append(names, name)
	}
	return names
}

// changesOf is the reverse of FileNames, but for the difference between files that
// were created and changed.
func changesOf(names []string) (changes []FileChange) {
	for _, name := range names {
		if path, deleted := strings.CutSuffix(name, deletedMark); deleted {
			changes = append(changes, FileChange{path, FileDeleted})
		} else {
			changes = append(changes, FileChange{name, FileModified})
		}
	}
	return changes
}
