package journal

import (
	"context"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf16"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// Secrets are values that must not be stored or shown. They are found
//
//   - in plain text, in upper and in lower case, backwards, in UTF-16, and as UTF-16 and
//     UTF-32 look where NUL is shown as U+FFFD or as ^@;
//   - in part, where 12 characters of a long value that look random follow each other: two
//     results may have a half each;
//   - in hexadecimal, base32 and base64, in all alignments, and in base64 twice;
//   - with any of their characters escaped as in URLs (%2D) or in JSON (\u002d),
//     up to three times.
//
// Each is replaced by a placeholder that names it, such as [[secret:API_KEY]], or
// by 0 in a number. The time that this takes grows with the text, and hardly with
// the number of secrets. A nil *Secrets has none. Secrets are safe for concurrent
// use.
type Secrets struct {
	mu     sync.Mutex // serializes Add
	values map[string]string
	forms  atomic.Pointer[matcher]
}

type form struct{ value, placeholder []byte }

// minSecret is the length of the shortest value that counts as a secret. To
// replace every "test" would make texts useless.
const minSecret = 8

// NewSecrets returns secrets with these values, by name.
func NewSecrets(values map[string]string) *Secrets {
	s := &Secrets{values: maps.Clone(values)}
	s.prepare()
	return s
}

// Add adds a secret, such as a token that was just received, or replaces the one
// with this name. It takes effect for what is stored and shown from now on.
func (s *Secrets) Add(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = make(map[string]string)
	}
	s.values[name] = value
	s.prepare()
}

// prepare computes the forms in which the values are searched for.
func (s *Secrets) prepare() {
	var forms []form
	seen := make(map[string]bool)
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		v := s.values[name]
		if len(v) < minSecret {
			continue
		}
		for _, f := range encodings(v) {
			if len(f) >= minSecret && !seen[f] {
				seen[f] = true
				forms = append(forms, form{[]byte(f), []byte("[[secret:" + name + "]]")})
			}
		}
	}
	s.forms.Store(newMatcher(forms))
}

// matcher returns what finds the secrets, or nil if there are none.
func (s *Secrets) matcher() *matcher {
	if s == nil {
		return nil
	}
	return s.forms.Load()
}

// encodings returns the forms in which a value may occur, but for those that
// [view] makes plain.
func encodings(v string) []string {
	reversed, wide := []byte(v), make([]byte, 0, 2*len(v))
	slices.Reverse(reversed)
	for _, u := range utf16.Encode([]rune(v)) {
		wide = binary.LittleEndian.AppendUint16(wide, u)
	}
	big := make([]byte, len(wide)) // the same, the high bytes first
	for i := range wide {
		big[i] = wide[i^1]
	}
	digits := hex.EncodeToString([]byte(v))
	forms := []string{
		v, strings.ToUpper(v), strings.ToLower(v), string(reversed), strings.ReplaceAll(v, " ", "+"), // the last in a URL's query
		string(wide), string(big), digits, strings.ToUpper(digits),
	}
	for _, nul := range []string{"\uFFFD", "^@", "^@^@^@"} {
		forms = append(forms, strings.Join(strings.Split(v, ""), nul))
	}
	forms = append(forms, pieces(v)...)
	for _, f := range aligned(base32.StdEncoding.WithPadding(base32.NoPadding), v, 5, 5) {
		forms = append(forms, f, strings.ToLower(f))
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		once := aligned(enc, v, 3, 6)
		forms = append(append(forms, once...), aligned(enc, string(wide), 3, 6)...)
		for _, f := range once {
			forms = append(forms, aligned(enc, f, 3, 6)...)
		}
	}
	return forms
}

// piece is how many characters of a secret in a row give it away.
const piece = 12

// pieces returns the parts of a long value that nothing else is likely to contain: parts
// of addresses, names and words are none.
func pieces(v string) (list []string) {
	if len(v) < 2*piece {
		return nil
	}
	for i := range len(v) - piece + 1 {
		p := v[i : i+piece]
		count := func(chars string) (n int) {
			for _, c := range []byte(p) {
				if strings.IndexByte(chars, c) >= 0 {
					n++
				}
			}
			return n
		}
		const digits, low = "0123456789", "abcdefghijklmnopqrstuvwxyz"
		d, l, u := count(digits), count(low), count(strings.ToUpper(low))
		hexadecimal := d >= 4 && d <= piece-3 && count(digits+"abcdef") == piece
		if hexadecimal || d >= 2 && l >= 2 && u >= 2 && d+l+u+count("+/_-=") == piece {
			list = append(list, p)
		}
	}
	return list
}

// aligned returns v as it occurs within longer text in an encoding that makes
// characters of so many bits each of groups of bytes. Within a group v begins at
// any of its bytes; the characters that share bits with a neighbour are left out.
func aligned(enc interface{ EncodeToString([]byte) string }, v string, group, bits int) (forms []string) {
	for shift := range group {
		text := enc.EncodeToString(append(make([]byte, shift), v...))
		from, to := (8*shift+bits-1)/bits, 8*(shift+len(v))/bits
		forms = append(forms, text[from:to])
	}
	return forms
}

// in reports whether data contains a secret in any form.
func (s *Secrets) in(data []byte) bool {
	m := s.matcher()
	if m == nil {
		return false
	}
	found := false
	first := func(match) bool { found = true; return false }
	if m.find(data, first); found {
		return true
	}
	views, _ := m.views(data)
	for _, v := range views {
		if m.find(v.text, first); found {
			return true
		}
	}
	return false
}

// replace returns data with every secret replaced by its placeholder. It does not
// change data.
func (s *Secrets) replace(data []byte) []byte {
	m := s.matcher()
	if m == nil {
		return data
	}
	found, _ := m.matches(data)
	return redact(data, found)
}

// Replace returns text with every secret replaced by its placeholder.
func (s *Secrets) Replace(text string) string {
	if !s.in([]byte(text)) {
		return text
	}
	return string(s.replace([]byte(text)))
}

// Blobs returns b with every secret replaced in the blobs that are put into it.
// The name that Put returns is that of the changed content.
func (s *Secrets) Blobs(b openmanus.Blobs) openmanus.Blobs {
	if s == nil {
		return b
	}
	return cleanBlobs{b, s}
}

type cleanBlobs struct {
	openmanus.Blobs
	secrets *Secrets
}

func (c cleanBlobs) Put(ctx context.Context, data []byte) (openmanus.Ref, error) {
	if c.secrets.in(data) {
		data = c.secrets.replace(data)
	}
	return c.Blobs.Put(ctx, data)
}

var placeholder = regexp.MustCompile(`\[\[secret:[^\]\n]*\]\]`)

// Placeholder returns the first placeholder of a secret in text, or "". It also
// finds one that is escaped in JSON. Text with a placeholder must not be written
// to a file or run as a command, since it is not what the model believes it to be.
func Placeholder(text string) string {
	if p := placeholder.FindString(text); p != "" || !strings.Contains(text, `\u`) {
		return p
	}
	found := ""
	_, err := rewrite([]byte(text), func(_ string, v any) (any, error) {
		if s, ok := v.(string); ok && found == "" {
			found = placeholder.FindString(s)
		}
		return v, nil
	})
	if err != nil {
		return "" // not JSON: nothing is escaped
	}
	return found
}

// clean returns the encoding of b without secrets. It searches the decoded
// strings, so that the result is still valid.
func (s *Secrets) clean(b openmanus.Body) ([]byte, error) {
	data, err := openmanus.EncodeBody(s.withoutSigned(b))
	if err != nil {
		return nil, err
	}
	return rewrite(data, func(name string, v any) (any, error) {
		switch v := v.(type) {
		case string:
			return s.cleanString(name, v), nil
		case json.Number:
			if s.in([]byte(v)) {
				return json.Number("0"), nil // a number has no room for a placeholder
			}
		case map[string]any:
			clean := make(map[string]any, len(v))
			for k, e := range v {
				clean[s.Replace(k)] = e
			}
			return clean, nil
		}
		return v, nil
	})
}

// cleanString returns the value of a field without secrets. Fields with bytes are
// in base64, and stay so.
func (s *Secrets) cleanString(name, v string) string {
	if name == "data" || strings.HasSuffix(name, "_base64") {
		if raw, err := base64.StdEncoding.DecodeString(v); err == nil && s.in(raw) {
			return base64.StdEncoding.EncodeToString(s.replace(raw))
		}
	}
	return s.Replace(v)
}

// withoutSigned returns b without the parts that a provider has signed and that
// contain a secret: a provider refuses a signed part that was changed.
func (s *Secrets) withoutSigned(b openmanus.Body) openmanus.Body {
	clean := func(ps llm.Parts) llm.Parts {
		return slices.DeleteFunc(slices.Clone(ps), func(p llm.Part) bool {
			v := reflect.ValueOf(p)
			f := v.FieldByName("Opaque")
			if _, call := p.(llm.Call); call || !f.IsValid() || f.Len() == 0 {
				return false
			}
			data, err := llm.Parts{p}.MarshalJSON()
			return err != nil || s.in(data)
		})
	}
	v := reflect.New(reflect.TypeOf(b)).Elem()
	v.Set(reflect.ValueOf(b))
	for _, f := range v.Fields() {
		switch of := f.Interface().(type) {
		case llm.Parts:
			f.Set(reflect.ValueOf(clean(of)))
		case llm.Message:
			of.Parts = clean(of.Parts)
			f.Set(reflect.ValueOf(of))
		}
	}
	return v.Interface().(openmanus.Body)
}
