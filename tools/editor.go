package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/near"
	"github.com/openmanus-go/openmanus/internal/sight"
	"github.com/openmanus-go/openmanus/workspace"
)

type editorInput struct {
	Command    string  `json:"command"`
	Path       string  `json:"path"`
	FileText   *string `json:"file_text"`
	InsertLine *int    `json:"insert_line"`
	ViewRange  []int   `json:"view_range"`

	replacement
	Edits []replacement `json:"edits"`
}

// NewEditor returns the str_replace_editor tool, which views and edits the
// files of ws.
//
// The Detail of an edit is a [FileChange] with one more field, undo: the edits
// that can be undone, without limit, of each of the last 50 files. The texts that
// edits removed are blobs. The preview of an edit is its diff.
func NewEditor(ws workspace.Workspace) openmanus.Tool {
	edit, _ := NewEditors(ws)
	return edit
}

// EditorName is the name of the tool that shows and changes files.
const EditorName = "str_replace_editor"

const namePatch = "apply_patch"

// NewEditors returns the tool of [NewEditor], and the tool apply_patch, which changes
// several files of ws at once: all of them, or none. Its form is the one that models are
// trained on. undo_edit of the editor undoes what it did, file by file.
//
// The Detail of a patch is like that of an edit: its FileChange is the first file's, with
// the diffs of all files, and its field files has the [FileChange] of each.
func NewEditors(ws workspace.Workspace) (edit, patch openmanus.Tool) {
	e := &editor{ws: ws}
	spec := specOf(EditorName, openmanus.Hints{Edits: true}, writesPath("path"))
	hints := func(call openmanus.Call) openmanus.Hints {
		if stringArgument(call, "command") == "view" {
			return openmanus.Hints{ReadOnly: true, Idempotent: true}
		}
		return spec.Hints
	}
	edit = sharing{hinted{openmanus.Func(spec, e.run), hints, e.show}, []string{namePatch}}
	return edit, newPatchTool(e)
}

// An editor is the tool. One lock orders the edits of all sessions, since they
// may be of the same file: between reading a file and writing it no other call
// edits it. Commands and other programs are not ordered.
type editor struct {
	ws workspace.Workspace
	mu sync.Mutex // held from reading a file until it is written
}

// A target is the file or directory that a call is about.
type target struct {
	path string // in the words of the model, for messages
	name string // in the workspace
	info fs.FileInfo
}

// run carries out a command. Errors that OpenManus has too are in its words:
// see [refusal].
func (e *editor) run(ctx context.Context, call openmanus.Call, in editorInput) (openmanus.Result, error) {
	if in.Command != "view" {
		e.mu.Lock()
		defer e.mu.Unlock()
	}
	return (&editor{ws: workspace.In(ctx, e.ws, call.Session)}).carryOut(ctx, call, in)
}

// carryOut is run for one call, with the files as it finds them.
func (e *editor) carryOut(ctx context.Context, call openmanus.Call, in editorInput) (openmanus.Result, error) {
	var none openmanus.Result
	name, err := workspace.NameIn(ctx, e.ws.Dir(), in.Path)
	if err != nil {
		return none, err
	}
	t := target{path: in.Path, name: name}
	if t.info, err = stat(e.ws.FS(), name, in.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return none, err
	}
	switch exists := err == nil; {
	case in.Command == "create" && exists:
		return none, refuse("File already exists at: %s. Cannot overwrite files using command `create`: change it with "+
			"str_replace, or replace all of it with file_saver.", t.path)
	case in.Command == "create":
		return e.create(ctx, call, t, in)
	case !exists && in.Command != "undo_edit":
		return none, e.noFile(t)
	case exists && t.info.IsDir() && in.Command != "view":
		return none, refuse("The path %s is a directory and only the `view` command can be used on "+
			"directories", t.path)
	}
	switch in.Command {
	case "view":
		return e.view(ctx, call, t, in.ViewRange)
	case "str_replace":
		return e.replace(ctx, call, t, in)
	case "insert":
		return e.insert(ctx, call, t, in)
	case "undo_edit":
		return e.undo(ctx, call, t)
	}
	return none, refuse("Unrecognized command %s. The allowed commands for the str_replace_editor tool "+
		"are: view, create, str_replace, insert, undo_edit", in.Command)
}

// noFile is the error for a path that leads to nothing. It names the file that the model
// may mean.
func (e *editor) noFile(t target) error {
	return refuse("The path %s does not exist. Please provide a valid path%s.", t.path, near.File(workspace.Unnamed(e.ws.FS()), t.name))
}

// text returns the content of the file, which must be text in UTF-8. The error for
// anything else names a program that can help.
func (e *editor) text(t target) ([]byte, error) {
	data, err := readFile(e.ws, t.name, t.path)
	switch {
	case err != nil:
		return nil, err
	case isUTF16(data):
		return nil, fmt.Errorf("%s is in UTF-16, and only UTF-8 can be edited: convert it with a program, "+
			"such as iconv -f UTF-16 -t UTF-8", t.path)
	case isBinary(data):
		return nil, fmt.Errorf("%s is not a text file; change it with a program", t.path)
	}
	return data, nil
}

// create makes a file. run has checked that there is none.
func (e *editor) create(
	ctx context.Context, call openmanus.Call, t target, in editorInput,
) (openmanus.Result, error) {
	if in.FileText == nil {
		return openmanus.Result{}, required("file_text", "create")
	}
	after := []byte(*in.FileText)
	return e.commit(ctx, call, t, edit{after: after}, fmt.Sprintf("File created successfully at: %s", t.path))
}

// replace carries out str_replace: one replacement, or all of edits, of which either all
// are made or none.
func (e *editor) replace(
	ctx context.Context, call openmanus.Call, t target, in editorInput,
) (openmanus.Result, error) {
	var none openmanus.Result
	edits := in.Edits
	switch {
	case len(edits) == 0 && in.OldStr == nil:
		return none, required("old_str", "str_replace")
	case len(edits) > 0 && (in.OldStr != nil || in.NewStr != nil):
		return none, refuse("Parameters `old_str` and `new_str` stand in `edits`, or beside it, and not in both.")
	case len(edits) == 0:
		edits = []replacement{in.replacement}
	}
	before, err := e.text(t)
	if err != nil {
		return none, err
	}
	sayStale(ctx, t, before)
	ed, err := replaceAll(before, edits, t.path)
	if err != nil {
		return none, err
	}
	said := "The file " + t.path + " has been edited"
	if n := len(ed.places); n > 1 {
		said += fmt.Sprintf(" in %d places", n)
	}
	return e.commit(ctx, call, t, ed, said+". "+snippet(ed, "a snippet of "+t.path))
}

// insert carries out the command of that name. insert_line 0 is before the
// first line.
func (e *editor) insert(
	ctx context.Context, call openmanus.Call, t target, in editorInput,
) (openmanus.Result, error) {
	var none openmanus.Result
	switch {
	case in.InsertLine == nil:
		return none, required("insert_line", "insert")
	case in.NewStr == nil:
		return none, required("new_str", "insert")
	}
	before, err := e.text(t)
	if err != nil {
		return none, err
	}
	if *in.InsertLine > 0 && sight.Stale(ctx, t.name, before) {
		return none, refuse("No text was inserted in %s: %v", t.path, sight.Of(ctx).Given(sight.ErrMoved, t.name, before))
	}
	sayStale(ctx, t, before)
	ed, n := insertion(before, *in.InsertLine, *in.NewStr)
	if ed == nil {
		return none, refuse("Invalid `insert_line` parameter: %d. It should be within the range of lines "+
			"of the file: %s", *in.InsertLine, pyList(0, n))
	}
	return e.commit(ctx, call, t, *ed, "The file "+t.path+" has been edited. "+
		snippet(*ed, "a snippet of the edited file"))
}

// sayStale says that a file is not as the model last saw it.
func sayStale(ctx context.Context, t target, now []byte) {
	if sight.Stale(ctx, t.name, now) {
		sight.Say(ctx, fmt.Sprintf("%s was changed since this session last saw it. An edit is made in what is there now, where it fits: view the file to see what else is new.", t.path))
	}
}

// commit writes the file that an edit makes, and remembers how to undo the
// edit.
func (e *editor) commit(
	ctx context.Context, call openmanus.Call, t target, ed edit, said string,
) (openmanus.Result, error) {
	h, err := readHistory(call.Last)
	if err != nil {
		return openmanus.Result{}, err
	}
	if err := h.push(ctx, call.Blobs, t.name, ed); err != nil {
		return openmanus.Result{}, err
	}
	if ed.before != nil {
		sight.Based(ctx, ed.before)
	}
	if err := e.ws.WriteFile(ctx, t.name, ed.after); err != nil {
		return openmanus.Result{}, fmt.Errorf("writing %s: %w", t.path, err)
	}
	h.FileChange = newChange(t.name, ed.before, ed.after)
	res := openmanus.TextResult("%s", said)
	res.Detail = h
	return res, nil
}
