package s3

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
)

// A sealed object is sealMagic, the first bytes of the SHA-256 of the key, a nonce, and
// the content encrypted by AES-256-GCM, with the object's name as additional data: an
// object that was put in place of another one does not open.
const (
	sealMagic = "openmanus\x00s1"
	keyBytes  = 4
)

// A seal encrypts and decrypts objects.
type seal struct {
	aead cipher.AEAD
	id   []byte // of the key
}

// newSeal returns the seal with a key, 32 bytes in base64.
func newSeal(key string) (*seal, error) {
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil || len(raw) != 32 {
		return nil, errors.New("it has to be 32 bytes in base64: openssl rand -base64 32")
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	id := sha256.Sum256(raw)
	return &seal{aead, id[:keyBytes]}, nil
}

func isSealed(data []byte) bool { return bytes.HasPrefix(data, []byte(sealMagic)) }

// close returns data encrypted.
func (s *seal) close(name string, data []byte) []byte {
	out := make([]byte, 0, len(sealMagic)+keyBytes+s.aead.NonceSize()+len(data)+s.aead.Overhead())
	out = append(append(out, sealMagic...), s.id...)
	nonce := make([]byte, s.aead.NonceSize())
	rand.Read(nonce) // never fails
	return s.aead.Seal(append(out, nonce...), nonce, data, []byte(name))
}

// open returns what close encrypted. Without a key, or of what was written without one,
// it says so.
func (s *seal) open(name string, data []byte) ([]byte, error) {
	switch {
	case s == nil:
		return nil, errors.New("it is encrypted, and [blobs] has no key")
	case !isSealed(data): // written before there was a key; its hash is checked like any other
		return data, nil
	}
	data = data[len(sealMagic):]
	size := keyBytes + s.aead.NonceSize()
	if len(data) < size {
		return nil, errDamaged
	}
	if !bytes.Equal(data[:keyBytes], s.id) {
		return nil, errors.New("it is encrypted with another key than that of [blobs]")
	}
	plain, err := s.aead.Open(nil, data[keyBytes:size], data[size:], []byte(name))
	if err != nil {
		return nil, errDamaged
	}
	if plain == nil {
		plain = []byte{}
	}
	return plain, nil
}
