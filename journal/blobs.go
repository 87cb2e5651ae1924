package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus"
)

// RefsOf returns the blobs that b names in fields of the type [openmanus.Ref], but for
// those of [PacksOf], and in each field "blob" or "edit" (what the editor undoes) in the
// Detail of a tool's result. A ref that only occurs in a text, which anyone may have
// written, does not count; nor does one in the Detail of a result from an MCP
// server, which chooses the fields.
func RefsOf(b openmanus.Body) []openmanus.Ref {
	refs := appendRefs(nil, reflect.ValueOf(b), "")
	done, _ := b.(openmanus.CallDone)
	some := bytes.Contains(done.Detail, []byte(`"blob"`)) || bytes.Contains(done.Detail, []byte(`"edit"`))
	if some && !strings.HasPrefix(done.Source, "mcp:") {
		// A Detail that is not JSON has no fields.
		_, _ = rewrite(done.Detail, func(name string, v any) (any, error) {
			if s, ok := v.(string); ok && (name == "blob" || name == "edit") && isRef(s) {
				refs = append(refs, openmanus.Ref(s))
			}
			return v, nil
		})
	}
	return unique(refs)
}

// PacksOf returns the blobs with the content of workspaces that b names: see
// [openmanus.Snapped]. They are not among [RefsOf]: a model does not read them, and an
// export has them only if it has the files.
func PacksOf(b openmanus.Body) []openmanus.Ref {
	return unique(appendRefs(nil, reflect.ValueOf(b), "files"))
}

// appendRefs appends the refs in the fields of v whose tag "blob" is kind, and in those
// of the structs in it.
func appendRefs(refs []openmanus.Ref, v reflect.Value, kind string) []openmanus.Ref {
	for _, i := range refFieldsOf(v.Type()) {
		switch f := v.Field(i).Interface().(type) {
		case openmanus.Ref:
			if v.Type().Field(i).Tag.Get("blob") == kind {
				refs = append(refs, f)
			}
		case []openmanus.Ref:
			if v.Type().Field(i).Tag.Get("blob") == kind {
				refs = append(refs, f...)
			}
		default:
			if v.Field(i).Kind() == reflect.Struct {
				refs = appendRefs(refs, v.Field(i), kind)
				continue
			}
			for n := range v.Field(i).Len() {
				refs = appendRefs(refs, v.Field(i).Index(n), kind)
			}
		}
	}
	return refs
}

var refFieldsByType sync.Map // reflect.Type → []int

// refFieldsOf returns the fields of a struct that have refs: a ref, a struct with such fields,
// or a list of these.
func refFieldsOf(t reflect.Type) (fields []int) {
	if known, ok := refFieldsByType.Load(t); ok {
		return known.([]int)
	}
	for i := range t.NumField() {
		of := t.Field(i).Type
		if of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of == t {
			continue // a list of its own kind has no more than itself
		}
		if of == reflect.TypeFor[openmanus.Ref]() || of.Kind() == reflect.Struct && t.Field(i).IsExported() && len(refFieldsOf(of)) > 0 {
			fields = append(fields, i)
		}
	}
	refFieldsByType.Store(t, fields)
	return fields
}

// unique returns refs, each once, without those that name nothing.
func unique(refs []openmanus.Ref) (all []openmanus.Ref) {
	for _, r := range refs {
		if r != "" && !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	return all
}

// isRef reports whether s is a ref and nothing else.
func isRef(s string) bool { return refPattern.FindString(s) == s }

// SessionBlobs returns the part of b that belongs to a session: Get finds the
// blobs that its events name according to [RefsOf], or those of the sessions that
// delegated to it, and the blobs that were stored by Put of the returned Blobs.
// Any other blob is reported as one that does not exist, so that a session cannot
// read by its hash what belongs to another user. If session is "", Get finds only
// what Put stored.
//
// The returned Blobs are safe for concurrent use. They read the events of j when
// a ref is asked for that they do not know.
func SessionBlobs(j openmanus.Journal, b openmanus.Blobs, session string) openmanus.Blobs {
	s := &sessionBlobs{Blobs: b, journal: j, after: make(map[string]int64), known: make(map[openmanus.Ref]bool)}
	if session != "" {
		s.after[session] = 0
	}
	return s
}

type sessionBlobs struct {
	openmanus.Blobs
	journal openmanus.Journal

	mu    sync.Mutex
	known map[openmanus.Ref]bool
	after map[string]int64 // the last event that was read, by session
}

// Put implements [openmanus.Blobs].
func (s *sessionBlobs) Put(ctx context.Context, data []byte) (openmanus.Ref, error) {
	ref, err := s.Blobs.Put(ctx, data)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.known[ref] = true
	}
	return ref, err
}

// Get implements [openmanus.Blobs].
func (s *sessionBlobs) Get(ctx context.Context, ref openmanus.Ref) (io.ReadCloser, error) {
	named, err := s.names(ctx, ref)
	if err != nil {
		return nil, err
	}
	if !named {
		return nil, fmt.Errorf("blob %s: %w", ref, fs.ErrNotExist)
	}
	return s.Blobs.Get(ctx, ref)
}

// FindBlobs implements [openmanus.BlobFinder]. It reads all events that were not read
// yet.
func (s *sessionBlobs) FindBlobs(ctx context.Context, text string) ([]openmanus.Ref, error) {
	if _, err := s.names(ctx, ""); err != nil { // no blob has this name, so it reads everything
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return openmanus.FindRef(slices.Sorted(maps.Keys(s.known)), text), nil
}

// names reports whether ref is known, after reading the events that were not
// read yet if it is not.
func (s *sessionBlobs) names(ctx context.Context, ref openmanus.Ref) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.known[ref] {
		parents := len(s.after)
		for session, after := range s.after {
			if err := s.read(ctx, session, after); err != nil {
				return false, err
			}
		}
		if len(s.after) == parents {
			break
		}
	}
	return s.known[ref], nil
}

// read adds what the events of a session name after one of them, and the session
// that delegated to it.
func (s *sessionBlobs) read(ctx context.Context, session string, after int64) error {
	for ev, err := range s.journal.Events(ctx, session, after) {
		if errors.Is(err, openmanus.ErrNoSession) {
			return nil // a parent that was deleted
		}
		if err != nil {
			return err
		}
		if o, ok := ev.Body.(openmanus.Opened); ok && o.Parent != "" {
			if _, listed := s.after[o.Parent]; !listed {
				s.after[o.Parent] = 0
			}
		}
		for _, ref := range RefsOf(ev.Body) {
			s.known[ref] = true
		}
		s.after[session] = ev.Seq
	}
	return nil
}
