//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// In the home directory the refusal comes before anything is typed, with another directory
// to work in.
func TestInTheHomeDirectory(t *testing.T) {
	dir := write(t, "s", `-- 1 --
@call bash {"command": "echo made > made"}
-- 2 --
It is made.
`)
	if err := os.Mkdir(filepath.Join(dir, ".home"), 0o700); err != nil {
		t.Fatal(err)
	}
	made := func() int {
		found, err := filepath.Glob(filepath.Join(dir, ".home", "openmanus-work", "*", "made"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	flags := []string{"--workspace", ".home", "--model", "scripted:s", "--approve", "all"}

	s := sit(t, dir, append([]string{"chat"}, flags...)...)
	s.sees(`is your home directory[^\n]*\r?\nWork in the new directory .*openmanus-work/.*\? \[Y/n\] `)
	s.types("\r")
	s.sees(`> `)
	s.types("make it\r")
	s.sees(`It is made\.`)
	s.types("/quit\r")
	s.leaves(exitFinished)
	if made() != 1 {
		t.Error("the file was not made there")
	}

	s = sit(t, dir, append(append([]string{"run"}, flags...), "make it")...)
	s.sees(`Work in the new directory .*-2\? \[Y/n\] `)
	s.types("y\r")
	s.sees(`It is made\.`)
	s.leaves(exitFinished)
	if made() != 2 {
		t.Error("a second session works in the directory of the first")
	}

	s = sit(t, dir, append(append([]string{"run"}, flags...), "make it")...)
	s.sees(`\[Y/n\] `)
	s.types("n\r")
	s.sees(`is your home directory`)
	s.leaves(exitUsage)
	if made() != 2 {
		t.Error("it works although it was denied")
	}

	s = sit(t, dir, append(append([]string{"run"}, flags...), "--any-workspace", "make it")...)
	s.sees(`It is made\.`)
	s.leaves(exitFinished)
}
