package openmanus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// bodies are the types of the format and their names in it.
func bodies() map[string]Body {
	return map[string]Body{
		"opened": Opened{}, "configured": Configured{}, "user_said": UserSaid{},
		"model_said": ModelSaid{}, "model_failed": ModelFailed{}, "stopped": Stopped{}, "ended": Ended{},
		"resumed": Resumed{}, "interrupted": Interrupted{}, "asked": Asked{}, "answered": Answered{},
		"ruled": Ruled{}, "call_started": CallStarted{}, "call_done": CallDone{}, "call_late": CallLate{},
		"child_opened": ChildOpened{}, "child_done": ChildDone{}, "taken": Taken{},
		"elided": Elided{}, "compacted": Compacted{},
		"titled": Titled{}, "noted": Noted{},
		"typing": Typing{}, "output": Output{},
	}
}

var (
	typeOf = bodies()
	nameOf = func() map[reflect.Type]string {
		m := make(map[reflect.Type]string)
		for name, b := range bodies() {
			m[reflect.TypeOf(b)] = name
		}
		return m
	}()
)

// TypeName returns the name of b's type in the journal format.
func TypeName(b Body) string {
	if f, ok := b.(Foreign); ok {
		return f.Type
	}
	return nameOf[reflect.TypeOf(b)]
}

// A Stored is a body as a journal keeps it.
type Stored struct {
	Type string
	Key  string
	Body json.RawMessage
}

// A Codec turns bodies into what a journal stores, and back. Journals use it
// and nothing else. The zero Codec keeps everything in the body and knows no
// secrets. It is safe for concurrent use.
//
// Strings over [BigString] go into Blobs, and known secrets are replaced by a
// placeholder that names them, so that who writes events need not think of
// either.
type Codec struct {
	Blobs   Blobs // if nil, large strings stay in the body
	Secrets *Secrets
}

// BigString is the length from which on a string of a body is kept as a blob.
const BigString = 8 << 10

// Encode returns b as it is to be stored. The blobs it needs are stored when
// it returns.
func (c Codec) Encode(ctx context.Context, b Body) (Stored, error) {
	s := Stored{Type: TypeName(b), Key: b.Key()}
	switch {
	case s.Key == "":
		return s, fmt.Errorf("a provisional body (%T) cannot be stored", b)
	case s.Type == "":
		return s, fmt.Errorf("the body %T is not part of the journal format", b)
	}
	data, err := marshal(b)
	if err != nil {
		return s, fmt.Errorf("encode %s: %w", s.Type, err)
	}
	if c.Secrets.in(data) {
		if data, err = c.Secrets.clean(b); err != nil {
			return s, fmt.Errorf("replace secrets in %s: %w", s.Type, err)
		}
	}
	if c.Secrets.in([]byte(s.Key)) || !utf8.ValidString(s.Key) {
		if s.Key, err = c.keyOf(s, data); err != nil {
			return s, err
		}
	}
	if c.Blobs != nil && (len(data) > BigString || bytes.Contains(data, blobMark)) {
		if data, err = lift(ctx, c.Blobs, data); err != nil {
			return s, err
		}
	}
	s.Body = data
	return s, nil
}

// keyOf returns the key of what will be read from data: the key of a body
// changes with what is replaced in it.
func (c Codec) keyOf(s Stored, data []byte) (string, error) {
	s.Key = string([]rune(c.Secrets.Replace(s.Key))) // all there is of a Foreign; as valid as JSON would make it
	b, err := Codec{}.Decode(context.Background(), Stored{s.Type, s.Key, data})
	if err != nil {
		return "", err
	}
	return b.Key(), nil
}

// Decode returns the body that was stored as s. A type that this version does
// not know becomes [Foreign].
func (c Codec) Decode(ctx context.Context, s Stored) (Body, error) {
	data := s.Body
	if c.Blobs != nil && bytes.Contains(data, blobMark) {
		var err error
		if data, err = lower(ctx, c.Blobs, data); err != nil {
			return nil, fmt.Errorf("event %s: %w", s.Key, err)
		}
	}
	zero, ok := typeOf[s.Type]
	if !ok {
		return Foreign{s.Type, s.Key, bytes.Clone(data)}, nil
	}
	p := reflect.New(reflect.TypeOf(zero))
	if err := json.Unmarshal(data, p.Interface()); err != nil {
		return nil, fmt.Errorf("event %s: %w", s.Key, err)
	}
	return p.Elem().Interface().(Body), nil
}

func marshal(b Body) ([]byte, error) {
	if f, ok := b.(Foreign); ok {
		if !json.Valid(f.Content) {
			return nil, errors.New("its content is not JSON")
		}
		return f.Content, nil
	}
	return json.Marshal(b)
}

// blobKey is the only key of the object that stands where a large string was:
// {"$blob":"sha256:…"}. An object of somebody else's that looks like one has
// another $ before it in the journal.
const blobKey = "$blob"

// blobMark is in the encoding of all that lift may change, and of all that it
// has changed.
var blobMark = []byte(blobKey + `"`)

// lift moves the large strings of a JSON document into blobs.
func lift(ctx context.Context, blobs Blobs, data []byte) ([]byte, error) {
	return rewrite(data, func(_ string, v any) (any, error) {
		if key, like := blobLike(v); like {
			return map[string]any{"$" + key: v.(map[string]any)[key]}, nil
		}
		s, ok := v.(string)
		if !ok || len(s) <= BigString {
			return v, nil
		}
		ref, err := blobs.Put(ctx, []byte(s))
		return map[string]any{blobKey: ref}, err
	})
}

// lower puts them back.
func lower(ctx context.Context, blobs Blobs, data []byte) ([]byte, error) {
	return rewrite(data, func(_ string, v any) (any, error) {
		key, like := blobLike(v)
		if !like {
			return v, nil
		}
		value := v.(map[string]any)[key]
		if key != blobKey {
			return map[string]any{key[1:]: value}, nil
		}
		ref, ok := value.(string)
		if !ok {
			return v, nil // nobody stored that
		}
		s, err := ReadBlob(ctx, blobs, Ref(ref))
		return string(s), err
	})
}

// blobLike returns the only key of an object, if it is blobKey with any number
// of $ before it.
func blobLike(v any) (key string, ok bool) {
	m, ok := v.(map[string]any)
	if !ok || len(m) != 1 {
		return "", false
	}
	for key = range m {
	}
	return key, strings.HasSuffix(key, blobKey) && strings.Trim(key[:len(key)-len(blobKey)], "$") == ""
}

// ReadBlob returns the whole content of a blob.
func ReadBlob(ctx context.Context, blobs Blobs, ref Ref) ([]byte, error) {
	r, err := blobs.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// rewrite applies f to every value of a JSON document, outer ones first, with
// the name of the field that it is, or "".
func rewrite(data []byte, f func(name string, v any) (any, error)) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	v, err := walk("", v, f)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func walk(name string, v any, f func(string, any) (any, error)) (any, error) {
	v, err := f(name, v)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			if v[i], err = walk("", v[i], f); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], err = walk(k, v[k], f); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

var refPattern = regexp.MustCompile(`sha256:[0-9a-f]{64}`)

// Refs returns the blobs that a stored body speaks of, without repetition, in
// order. A journal keeps a blob as long as an event speaks of it.
func (s Stored) Refs() []Ref {
	var refs []Ref
	for _, m := range refPattern.FindAll(s.Body, -1) {
		if ref := Ref(m); !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// Same reports whether two bodies say the same: ErrExists rather than
// ErrConflict.
func Same(a, b Stored) bool { return a.Type == b.Type && bytes.Equal(a.Body, b.Body) }
