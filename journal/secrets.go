package journal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// Secrets are values that must not be stored or shown. They are found in plain
// text, in base64 (in its three alignments), URL-encoded and JSON-escaped. Each is
// replaced by a placeholder that names it, such as [[secret:API_KEY]], or by 0 in
// a number. A nil *Secrets has none. Secrets are safe for concurrent use.
type Secrets struct {
	mu     sync.Mutex // serializes Add
	values map[string]string
	forms  atomic.Pointer[[]form] // longest first
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
	slices.SortFunc(forms, func(a, b form) int {
		return cmp.Or(len(b.value)-len(a.value), bytes.Compare(a.value, b.value))
	})
	s.forms.Store(&forms)
}

// all returns the forms, the longest first.
func (s *Secrets) all() []form {
	if s == nil {
		return nil
	}
	if forms := s.forms.Load(); forms != nil {
		return *forms
	}
	return nil
}

// encodings returns the forms in which a value may occur: plain, URL-encoded,
// JSON-escaped once and twice, and in base64.
func encodings(v string) []string {
	forms := []string{v, url.QueryEscape(v), url.PathEscape(v)}
	for _, html := range []bool{true, false} {
		once := jsonEscaped(v, html)
		forms = append(forms, once, jsonEscaped(once, true)) // the arguments of calls are JSON within JSON
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			// Within longer base64 text the value begins at one of three bit
			// offsets; the characters that share bits with a neighbour are left out.
			b := enc.EncodeToString(append(make([]byte, shift), v...))
			begin := []int{0, 2, 3}[shift]
			end := len(b)
			if (shift+len(v))%3 != 0 {
				end--
			}
			forms = append(forms, b[begin:end])
		}
	}
	return forms
}

// jsonEscaped returns v as it occurs within a JSON string.
func jsonEscaped(v string, html bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if enc.Encode(v) != nil {
		return v // a string can always be encoded
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}

// in reports whether data contains a secret in any form.
func (s *Secrets) in(data []byte) bool {
	return slices.ContainsFunc(s.all(), func(f form) bool { return bytes.Contains(data, f.value) })
}

// replace returns data with every secret replaced by its placeholder. The longest
// forms go first, since one form may contain another.
func (s *Secrets) replace(data []byte) []byte {
	for _, f := range s.all() {
		data = bytes.ReplaceAll(data, f.value, f.placeholder)
	}
	return data
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
	switch b := b.(type) {
	case openmanus.ModelSaid:
		b.Message.Parts = clean(b.Message.Parts)
		return b
	case openmanus.UserSaid:
		b.Message.Parts = clean(b.Message.Parts)
		return b
	}
	return b
}
