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

// A Stored is a body as a journal stores it.
type Stored struct {
	Type string
	Key  string
	Body json.RawMessage
}

// A Codec encodes the bodies that a journal stores, and decodes them. Every
// implementation of [openmanus.Journal] uses it, so that all redact secrets and
// keep large strings in the same way. It is safe for concurrent use.
//
// Strings longer than [BigString] become blobs. Secrets become placeholders. The
// zero Codec does neither.
type Codec struct {
	Blobs   openmanus.Blobs // if nil, large strings stay in the body
	Secrets *Secrets
}

// BigString is the length, in bytes, above which a string in a body is stored as a
// blob.
const BigString = 8 << 10

// Encode returns b as it is to be stored. It stores the blobs that b needs first.
// A provisional body is an error.
func (c Codec) Encode(ctx context.Context, b openmanus.Body) (Stored, error) {
	s, _, err := c.encode(ctx, b)
	return s, err
}

// encode is Encode. whole reports whether decoding the result returns b, as far as
// JSON can express it: it has no placeholders and no blobs.
func (c Codec) encode(ctx context.Context, b openmanus.Body) (s Stored, whole bool, err error) {
	s = Stored{Type: openmanus.TypeName(b), Key: b.Key()}
	switch {
	case s.Key == "":
		return s, false, fmt.Errorf("a provisional body (%T) cannot be stored", b)
	case s.Type == "":
		return s, false, fmt.Errorf("the body %T is not part of the journal format", b)
	}
	data, err := openmanus.EncodeBody(b)
	if err != nil {
		return s, false, fmt.Errorf("encode %s: %w", s.Type, err)
	}
	whole = true
	if c.Secrets.in(data) {
		whole = false
		if data, err = c.Secrets.clean(b); err != nil {
			return s, false, fmt.Errorf("replace secrets in %s: %w", s.Type, err)
		}
	}
	if c.Secrets.in([]byte(s.Key)) || !utf8.ValidString(s.Key) {
		whole = false
		if s.Key, err = c.keyOf(s, data); err != nil {
			return s, false, err
		}
	}
	if c.Blobs != nil && (len(data) > BigString || bytes.Contains(data, blobMark)) {
		whole = false
		if data, err = lift(ctx, c.Blobs, data); err != nil {
			return s, false, err
		}
	}
	s.Body = data
	return s, whole, nil
}

// keyOf returns the key of the body in data: the key changes if a secret in it was
// replaced.
func (c Codec) keyOf(s Stored, data []byte) (string, error) {
	// a Foreign has its key stored; JSON would make it valid UTF-8, too
	s.Key = string([]rune(c.Secrets.Replace(s.Key)))
	b, err := Codec{}.Decode(context.Background(), Stored{s.Type, s.Key, data})
	if err != nil {
		return "", err
	}
	return b.Key(), nil
}

// Decode returns the body that was stored as s. A body of an unknown type becomes
// an [openmanus.Foreign].
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

// blobKey is the only key of the object that replaces a large string:
// {"$blob":"sha256:…"}. An object in a body that looks like this is stored with
// another $ before its key.
const blobKey = "$blob"

// blobMark occurs in the encoding of everything that lift may change or has
// changed.
var blobMark = []byte(blobKey + `"`)

// lift replaces the large strings of a JSON document by blobs.
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

// lower undoes lift.
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
			return v, nil // lift makes no such value
		}
		s, err := openmanus.ReadBlob(ctx, blobs, openmanus.Ref(ref))
		return string(s), err
	})
}

// blobLike returns the only key of an object, if that is blobKey after any number
// of $.
func blobLike(v any) (key string, ok bool) {
	m, ok := v.(map[string]any)
	if !ok || len(m) != 1 {
		return "", false
	}
	for key = range m {
	}
	return key, strings.HasSuffix(key, blobKey) && strings.Trim(key[:len(key)-len(blobKey)], "$") == ""
}

// rewrite applies f to every value in a JSON document, outer values first. name is
// the name of the field that has the value, or "".
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

// walk is rewrite for a decoded value. It changes slices and maps in place.
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

// Refs returns the blobs that a stored body names, each once, in order. A journal
// keeps a blob as long as one of its events names it.
func (s Stored) Refs() []openmanus.Ref {
	var refs []openmanus.Ref
	for _, m := range refPattern.FindAll(s.Body, -1) {
		if ref := openmanus.Ref(m); !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// Same reports whether two stored bodies are equal: a journal returns ErrExists
// then, and ErrConflict otherwise.
func Same(a, b Stored) bool { return a.Type == b.Type && bytes.Equal(a.Body, b.Body) }

// Line returns a stored event as [openmanus.Event.MarshalJSON] encodes it. It does
// not decode the body, unless that has large strings or was encoded by another
// program.
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
