package replay

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// private matches what names persons without being told to: addresses of mail, and the
// directories of users.
var private = regexp.MustCompile(`[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}|/(?:home|Users)/[A-Za-z0-9._-]+`)

// Redact returns the recording without the given words, in upper or lower case, and
// without addresses of mail and the names of users in paths. Each is replaced by
// letters and digits of the same shape and length, the same wherever it occurs, so that
// the redacted run goes as the recorded one did, and is replayed like it; what is
// computed from the texts, such as digests, is computed anew. The same recording and
// words give the same result every time.
//
// Secrets that were known when the session ran are placeholders already. A word that
// is encoded, such as in base64, or split between two texts, is not found: look at the
// result before it is given away. An error says which event does not go as it did.
func (r *Recording) Redact(ctx context.Context, o Options, words ...string) (*Recording, error) {
	if err := r.replayable(); err != nil {
		return nil, err
	}
	o.Today = nil
	m := newMask(words)
	out := &Recording{blobs: new(journal.Memory), lost: make(map[openmanus.Ref]bool)}
	if err := m.blobs(ctx, r, out); err != nil {
		return nil, err
	}
	for _, s := range r.Sessions {
		masked := Session{ID: s.ID}
		for _, ev := range s.Events {
			b, err := m.body(ev.Body)
			if err != nil {
				return nil, fmt.Errorf("session %s, event %d: %w", s.ID, ev.Seq, err)
			}
			masked.Events = append(masked.Events, openmanus.Event{Seq: ev.Seq, Time: ev.Time, Body: b})
		}
		out.Sessions = append(out.Sessions, masked)
	}
	for i := range slices.Backward(out.Sessions) { // parents report on children as these are now
		s := &out.Sessions[i]
		p, err := newPlayer(ctx, out, *s, o, out.blobs)
		if err != nil {
			return nil, err
		}
		p.anew = true
		if s.Events, err = p.session(ctx); err != nil {
			return nil, fmt.Errorf("redacted: %w", err)
		}
	}
	if _, err := Run(ctx, out, o); err != nil {
		return nil, fmt.Errorf("redacted: %w", err)
	}
	return out, nil
}

// A mask replaces words in texts, and the names of blobs whose content it changed.
type mask struct {
	words *regexp.Regexp // nil: none
	refs  map[string]string
}

func newMask(words []string) *mask {
	m := &mask{refs: make(map[string]string)}
	var quoted []string
	for _, w := range words {
		if strings.TrimSpace(w) != "" {
			quoted = append(quoted, regexp.QuoteMeta(w))
		}
	}
	slices.SortFunc(quoted, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	if len(quoted) > 0 {
		m.words = regexp.MustCompile(`(?i)` + strings.Join(quoted, "|"))
	}
	return m
}

// blobs copies the blobs that the events of r name to the recording out, masked.
func (m *mask) blobs(ctx context.Context, r, out *Recording) error {
	for _, s := range r.Sessions {
		for _, ev := range s.Events {
			for _, ref := range journal.RefsOf(ev.Body) {
				if r.lost[ref] {
					out.lost[ref] = true
					continue
				}
				data, err := openmanus.ReadBlob(ctx, r.blobs, ref)
				if err != nil {
					return err
				}
				now, err := out.blobs.Put(ctx, []byte(m.text(string(data))))
				if err != nil {
					return err
				}
				if now != ref {
					m.refs[hexOf(ref)] = hexOf(now)
				}
			}
		}
	}
	return nil
}

func hexOf(ref openmanus.Ref) string { return strings.TrimPrefix(string(ref), "sha256:") }

// hexWord matches what may be the name of a blob, or its beginning.
var hexWord = regexp.MustCompile(`[0-9a-f]{8,64}`)

// text returns a text masked.
func (m *mask) text(text string) string {
	text = private.ReplaceAllStringFunc(text, func(found string) string {
		if i := strings.LastIndexByte(found, '/'); i >= 0 && found[0] == '/' {
			return found[:i+1] + shaped(found[i+1:])
		}
		return shaped(found)
	})
	if m.words != nil {
		text = m.words.ReplaceAllStringFunc(text, shaped)
	}
	if len(m.refs) == 0 {
		return text
	}
	return hexWord.ReplaceAllStringFunc(text, func(found string) string {
		for was, is := range m.refs {
			if strings.HasPrefix(was, found) {
				return is[:len(found)]
			}
		}
		return found
	})
}

// shaped returns other letters and digits in the shape of a word: as long, and with
// capitals where it has them. Any other text stays.
func shaped(word string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(word)))
	key := []byte(hex.EncodeToString(sum[:]))
	out := make([]byte, len(word))
	for i := range len(word) {
		n := key[i%len(key)] + byte(i/len(key))
		switch c := word[i]; {
		case c >= 'a' && c <= 'z', c >= 0x80: // bytes of other letters
			out[i] = 'a' + n%26
		case c >= 'A' && c <= 'Z':
			out[i] = 'A' + n%26
		case c >= '0' && c <= '9':
			out[i] = '0' + n%10
		default:
			out[i] = c
		}
	}
	return string(out)
}

// body returns a body masked.
func (m *mask) body(b openmanus.Body) (openmanus.Body, error) {
	data, err := openmanus.EncodeBody(b)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if data, err = json.Marshal(m.value("", v)); err != nil {
		return nil, err
	}
	return openmanus.DecodeBody(openmanus.TypeName(b), b.Key(), data)
}

// value returns a decoded value masked; name is that of its field.
func (m *mask) value(name string, v any) any {
	switch v := v.(type) {
	case string:
		if name == "data" || strings.HasSuffix(name, "_base64") {
			raw, err := base64.StdEncoding.DecodeString(v)
			if err == nil {
				return base64.StdEncoding.EncodeToString([]byte(m.text(string(raw))))
			}
		}
		return m.text(v)
	case []any:
		for i := range v {
			v[i] = m.value("", v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = m.value(k, v[k])
		}
	}
	return v
}

// anew reports whether b, made in a redacted run, is what the event was in all that is
// not computed from its texts: digests, and texts that were cut elsewhere. Redaction
// keeps the length of every text.
func anew(b, was openmanus.Body) bool {
	x, err := openmanus.EncodeBody(withoutDigests(b))
	if err != nil {
		return false
	}
	y, err := openmanus.EncodeBody(withoutDigests(was))
	return err == nil && openmanus.TypeName(b) == openmanus.TypeName(was) && len(x) == len(y)
}

// withoutDigests returns b without what is computed from texts.
func withoutDigests(b openmanus.Body) openmanus.Body {
	if field(b, "Sent") == nil {
		return b
	}
	return with(b, openmanus.TypeOf(b).Zero, "Sent")
}
