package a2a_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"slices"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openmanus-go/openmanus/server/a2a"
)

func pemOf(t *testing.T, kind string, der []byte, err error) []byte {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// keyOf returns the public key of a signer, from what it publishes.
func keyOf(t *testing.T, s *a2a.Signer) (jwt.SigningMethod, any) {
	t.Helper()
	data, err := json.Marshal(s.Keys())
	if err != nil {
		t.Fatal(err)
	}
	var set struct {
		Keys []struct{ Kty, Crv, Alg, X, Y string }
	}
	if err := json.Unmarshal(data, &set); err != nil || len(set.Keys) != 1 {
		t.Fatal(err, string(data))
	}
	k := set.Keys[0]
	number := func(text string) []byte {
		b, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil || len(b) != 32 {
			t.Fatalf("%s: %d bytes, %v", data, len(b), err)
		}
		return b
	}
	switch k.Kty + " " + k.Crv + " " + k.Alg {
	case "EC P-256 ES256":
		key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, number(k.X), number(k.Y)))
		if err != nil {
			t.Fatal(err)
		}
		return jwt.SigningMethodES256, key
	case "OKP Ed25519 EdDSA":
		return jwt.SigningMethodEdDSA, ed25519.PublicKey(number(k.X))
	}
	t.Fatalf("a key of another kind: %s", data)
	return nil, nil
}

// A signature holds for what is in a card, in whatever order, without what is empty, and
// for nothing else.
func TestSignatures(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(ec)
	old := pemOf(t, "EC PRIVATE KEY", sec1, err)
	der, err := x509.MarshalPKCS8PrivateKey(ec)
	pkcs8 := pemOf(t, "PRIVATE KEY", der, err)
	der, err = x509.MarshalPKCS8PrivateKey(ed)
	edwards := pemOf(t, "PRIVATE KEY", der, err)
	const canonical = `{"a":[1,"é"],"name":"x","yes":true}`
	for name, key := range map[string][]byte{"SEC 1": old, "PKCS #8": pkcs8, "Ed25519": edwards} {
		s, err := a2a.NewSigner(key, "https://example.org/keys")
		if err != nil {
			t.Fatal(name, err)
		}
		card := map[string]any{"yes": true, "no": false, "name": "x", "empty": "", "none": []any{}, "deep": map[string]any{"er": []string{""}},
			"a": []any{1, "é", map[string]any{}}, "signatures": []any{"another"}}
		if err := s.Sign(card); err != nil {
			t.Fatal(name, err)
		}
		sig := card["signatures"].([]any)[0].(map[string]any)
		head, err := base64.RawURLEncoding.DecodeString(sig["protected"].(string))
		if err != nil || !strings.Contains(string(head), `"jku":"https://example.org/keys"`) || !strings.Contains(string(head), `"typ":"JOSE"`) {
			t.Errorf("%s: the head is %s, %v", name, head, err)
		}
		mark, err := base64.RawURLEncoding.DecodeString(sig["signature"].(string))
		if err != nil {
			t.Fatal(name, err)
		}
		method, public := keyOf(t, s)
		for text, ok := range map[string]bool{canonical: true, strings.Replace(canonical, "x", "y", 1): false} {
			signed := sig["protected"].(string) + "." + base64.RawURLEncoding.EncodeToString([]byte(text))
			if err := method.Verify(signed, mark, public); (err == nil) != ok {
				t.Errorf("%s: %s: %v", name, text, err)
			}
		}
		if _, still := card["no"]; !still {
			t.Errorf("%s: signing took something out of the card: %v", name, card)
		}
	}
}

// A file that has no key, or one of another kind, is refused by name.
func TestKeysRefused(t *testing.T) {
	big, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(big)
	p384 := pemOf(t, "PRIVATE KEY", der, err)
	der, err = x509.MarshalPKCS8PrivateKey(r)
	rsaKey := pemOf(t, "PRIVATE KEY", der, err)
	der, err = x509.MarshalPKIXPublicKey(big.Public())
	public := pemOf(t, "PUBLIC KEY", der, err)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"no PEM":       {[]byte("secret"), "no key in PEM"},
		"a public key": {public, "no private key in PKCS #8"},
		"P-384":        {p384, "curve P-256"},
		"RSA":          {rsaKey, "P-256 or Ed25519"},
	} {
		if _, err := a2a.NewSigner(c.file, ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
