package lawtest_test

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/journal"
)

// manyForms returns a secret as programs, pages and people may write it.
func manyForms(secret string) map[string]string {
	reversed := []byte(secret)
	slices.Reverse(reversed)
	var wide, big []byte
	var percent, some, json, nested, x strings.Builder
	for i, c := range []byte(secret) {
		wide, big = append(wide, c, 0), append(big, 0, c)
		fmt.Fprintf(&percent, "%%%02x", c)
		fmt.Fprintf(&json, `\u%04X`, c)
		fmt.Fprintf(&nested, `\\u%04x`, c)
		fmt.Fprintf(&x, `\x%02x`, c)
		if i%3 == 1 {
			fmt.Fprintf(&some, "%%%02X", c)
		} else {
			some.WriteByte(c)
		}
	}
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	letters := strings.Split(secret, "")
	all := map[string]string{
		"UTF-16LE, as a shell's result": strings.Join(letters, "\uFFFD") + "\uFFFD", "UTF-16BE, as a shell's result": "\uFFFD" + strings.Join(letters, "\uFFFD"),
		"UTF-16, as cat -v shows it": strings.Join(letters, "^@"), "UTF-32, as cat -v shows it": strings.Join(letters, "^@^@^@"),
		"plain": secret, "upper": strings.ToUpper(secret), "lower": strings.ToLower(secret), "reversed": string(reversed),
		"hex": hex.EncodeToString([]byte(secret)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"%2D": strings.ReplaceAll(secret, "-", "%2D"), "%2d": strings.ReplaceAll(secret, "-", "%2d"), "%252D": strings.ReplaceAll(secret, "-", "%252D"),
		`\u002d`: strings.ReplaceAll(secret, "-", `\u002d`), `\\u002d`: strings.ReplaceAll(secret, "-", `\\u002d`),
		`%5Cu002d`: strings.ReplaceAll(secret, "-", `%5Cu002d`), "all of it in a URL": percent.String(), "some of it in a URL": some.String(),
		"all of it in JSON": json.String(), "in JSON in JSON": nested.String(), "as a string of bytes": x.String(),
		"UTF-16LE": string(wide), "UTF-16BE": string(big), "base64 of UTF-16": b64(string(wide)), "shifted base64 of UTF-16": b64("x" + string(wide) + "y"),
	}
	for shift := range 5 {
		text := strings.Repeat("z", shift) + secret + "tail"
		all[fmt.Sprint("base32, shift ", shift)] = base32.StdEncoding.EncodeToString([]byte(text))
		all[fmt.Sprint("lower base32, shift ", shift)] = strings.ToLower(base32.StdEncoding.EncodeToString([]byte(text)))
		all[fmt.Sprint("base64, shift ", shift)] = b64(text)
		for more := range 3 {
			all[fmt.Sprint("base64 twice, shifts ", shift, more)] = b64(strings.Repeat("y", more) + b64(text))
		}
	}
	return all
}

// No form of a secret is left in a text, however the text is cut, and it does not
// matter what stands beside it.
func TestSecretsAreFoundInManyForms(t *testing.T) {
	const secret = "sk-Proj-a1B2c3-D4e5F6g7"
	s := journal.NewSecrets(map[string]string{"KEY": secret, "OTHER": "0therS3cret!"})
	for name, form := range manyForms(secret) {
		for _, around := range [][2]string{{"", ""}, {"before ", " after"}, {`{"a":"`, `\n"}`}, {"x%20y", "%20z"}, {"100% ", " 5%"}} {
			text := around[0] + form + around[1]
			want := s.Replace(text)
			if !strings.Contains(want, "[[secret:KEY]]") || !strings.HasPrefix(want, around[0]) || !strings.HasSuffix(want, around[1]) {
				t.Errorf("%s within %q: %q became %q", name, around, text, want)
			}
			for _, size := range []int{1, 7} {
				r, got := s.Redactor(), ""
				for rest := text; rest != ""; {
					n := min(size, len(rest))
					got += r.Next(rest[:n])
					rest = rest[n:]
				}
				if got += r.Rest(); got != want {
					t.Errorf("%s, in pieces of %d: %q, want %q", name, size, got, want)
				}
			}
		}
	}
}

// A key that two results have in parts is in neither. The beginnings that keys of a kind
// share, and parts of addresses and words, count as no part of it.
func TestPartsOfSecrets(t *testing.T) {
	secrets := map[string]string{
		"MIXED": "sk-ant-api03-q7Zt2LmX9vB4nK8wR1cY6uJ3", "HEX": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "AWS": "wJalrXUtnFEMI/K7MDENG9bPxRfiCY2EXAMPLEKEY",
		"TOKEN": "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
	}
	s := journal.NewSecrets(secrets)
	for name, v := range secrets {
		for cut := range len(v) + 1 {
			for _, part := range []string{v[:cut], v[cut:]} {
				if got := s.Replace("x " + part + " y"); len(part) > 26 && !strings.Contains(got, "[[secret:"+name+"]]") {
					t.Errorf("%s: %q is shown", name, part)
				}
			}
		}
	}
	common := journal.NewSecrets(map[string]string{
		"DATABASE": "postgres://user:hunter2@localhost:5432/customers", "PHRASE": "correct horse battery staple again", "KEY": secrets["MIXED"],
		"DIGITS": "1234567890123456789012345678", "FILE": "/home/ann/Projects/Demo-2026/keys/service-account.json",
	})
	for _, text := range []string{
		"postgres://localhost:5432/customers", "@localhost:5432/", "correct horse battery", "sk-ant-api03-", "12345678901234", "/home/ann/Projects/Demo",
		"service-account.json",
	} {
		if got := common.Replace(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
