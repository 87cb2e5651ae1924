package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus/internal/gitindex"
	"github.com/openmanus-go/openmanus/internal/protected"
)

// The nameRules decide which names of the workspace a command may make, change,
// rename and remove. The supervisor of Landlock reads them as JSON.
//
// They know what package protected lists, and git directories. One of these is a
// directory with the name .git, or one that has a file HEAD: git takes a
// directory with HEAD, objects and refs for a repository, whatever its name is,
// and HEAD is the one of the three that other directories hardly have.
//
// In a git directory a command may write what committing, merging and rebasing
// need, and nothing that names a program or leads to another git directory. One
// that was there when the sandbox was made keeps its configuration and hooks.
// One that a command makes may have what git init and git clone write: hooks
// that git does not run, and settings that are only data.
type nameRules struct {
	Workspace string      // absolute, without symbolic links
	Extra     []string    // more protected paths, relative to the workspace: see guard.extra
	Old       [][2]uint64 // device and inode of the git directories that were there
	ReadOnly  bool        // nothing in the workspace may be made, changed, renamed or removed
	Free      []string    // but for what is below these, which are absolute
}

// A nameOp is what a command is about to do with a name.
type nameOp int

const (
	opWrite    nameOp = iota // open the file to write
	opMode                   // change the mode of the file
	opMakeFile               // make a file, or a second name of one
	opMakeDir                // make a directory
	opMakeLink               // make a symbolic link
	opRemove                 // remove it
	opMoveOut                // give it another name
	opMoveIn                 // give a file this name
	opMoveDir                // give a directory this name
)

// A protectedError is the error of a name that a command may not use so. It matches
// [unix.EACCES].
type protectedError struct {
	name string // relative to the workspace
	why  string // a phrase: "a shell runs it"
	git  bool   // it is git's, so no file tool may write it either
	kept bool   // it is a directory that keeps its place, for what is in it
}

func (r *protectedError) Error() string {
	if r.kept {
		return fmt.Sprintf("%s keeps its name and its place, because %s", r.name, r.why)
	}
	if r.git {
		return fmt.Sprintf("%s is protected, because %s. Neither commands nor file tools write it: "+
			"ask the person to, if it is needed", r.name, r.why)
	}
	return fmt.Sprintf("%s is protected, because programs outside obey it (%s): "+
		"use a file tool, which asks the person first", r.name, r.why)
}

// Unwrap returns the result of the command's call.
func (r *protectedError) Unwrap() error { return unix.EACCES }

// shut returns EROFS for a path that nothing may change, as commands get it of a file
// system that is read-only. It comes before every other reason.
func (r *nameRules) shut(path string) error {
	if r.ReadOnly && within(r.Workspace, path) && !withinAny(r.Free, path) {
		return unix.EROFS
	}
	return nil
}

// errOnlyData has the caller check a configuration of git, and write a copy of it
// in its place: see putConfig.
var errOnlyData = errors.New("only settings that are data")

// errOnlyBranches is errOnlyData for a git directory that was there: only what it
// says of branches may change.
var errOnlyBranches = fmt.Errorf("%w of branches", errOnlyData)

// errOnlyPaths has the caller check an index of git, and write a copy of it in its
// place: see putIndex.
var errOnlyPaths = errors.New("only paths outside of git directories")

// judge returns nil if a command may do op with the name base in the directory
// dir, whose path has no symbolic links; else a *protectedError, or one of the
// errors above.
func (r *nameRules) judge(dir, base string, op nameOp) error {
	if !within(r.Workspace, dir) {
		return nil // the mounts or Landlock decide
	}
	name := path.Join(strings.TrimPrefix(strings.TrimPrefix(dir, r.Workspace), "/"), base)
	if rule, ok := protected.Find(name); ok && rule.Protected && rule.Class != protected.Git {
		return &protectedError{name: name, why: rule.Reason}
	}
	for _, extra := range r.Extra {
		if within(extra, name) || op == opMoveOut && within(name, extra) {
			return &protectedError{name: name, why: "git's configuration or a protected link names it"}
		}
	}
	err := r.judgeGit(name, op)
	if no := (*protectedError)(nil); errors.As(err, &no) {
		no.name, no.git = name, true
	}
	return err
}

func gitRefuses(why string) error { return &protectedError{why: why} }

// judgeGit decides about names that may be git's.
func (r *nameRules) judgeGit(name string, op nameOp) error {
	parts := strings.Split(name, "/")
	if i := slices.IndexFunc(parts, func(p string) bool { return strings.EqualFold(p, ".git") }); i >= 0 {
		return r.inGitDir(path.Join(parts[:i+1]...), parts[i+1:], op, false)
	}
	for i := range parts {
		if at := path.Join(parts[:i]...); r.has(at, "HEAD") {
			if err := r.inBare(at, parts[i:], op); err != nil {
				return err
			}
		}
	}
	last := len(parts) - 1
	switch dir := path.Join(parts[:last]...); {
	case op == opRemove || op == opMoveOut:
	case strings.EqualFold(parts[last], "commondir"):
		return gitRefuses("it leads git to another directory")
	case strings.EqualFold(parts[last], "HEAD") && op != opMakeDir && op != opMoveDir && !r.has(dir, "HEAD"):
		return r.becomesBare(dir)
	}
	return nil
}

// has reports whether the directory at, relative to the workspace, has a file or
// link of that name.
func (r *nameRules) has(at, name string) bool {
	info, err := os.Lstat(filepath.Join(r.Workspace, at, name))
	return err == nil && !info.IsDir()
}

// isOld reports whether the git directory was there when the sandbox was made,
// under this or another name.
func (r *nameRules) isOld(at string) bool {
	info, err := os.Lstat(filepath.Join(r.Workspace, at))
	if err != nil {
		return false
	}
	is := inodeOf(info)
	return slices.Contains(r.Old, [2]uint64{is.dev, is.ino})
}

// gitData are the files of a git directory that git writes while it works, and
// gitProbe what git init makes to find out what the file system can do.
var (
	gitData = regexp.MustCompile(`^([A-Z_]*HEAD|MERGE_[A-Z_]+|SQUASH_MSG|[A-Z]+_EDITMSG|BISECT_[A-Z_]+|` +
		`AUTO_MERGE|NOTES_[A-Z_]+|index|index\.[\w.]+|next-index-\d+|sharedindex[._]\w+|packed-refs|` +
		`packed-refs\.new|gc\.log|gc\.pid|ADD_EDIT\.patch|addp-hunk-edit\.diff)(\.lock)?$`)
	gitProbe = regexp.MustCompile(`^t\w{6}$`)
)

// gitDataDirs are its directories in which git writes while it works.
var gitDataDirs = []string{"objects", "refs", "logs", "rr-cache", "rebase-merge", "rebase-apply", "sequencer",
	"reftable", "lost-found"}

// inGitDir decides about rest, which is in the git directory at, or is it. old
// says that the git directory above it, if there is one, was there before.
func (r *nameRules) inGitDir(at string, rest []string, op nameOp, old bool) error {
	old = old || r.isOld(at)
	if len(rest) == 0 {
		info, err := os.Lstat(filepath.Join(r.Workspace, at))
		isDir := err == nil && info.IsDir()
		if op == opMakeDir || op == opRemove && isDir && !old {
			return nil
		}
		return gitRefuses("git would work with another git directory")
	}
	if len(rest) > 1 && (rest[0] == "modules" || rest[0] == "worktrees") {
		for i := 2; i < len(rest); i++ { // a submodule of the name a/b is at modules/a/b
			if sub := path.Join(at, path.Join(rest[:i]...)); r.has(sub, "HEAD") {
				return r.inGitDir(sub, rest[i:], op, old)
			}
		}
	}
	name, alone := rest[0], len(rest) == 1
	switch {
	case op == opMakeLink && !(alone && !old && gitProbe.MatchString(name)):
		return gitRefuses("git follows links in a git directory")
	case slices.Contains(gitDataDirs, name):
		switch {
		case !alone:
			return r.inObjects(rest)
		case op == opMakeDir || op == opRemove && (!old || name != "objects" && name != "refs"):
			return nil
		}
	case alone && isIndex(name) && op != opRemove && op != opMoveOut && op != opMode:
		if op == opMoveIn {
			return errOnlyPaths
		}
	case alone && op != opMakeDir && op != opMoveDir && gitData.MatchString(name):
		return nil
	case name == "info" && !alone && strings.HasPrefix(rest[1], "refs"):
		return nil
	case old:
		return inOldConfig(rest, op)
	case op == opRemove || op == opMode: // git init finds out by a mode what the file system can do
		return nil
	case alone && (name == "info" || name == "hooks" || name == "branches"):
		if op == opMakeDir {
			return nil
		}
	case alone && (name == "description" || strings.HasPrefix(name, "shallow") || gitProbe.MatchString(name)),
		len(rest) == 2 && name == "info" && rest[1] == "exclude":
		if op != opMoveDir {
			return nil
		}
	default:
		return inNewGitDir(rest, op)
	}
	return gitRefuses("git takes orders from it")
}

// isIndex reports whether git reads the file of a git directory as an index, or as
// a part of one.
func isIndex(name string) bool { return name == "index" || strings.HasPrefix(name, "sharedindex.") }

// inOldConfig decides about the configuration of a git directory that was there
// when the sandbox was made, and refuses everything else.
func inOldConfig(rest []string, op nameOp) error {
	switch name := strings.Join(rest, "/"); {
	case name == "config" && op == opMoveIn:
		return errOnlyBranches
	case name == "config.lock" && op != opMoveIn && op != opMoveDir && op != opMakeDir && op != opMakeLink:
		return nil
	}
	return gitRefuses("git takes orders from it")
}

// inNewGitDir decides about hooks and the configuration of a git directory that
// was not there when the sandbox was made.
func inNewGitDir(rest []string, op nameOp) error {
	switch name := strings.Join(rest, "/"); {
	case name == "config" && op == opMoveIn:
		return errOnlyData
	case name == "config.lock" && op != opMoveIn && op != opMoveDir:
		return nil
	case len(rest) == 2 && rest[0] == "hooks" && strings.HasSuffix(name, ".sample") && op != opMoveDir:
		return nil // git does not run it
	}
	return gitRefuses("git takes orders from it")
}

// inObjects refuses the two files that lead git to the objects of other git
// directories.
func (r *nameRules) inObjects(rest []string) error {
	if len(rest) == 3 && rest[0] == "objects" && rest[1] == "info" && strings.Contains(rest[2], "alternates") {
		return gitRefuses("it leads git to another directory")
	}
	return nil
}

// inBare decides about rest in the directory at, which has a file HEAD. Anything
// that git takes no orders from may be there.
func (r *nameRules) inBare(at string, rest []string, op nameOp) error {
	name, alone := strings.ToLower(rest[0]), len(rest) == 1
	switch {
	case alone && isIndex(name) && op != opRemove && op != opMoveOut && op != opMode:
		if op == opMoveIn {
			return errOnlyPaths
		}
	case name == "info" && !alone:
		if base := strings.ToLower(rest[1]); base != "attributes" && base != "grafts" && base != "sparse-checkout" {
			return nil
		}
	case name == "info" || name == "hooks" && alone:
		if op == opMakeDir || op == opRemove && !r.isOld(at) {
			return nil
		}
	case name != "hooks" && name != "config" && name != "config.lock" && name != "config.worktree":
		return nil
	case !r.isOld(at):
		if op == opRemove || op == opMode || name == "config.lock" && op == opMoveOut {
			return nil
		}
		return inNewGitDir(rest, op)
	case alone:
		return inOldConfig(rest, op)
	}
	return gitRefuses("git takes " + path.Join(at, ".") + " for a repository, and orders from it")
}

// becomesBare decides whether the directory at may get a file HEAD: it must have
// nothing that git would obey. Its configuration becomes a copy, since a command
// may have the file open.
func (r *nameRules) becomesBare(at string) error {
	root, err := os.OpenRoot(filepath.Join(r.Workspace, at))
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range []string{"config.worktree", "commondir", "gitdir", "index", "info/attributes",
		"info/grafts"} {
		if _, err := root.Lstat(name); err == nil {
			return gitRefuses("it would make a repository of the directory, which has " + name)
		}
	}
	for _, name := range []string{"hooks", "info"} {
		info, err := root.Lstat(name)
		if err == nil && !info.IsDir() {
			return gitRefuses("it would make a repository of the directory, in which " + name + " is no directory")
		}
	}
	hooks, _ := fs.ReadDir(root.FS(), "hooks") // none: there is no such directory
	for _, e := range hooks {
		if !strings.HasSuffix(e.Name(), ".sample") {
			return gitRefuses("it would make a repository of the directory, which has hooks/" + e.Name())
		}
	}
	if _, err := root.Lstat("config"); err != nil {
		return nil
	}
	return putConfig(root, "config", false)
}

// How long a configuration and an index of git may be that a command writes.
const (
	maxConfig = 1 << 20
	maxIndex  = 512 << 20
)

// readOwn reads a regular file that a command made.
func readOwn(root *os.Root, name string, limit int64) ([]byte, fs.FileInfo, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > limit {
		return nil, nil, gitRefuses("it is no file, or too long")
	}
	data, err := io.ReadAll(io.LimitReader(f, limit))
	return data, info, err
}

// putCopy writes data in the place of the file to, and removes from. A command may
// have from open, and writes in vain then. The new file has the time of from, by
// which git knows what may have changed since.
func putCopy(root *os.Root, from, to string, data []byte, info fs.FileInfo) error {
	next := to + ".openmanus"
	_ = root.Remove(next) // left by a process that was killed
	f, err := root.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close(), root.Chmod(next, info.Mode().Perm()),
		root.Chtimes(next, info.ModTime(), info.ModTime()))
	if err == nil {
		err = root.Rename(next, to)
	}
	if err == nil && from != to {
		err = root.Remove(from)
	}
	return err
}

// putConfig gives the configuration from its place. It refuses one with settings
// that are not only data, unless these are in the old one, and with branches also
// one that differs from the old one in more than its branches.
func putConfig(root *os.Root, from string, branches bool) error {
	data, info, err := readOwn(root, from, maxConfig)
	if err != nil {
		return err
	}
	var known []string
	if from != "config" {
		old, _, _ := readOwn(root, "config", maxConfig) // there need not be one
		known = orders(string(old))
		if branches && !slices.Equal(besideBranches(string(old)), besideBranches(string(data))) {
			return gitRefuses("git takes orders from it, and only what it says of branches may change")
		}
	}
	for _, line := range orders(string(data)) {
		if !slices.Contains(known, line) {
			return gitRefuses("git may take an order from " + strings.TrimSpace(line))
		}
	}
	return putCopy(root, from, "config", data, info)
}

// putIndex gives an index its place. It refuses one with a path in a git
// directory, where git checkout would write: git does not look for that.
func putIndex(root *os.Root, from, to string) error {
	data, info, err := readOwn(root, from, maxIndex)
	if err != nil {
		return err
	}
	// The index does not say which hashes it has. With the wrong ones it cannot
	// be read.
	var read bool
	for _, hash := range []int{20, 32} {
		bad, whole := pathsOfIndex(data, hash)
		if bad != "" {
			return gitRefuses(fmt.Sprintf("git would write %q", bad))
		}
		read = read || whole
	}
	if !read {
		return gitRefuses("it is no index")
	}
	return putCopy(root, from, to, data, info)
}

// pathsOfIndex reads an index (gitformat-index(5)) whose hashes have this many
// bytes. It returns a path in a git directory, if there is one, and whether all
// entries could be read.
func pathsOfIndex(data []byte, hash int) (bad string, whole bool) {
	_, whole = gitindex.Read(data, hash, func(e gitindex.Entry) bool {
		for part := range strings.SplitSeq(strings.ToLower(string(e.Name)), "/") {
			if part == ".git" || part == ".." {
				bad = string(e.Name)
			}
		}
		return bad == ""
	})
	return bad, whole || bad != ""
}

// gitSteps are the steps of a rebase that run no program, as git writes them.
var gitSteps = regexp.MustCompile(`^\s*(#|$|(p|pick|r|reword|e|edit|s|squash|f|fixup|d|drop|l|label|t|reset|m|merge|` +
	`u|update-ref|b|break|noop|revert)(\s|$))`)

// plainSteps takes the other steps from a list, if it is there.
func plainSteps(root *os.Root, name string) error {
	text := readSmall(root, name)
	var plain strings.Builder
	for line := range strings.Lines(text) {
		if gitSteps.MatchString(line) {
			plain.WriteString(line)
		}
	}
	if plain.Len() == len(text) {
		return nil
	}
	if err := root.Remove(name); err != nil { // it may be a link, or another name of a file
		return err
	}
	return root.WriteFile(name, []byte(plain.String()), 0o644)
}
