package a2a

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"

	"github.com/golang-jwt/jwt/v5"
	"github.com/gowebpki/jcs"
)

// A Signer signs cards: each has a JWS (RFC 7515) of what else is in it, in the canonical
// form of RFC 8785. It is safe for concurrent use.
type Signer struct {
	key    crypto.Signer
	method jwt.SigningMethod
	public map[string]any // the public key, as a JWK (RFC 7517)
	at     string         // where the public keys are
}

// NewSigner returns a signer with the private key in a PEM file's content. Whoever checks
// a signature finds the public key at the URL at.
func NewSigner(content []byte, at string) (*Signer, error) {
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, errors.New("it has no key in PEM")
	}
	var key any
	var err error
	if block.Type == "EC PRIVATE KEY" {
		key, err = x509.ParseECPrivateKey(block.Bytes)
	} else {
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		return nil, errors.New("it has no private key in PKCS #8")
	}
	s := &Signer{at: at}
	b64 := base64.RawURLEncoding.EncodeToString
	switch key := key.(type) {
	case *ecdsa.PrivateKey:
		if key.Curve != elliptic.P256() {
			return nil, errors.New("its key must be on the curve P-256")
		}
		point, err := key.PublicKey.Bytes()
		if err != nil {
			return nil, err
		}
		s.key, s.method = key, jwt.SigningMethodES256
		s.public = map[string]any{"kty": "EC", "crv": "P-256", "x": b64(point[1:33]), "y": b64(point[33:])}
	case ed25519.PrivateKey:
		s.key, s.method = key, jwt.SigningMethodEdDSA
		s.public = map[string]any{"kty": "OKP", "crv": "Ed25519", "x": b64(key.Public().(ed25519.PublicKey))}
	default:
		return nil, errors.New("its key must be one on P-256 or Ed25519")
	}
	thumb, err := json.Marshal(s.public) // RFC 7638: the names are in order, and no other members are there yet
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(thumb)
	s.public["kid"], s.public["alg"], s.public["use"] = b64(sum[:]), s.method.Alg(), "sig"
	return s, nil
}

// Keys returns the public key as a set of them (RFC 7517).
func (s *Signer) Keys() any { return map[string]any{"keys": []any{s.public}} }

// Sign adds a signature to a card, over its canonical JSON (RFC 8785). It replaces
// earlier signatures, and changes the map.
func (s *Signer) Sign(card map[string]any) error {
	b64 := base64.RawURLEncoding.EncodeToString
	header, err := json.Marshal(map[string]any{"alg": s.method.Alg(), "typ": "JOSE", "kid": s.public["kid"], "jku": s.at})
	if err != nil {
		return err
	}
	data, err := json.Marshal(card)
	if err != nil {
		return err
	}
	var members any
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	if data, err = json.Marshal(filled(members)); err != nil {
		return err
	}
	if data, err = jcs.Transform(data); err != nil {
		return err
	}
	sig, err := s.method.Sign(b64(header)+"."+b64(data), s.key)
	if err != nil {
		return err
	}
	card["signatures"] = []any{map[string]any{"protected": b64(header), "signature": b64(sig)}}
	return nil
}

// filled returns a value without members and elements that are empty, as the form that is
// signed has them; nil, if it is empty itself. A false is empty: Protocol Buffers do not
// write it.
func filled(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if value = filled(value); value == nil || name == "signatures" {
				delete(v, name)
			} else {
				v[name] = value
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		var some []any
		for _, value := range v {
			if value = filled(value); value != nil {
				some = append(some, value)
			}
		}
		if len(some) == 0 {
			return nil
		}
		return some
	case string:
		if v == "" {
			return nil
		}
	case bool:
		if !v {
			return nil
		}
	}
	return v
}
