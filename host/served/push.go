package served

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/openmanus-go/openmanus/sandbox/egress"
	"github.com/openmanus-go/openmanus/server"
	"github.com/openmanus-go/openmanus/server/a2a"
)

// Push returns what the server needs to send messages to browsers. Its key is kept in the
// data directory beside the token, and is made when it is first needed. Messages go to
// public addresses, and to those that [web] hosts names.
func (h Host) Push() (*server.Push, error) {
	key, err := keptKey(filepath.Join(h.Config.DataDir, "push.key"))
	if err != nil {
		return nil, err
	}
	dialer, err := egress.New(egress.Policy{Mode: egress.Allow, Hosts: h.Config.Web.Hosts, Section: "[web]"})
	if err != nil {
		return nil, err
	}
	text := base64.RawURLEncoding
	return &server.Push{Public: text.EncodeToString(key.PublicKey().Bytes()), Private: text.EncodeToString(key.Bytes()), Client: dialer.Client()}, nil
}

// CardKey returns the content of the file with the key that signs the card of A2A, or nil
// if none is configured. A key that cannot sign, or a configuration in which it has no
// use, is an error.
func (h Host) CardKey() ([]byte, error) {
	c := h.Config.Serve
	switch {
	case c.A2AKey == "":
		return nil, nil
	case !c.A2A:
		return nil, errors.New("[serve] a2a_key signs the card of A2A, which is not served: set a2a = true")
	case c.Public == "":
		return nil, errors.New("[serve] a2a_key signs the card for one address: set public to the one under which others reach the server")
	}
	key, err := os.ReadFile(c.A2AKey)
	if err != nil {
		return nil, fmt.Errorf("[serve] a2a_key: %w", err)
	}
	if _, err := a2a.NewSigner(key, ""); err != nil {
		return nil, fmt.Errorf("[serve] a2a_key: %s: %w", c.A2AKey, err)
	}
	return key, nil
}

// keptKey returns the private key in a file. It makes one if there is no such file.
func keptKey(file string) (*ecdh.PrivateKey, error) {
	text, err := kept(file, func() (string, error) {
		key, err := ecdh.P256().GenerateKey(rand.Reader)
		if err != nil {
			return "", err
		}
		return base64.RawURLEncoding.EncodeToString(key.Bytes()), nil
	})
	if err != nil {
		return nil, err
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		var key *ecdh.PrivateKey
		if key, err = ecdh.P256().NewPrivateKey(raw); err == nil {
			return key, nil
		}
	}
	return nil, fmt.Errorf("%s is damaged: %w; delete it, and turn messages on again on every device", file, err)
}
