package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/internal/sight"
	"github.com/openmanus-go/openmanus/workspace"
)

// A sharing tool has the memory of other tools as its own.
type sharing struct {
	hinted
	with []string
}

// SharesLast implements [openmanus.MemorySharer].
func (s sharing) SharesLast() []string { return s.with }

// A patchTool is the tool apply_patch.
type patchTool struct{ sharing }

// ArgumentsOf implements [openmanus.ArgumentHinter]: it declares the paths in a patch as
// what the call writes and deletes. A patch that cannot be read has none, and changes
// nothing.
func (patchTool) ArgumentsOf(call openmanus.Call) []openmanus.Argument {
	list := []openmanus.Argument{onlyText}
	p, err := parsePatch(stringArgument(call, "input"))
	if err != nil {
		return list
	}
	p.paths(func(path string, removes bool) {
		does := openmanus.Writes
		if removes {
			does = openmanus.Deletes
		}
		list = append(list, openmanus.Argument{Kind: openmanus.PathArgument, Does: does, Value: path})
	})
	return list
}

type patchInput struct {
	Input string `json:"input"`
}

// newPatchTool returns the tool apply_patch: see [NewEditors].
func newPatchTool(e *editor) openmanus.Tool {
	spec := specOf(namePatch, openmanus.Hints{Edits: true}, onlyText)
	tool := openmanus.Func(spec, func(ctx context.Context, call openmanus.Call, in patchInput) (openmanus.Result, error) {
		return e.patch(ctx, call, in)
	})
	show := func(ctx context.Context, call openmanus.Call) (string, error) {
		var in patchInput
		if err := args.Decode(call.Input, &in); err != nil {
			return "", fmt.Errorf("arguments: %w", err)
		}
		call.Blobs, call.Live = unkept{call.Blobs}, io.Discard
		res, err := (&editor{ws: rehearsed{workspace.In(ctx, e.ws, call.Session)}}).patch(ctx, call, in)
		if err != nil {
			return "", err
		}
		return res.Detail.(*history).Diff, nil
	}
	return patchTool{sharing{hinted{tool, func(openmanus.Call) openmanus.Hints { return spec.Hints }, show}, []string{EditorName}}}
}

// A patching applies a patch to files in memory.
type patching struct {
	e     *editor
	files []*patchedFile // in the order in which the patch names them
	notes []string
	said  []string
}

// A patchedFile is a file as it is, and as the patch leaves it. nil: there is none.
type patchedFile struct {
	target
	before, after []byte
	like          string // the file that was moved here
	deleted       bool   // as a whole, whatever is in it
}

// patch carries out a call. Files are changed all together, or not at all.
func (e *editor) patch(ctx context.Context, call openmanus.Call, in patchInput) (openmanus.Result, error) {
	var none openmanus.Result
	parsed, err := parsePatch(in.Input)
	if err != nil {
		return none, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	p := &patching{e: &editor{ws: workspace.In(ctx, e.ws, call.Session)}}
	for i := range parsed.files {
		if err := p.apply(ctx, &parsed.files[i]); err != nil {
			if len(parsed.files) > 1 {
				err = refusal(err.Error() + "\nNo file was changed.")
			}
			return none, err
		}
		if ctx.Err() != nil {
			return none, ctx.Err()
		}
	}
	return p.commit(ctx, call)
}

// file returns the file with this path, in the words of the model.
func (p *patching) file(ctx context.Context, path string) (*patchedFile, error) {
	name, err := workspace.NameIn(ctx, p.e.ws.Dir(), path)
	if err != nil {
		return nil, err
	}
	for _, f := range p.files {
		if f.name == name {
			return f, nil
		}
	}
	f := &patchedFile{target: target{path: path, name: name}}
	f.info, err = stat(p.e.ws.FS(), name, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.info = nil
	case err != nil:
		return nil, err
	case f.info.IsDir():
		return nil, refuse("The path %s is a directory and a patch changes files only", path)
	default:
		if f.before, err = readFile(p.e.ws, name, path); err != nil {
			return nil, err
		}
	}
	f.after = f.before
	p.files = append(p.files, f)
	return f, nil
}

// apply changes the files in memory as the patch does with one of them. Nothing is written
// yet, so an error leaves all files as they are.
func (p *patching) apply(ctx context.Context, op *patchFile) error {
	f, err := p.file(ctx, op.path)
	switch {
	case err != nil:
		return err
	case op.op == patchAdd && f.after != nil:
		return refuse("File already exists at: %s. Cannot overwrite files using `*** Add File`: change it with `*** Update File`.", op.path)
	case op.op == patchAdd:
		f.after = []byte(op.text)
		p.said = append(p.said, "A "+op.path)
		return nil
	case f.after == nil:
		return p.e.noFile(f.target)
	case op.op == patchDelete:
		f.after, f.deleted = nil, true
		p.said = append(p.said, "D "+op.path)
		return nil
	}
	return p.update(ctx, f, op)
}

// update applies the hunks of a file, and moves it.
func (p *patching) update(ctx context.Context, f *patchedFile, op *patchFile) error {
	switch {
	case isUTF16(f.after):
		return fmt.Errorf("%s is in UTF-16, and only UTF-8 can be patched: convert it with a program, "+
			"such as iconv -f UTF-16 -t UTF-8", op.path)
	case isBinary(f.after) && len(op.hunks) > 0:
		return fmt.Errorf("%s is not a text file; change it with a program", op.path)
	}
	if f.before != nil {
		sayStale(ctx, f.target, f.before)
	}
	after, loose, err := newPatchedText(op.path, f.after).apply(op.hunks)
	if err != nil {
		return err
	}
	if string(after) == string(f.after) && op.move == "" {
		return refuse("No replacement was performed, the patch of %s changes nothing.", op.path)
	}
	for _, line := range loose {
		p.notes = append(p.notes, fmt.Sprintf("(The hunk at line %d of the patch differs from %s in white space; the file's was kept.)", line, op.path))
	}
	said := "M " + op.path
	if op.move != "" {
		to, err := p.file(ctx, op.move)
		switch {
		case err != nil:
			return err
		case to == f:
			return refuse("%s cannot be moved to itself", op.path)
		case to.after != nil:
			return refuse("File already exists at: %s. Cannot move %s there.", op.move, op.path)
		}
		f.after, to.like = nil, f.name
		f, said = to, said+" -> "+op.move
	}
	f.after = after
	p.said = append(p.said, said)
	return nil
}

// commit writes the files all together, and remembers how to undo the edit of each.
func (p *patching) commit(ctx context.Context, call openmanus.Call) (openmanus.Result, error) {
	var none openmanus.Result
	h, err := readHistory(call.Last)
	if err != nil {
		return none, err
	}
	var changes []workspace.Change
	var diffs strings.Builder
	for _, f := range p.files {
		if f.before != nil && !f.deleted { // a patch of lines is made of what is there
			sight.Based(ctx, f.before)
		}
		if f.before == nil && f.after == nil || f.before != nil && f.after != nil && string(f.before) == string(f.after) {
			continue // made and removed again
		}
		c := newChange(f.name, f.before, f.after)
		diffs.WriteString(c.Diff)
		c.Diff = ""
		h.Files = append(h.Files, c)
		ed := difference(f.before, f.after)
		if err := h.push(ctx, call.Blobs, f.name, ed); err != nil {
			return none, err
		}
		changes = append(changes, workspace.Change{Name: f.name, Data: f.after, Like: f.like})
	}
	if len(changes) == 0 {
		return none, refuse("No replacement was performed, the patch changes nothing.")
	}
	if err := workspace.ChangeFiles(ctx, p.e.ws, changes); err != nil {
		return none, fmt.Errorf("no file was changed: %w", err)
	}
	h.FileChange = h.Files[0]
	h.Diff = cutDiff(diffs.String())
	text := "Success. Updated the following files:\n" + strings.Join(slices.Concat(p.said, p.notes), "\n")
	res := openmanus.TextResult("%s", text)
	res.Detail = h
	return res, nil
}
