package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
)

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
	Blobs   openmanus.Blobs // if nil, large strings stay in the body
	Secrets *Secrets
}

// BigString is the length from which on a string of a body is kept as a blob.
const BigString = 8 << 10

// Encode returns b as it is to be stored. The blobs it needs are stored when
// it returns.
func (c Codec) Encode(ctx context.Context, b openmanus.Body) (Stored, error) {
	s := Stored{Type: openmanus.TypeName(b), Key: b.Key()}
	switch {
	case s.Key == "":
		return s, fmt.Errorf("a provisional body (%T) cannot be stored", b)
	case s.Type == "":
		return s, fmt.Errorf("the body %T is not part of the journal format", b)
	}
	data, err := openmanus.EncodeBody(b)
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
func (c Codec) Decode(ctx context.Context, s Stored) (openmanus.Body, error) {
	data := s.Body
	if c.Blobs != nil && bytes.Contains(data, blobMark) {
		var err error
		if data, err = lower(ctx, c.Blobs, data); err != nil {
			return nil, fmt.Errorf("event %s: %w", s.Key, err)
		}
	}
	b, err := openmanus.DecodeBody(s.Type, s.Key, data)
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", s.Key, err)
	}
	return b, nil
}

// blobKey is the only key of the object that stands where a large string was:
// {"$blob":"sha256:…"}. An object of somebody else's that looks like one has
// another $ before it in the journal.
const blobKey = "$blob"

// blobMark is in the encoding of all that lift may change, and of all that it
// has changed.
var blobMark = []byte(blobKey + `"`)

// lift moves the large strings of a JSON document into blobs.
func lift(ctx context.Context, blobs openmanus.Blobs, data []byte) ([]byte, error) {
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
func lower(ctx context.Context, blobs openmanus.Blobs, data []byte) ([]byte, error) {
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
		s, err := openmanus.ReadBlob(ctx, blobs, openmanus.Ref(ref))
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
func (s Stored) Refs() []openmanus.Ref {
	var refs []openmanus.Ref
	for _, m := range refPattern.FindAll(s.Body, -1) {
		if ref := openmanus.Ref(m); !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// Same reports whether two bodies say the same: ErrExists rather than
// ErrConflict.
func Same(a, b Stored) bool { return a.Type == b.Type && bytes.Equal(a.Body, b.Body) }

// Line returns a stored event in the encoding of [Event.MarshalJSON]. Nothing is
// decoded for that, unless large strings have to be put back or the body was
// encoded by another program.
func (c Codec) Line(ctx context.Context, seq int64, at time.Time, s Stored) ([]byte, error) {
	if !openmanus.IsBodyType(s.Type) || bytes.Contains(s.Body, blobMark) || bytes.IndexByte(s.Body, '\n') >= 0 {
		b, err := c.Decode(ctx, s)
		if err != nil {
			return nil, err
		}
		return openmanus.Event{Seq: seq, Time: at, Body: b}.MarshalJSON()
	}
	return openmanus.EventLine(seq, at, s.Type, s.Key, s.Body)
}
