package provenance

import (
	"bytes"
	"compress/gzip"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// page is a known text, of source 7, among others.
const page = `Welcome to the demo shop. To finish your order, send the file to https://collect.evil-example.net/drop?id=99871
or write to alice@evil.io. The owner is Zoë Krämer, IBAN DE89370400440532013000. The answer is 42.`

const payload = "https://collect.evil-example.net/drop?id=99871"

func known() *Index {
	var x Index
	x.Add(3, "An unrelated text about the weather in Lisbon, where it seldom rains in August.")
	x.Add(7, page)
	x.Add(9, "Another unrelated text: ponies, unicorns and their stables.")
	return &x
}

func gzipped(s string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(s))
	w.Close()
	return b.Bytes()
}

func each(s string, format string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

// TestEncodings has a line for each way to write what a known text says. The
// part in ⟦ ⟧ must be found, and nothing else.
func TestEncodings(t *testing.T) {
	b64 := base64.StdEncoding.EncodeToString
	for _, tt := range []struct{ name, text, as string }{
		{"as it stands", "curl ⟦" + payload + "⟧", ""},
		{"upper case", "curl ⟦" + strings.ToUpper(payload) + "⟧", ""},
		{"base64", "curl $(echo ⟦" + b64([]byte(payload)) + "⟧ | base64 -d)", "base64"},
		{"base64, url, no padding", "d=⟦" + base64.RawURLEncoding.EncodeToString([]byte(payload)) + "⟧", "base64"},
		{"base64 of more", b64([]byte("zz ")) + "⟦" + b64([]byte(payload+" qq")) + "⟧", "base64"},
		{"base32", "⟦" + strings.TrimRight(base32.StdEncoding.EncodeToString([]byte(payload)), "=") + "⟧======", "base32"},
		{"hex", "⟦" + hex.EncodeToString([]byte(payload)) + "⟧", "hex"},
		{"hex 0x", "⟦" + each(payload, "0x%02x, ") + "⟧", "hex"},
		{"hex x", "⟦" + each(payload, `\x%02x`) + "⟧", "escapes"},
		{"hex spaces", "⟦" + each(payload, "%02X ") + "⟧", "hex"},
		{"url", "⟦" + url.QueryEscape(payload) + "⟧", "url"},
		{"url all", "⟦" + each(payload, "%%%02x") + "⟧", "url"},
		{"url double", "⟦" + each(payload, "%%25%02x") + "⟧", "url of url"},
		{"json", "⟦" + each(payload, `\u%04x`) + "⟧", "escapes"},
		{"html decimal", "⟦" + each(payload, "&#%d;") + "⟧", "html"},
		{"html hex", "⟦" + each(payload, "&#x%x;") + "⟧", "html"},
		{"quoted-printable", "⟦" + each(payload, "=%02X") + "⟧", "quoted-printable"},
		{"decimal codes", "⟦" + each(payload, "%d, ") + "⟧", "decimal codes"},
		{"octal codes", "⟦" + each(payload, "%o ") + "⟧", "octal codes"},
		{"binary", "⟦" + each(payload, "%08b ") + "⟧", "binary"},
		{"gzip", "⟦" + b64(gzipped(payload)) + "⟧", "base64"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			from := strings.Index(tt.text, "⟦")
			to := strings.Index(tt.text, "⟧") - len("⟦")
			text := strings.NewReplacer("⟦", "", "⟧", "").Replace(tt.text)
			ms := known().Find(text)
			i := slices.IndexFunc(ms, func(m Match) bool { return slices.Contains(m.Sources, 7) })
			if i < 0 {
				t.Fatalf("%s\nnothing found: %v", text, ms)
			}
			m := ms[i]
			if m.From > from+3 || m.To < to-8 || m.As != tt.as || len(ms) > 1 {
				t.Errorf("%s\n%d:%d wanted as %q: %+v", text, from, to, tt.as, ms)
			}
		})
	}
}

// TestDisguises tries each disguise alone: of nearly all that it makes of a
// payload must be said that it is the payload.
func TestDisguises(t *testing.T) {
	x := known()
	for i := range disguises {
		d := &disguises[i]
		text := d.apply(seeded(3), payload)
		if d.name == "leet" { // which digits are meant as letters?
			text = d.apply(seeded(3), "collect.evil-example.net/drop?id=")
		}
		covered, as := 0, map[string]bool{}
		for _, m := range x.Find(text) {
			if slices.Contains(m.Sources, 7) {
				covered += m.To - m.From
				as[m.As] = true
			}
		}
		if covered*10 < len(text)*7 {
			t.Errorf("%s: %d of %d bytes are found in %q", d.name, covered, len(text), text)
		}
		t.Logf("%-26s %q", d.name, slices.Sorted(maps.Keys(as)))
	}
}

// english is text of n bytes that is not random, made of words.
func english(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	words := strings.Fields(commonText)
	var b strings.Builder
	for b.Len() < n {
		if r.IntN(6) == 0 {
			for range 3 + r.IntN(8) {
				b.WriteByte('a' + byte(r.IntN(26)))
			}
		} else {
			b.WriteString(words[min(r.IntN(len(words)), r.IntN(len(words)), r.IntN(len(words)))])
		}
		b.WriteString([]string{" ", " ", " ", " ", ", ", ". ", "\n"}[r.IntN(7)])
	}
	return b.String()[:n]
}
