package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/sight"
)

// maxHistories is the number of files whose edits can be undone.
const maxHistories = 50

// A history is the Detail of an edit: the change that it made, and the edits so
// far. It is all that the tool remembers; the next call gets it as
// [openmanus.Call].Last.
type history struct {
	FileChange
	Files []FileChange `json:"files,omitempty"` // of a patch: every file, without diffs; FileChange is the first, with all diffs

	Undo []lastEdit `json:"undo,omitempty"` // one for each file, the most recently edited one last
}

// A lastEdit names the blob that holds the last edit of a file, a [pastEdit].
type lastEdit struct {
	Path string        `json:"path"`
	Edit openmanus.Ref `json:"edit"`
}

// A pastEdit says how to undo one edit. As each is a blob that refers to the
// one before, events grow with the number of files and not of edits. It holds
// no more of the file than what the edit removed.
type pastEdit struct {
	Prev openmanus.Ref `json:"prev,omitempty"` // the edit before it
	At   int           `json:"at"`             // offset of the edit
	Old  []byte        `json:"old,omitempty"`  // the bytes that it replaced
	Len  int           `json:"len"`            // how many bytes replaced them
	Was  string        `json:"was,omitempty"`  // hash of the file before; none: there was no file
	Is   string        `json:"is,omitempty"`   // hash of the file after; none: there is no file
}

// readHistory reads the Detail of the last edit, which has the history of the session. No
// detail is an empty history.
func readHistory(detail json.RawMessage) (*history, error) {
	h := new(history)
	if len(detail) == 0 {
		return h, nil
	}
	if err := json.Unmarshal(detail, h); err != nil {
		return nil, fmt.Errorf("the edits of this session cannot be read: %w", err)
	}
	h.FileChange, h.Files = FileChange{}, nil
	return h, nil
}

// hash identifies a content. It is not an [openmanus.Ref], which would promise
// a blob.
func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// head returns the last edit of a file, or "".
func (h *history) head(name string) openmanus.Ref {
	for _, l := range h.Undo {
		if l.Path == name {
			return l.Edit
		}
	}
	return ""
}

// set makes ref the last edit of a file. "" means that it has none.
func (h *history) set(name string, ref openmanus.Ref) {
	h.Undo = slices.DeleteFunc(h.Undo, func(l lastEdit) bool { return l.Path == name })
	if ref != "" {
		h.Undo = append(h.Undo, lastEdit{name, ref})
	}
	h.Undo = h.Undo[max(0, len(h.Undo)-maxHistories):]
}

// push adds an edit: the replaced bytes and where they were, and hashes of the file before
// and after, by which undo notices changes of others.
func (h *history) push(ctx context.Context, blobs openmanus.Blobs, name string, ed edit) error {
	p := pastEdit{
		Prev: h.head(name), At: ed.old.from, Old: ed.before[ed.old.from:ed.old.to],
		Len: ed.new.to - ed.new.from,
	}
	if ed.after != nil {
		p.Is = hash(ed.after)
	}
	if ed.before != nil {
		p.Was = hash(ed.before)
	}
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	ref, err := blobs.Put(ctx, data)
	if err != nil {
		return fmt.Errorf("storing the record of the edit: %w", err)
	}
	h.set(name, ref)
	return nil
}

// pop takes the last edit of a file from the history. There must be one. If its record is
// gone, the edit cannot be undone, and the error says so.
func (h *history) pop(ctx context.Context, blobs openmanus.Blobs, name string) (*pastEdit, error) {
	ref := h.head(name)
	data, err := openmanus.ReadBlob(ctx, blobs, ref)
	if err != nil {
		return nil, fmt.Errorf("the record of the edit is gone: %w", err)
	}
	var p pastEdit
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("the record of the edit cannot be read: %w", err)
	}
	h.set(name, p.Prev)
	return &p, nil
}

var errChanged = errors.New("changed since")

// revert returns the file before the edit, nil if there was none. now is the file, nil
// if there is none. It returns errChanged if that is not what the edit left.
func (p *pastEdit) revert(now []byte) ([]byte, error) {
	if (p.Is == "") != (now == nil) || now != nil && hash(now) != p.Is {
		return nil, errChanged
	}
	if p.Was == "" {
		return nil, nil
	}
	if p.At < 0 || p.Len < 0 || p.At+p.Len > len(now) {
		return nil, errors.New("its record is damaged")
	}
	before := bytes.Join([][]byte{now[:p.At], p.Old, now[p.At+p.Len:]}, nil)
	if hash(before) != p.Was {
		return nil, errors.New("its record is damaged")
	}
	return before, nil
}

// undo carries out the command undo_edit. It removes a file that the edit
// created.
func (e *editor) undo(ctx context.Context, call openmanus.Call, t target) (openmanus.Result, error) {
	var none openmanus.Result
	h, err := readHistory(call.Last)
	if err != nil {
		return none, err
	}
	switch head := h.head(t.name); {
	case head == "" && t.info == nil:
		return none, e.noFile(t)
	case head == "":
		return none, refuse("No edit history found for %s.", t.path)
	}
	p, err := h.pop(ctx, call.Blobs, t.name)
	if err != nil {
		return none, fmt.Errorf("the last edit to %s was not undone: %w", t.path, err)
	}
	var now []byte
	if t.info != nil {
		if now, err = readFile(e.ws, t.name, t.path); err != nil {
			return none, err
		}
	}
	before, err := p.revert(now)
	switch {
	case errors.Is(err, errChanged):
		return none, refuse("The last edit to %s was not undone: the file was changed since by something "+
			"else, and that would be lost. View the file and edit it instead.", t.path)
	case err != nil:
		return none, fmt.Errorf("the last edit to %s was not undone: %w", t.path, err)
	}
	sight.Based(ctx, now)
	said := fmt.Sprintf("Last edit to %s undone successfully. ", t.path)
	if before == nil {
		err, said = e.ws.Remove(ctx, t.name), said+"The file is removed: it was not there before."
	} else {
		err, said = e.ws.WriteFile(ctx, t.name,
			before), said+snippet(edit{after: before, new: span{p.At, p.At + len(p.Old)}}, t.path)
	}
	if err != nil {
		return none, fmt.Errorf("undoing the last edit to %s: %w", t.path, err)
	}
	h.FileChange = newChange(t.name, now, before)
	res := openmanus.TextResult("%s", said)
	res.Detail = h
	return res, nil
}
