package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	published "github.com/openmanus-go/openmanus/internal/release"
)

// A signer signs releases. key is one of SSH.
type signer interface {
	public() string // as in authorized_keys, with the end of the line
	over(data []byte) ([]byte, error)
}

type keySigner struct{ key ssh.Signer }

// newSigner reads a private key, or finds the one of a public key at the agent of SSH.
func newSigner(file string) (signer, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(file, ".pub") {
		return ofAgent(file, data)
	}
	key, err := ssh.ParsePrivateKey(data)
	if missing := (*ssh.PassphraseMissingError)(nil); errors.As(err, &missing) {
		return nil, fmt.Errorf("%s has a passphrase: add it to the agent with ssh-add, and name %s.pub", file, file)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return keySigner{key}, nil
}

// ofAgent returns the key of the agent whose public half is in a file.
func ofAgent(file string, public []byte) (signer, error) {
	want, _, _, _, err := ssh.ParseAuthorizedKey(public)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	conn, err := net.Dial("unix", os.Getenv("SSH_AUTH_SOCK"))
	if err != nil {
		return nil, fmt.Errorf("the agent of SSH: %w", err)
	}
	keys, err := agent.NewClient(conn).Signers()
	if err != nil {
		return nil, fmt.Errorf("the agent of SSH: %w", err)
	}
	for _, key := range keys {
		if bytes.Equal(key.PublicKey().Marshal(), want.Marshal()) {
			return keySigner{key}, nil
		}
	}
	return nil, fmt.Errorf("the agent of SSH does not have the key of %s: ssh-add", file)
}

func (s keySigner) public() string { return string(ssh.MarshalAuthorizedKey(s.key.PublicKey())) }

// over returns a signature of data in the form of ssh-keygen, with its lines of 70 letters.
func (s keySigner) over(data []byte) ([]byte, error) {
	sig, err := sshsig.Sign(bytes.NewReader(data), s.key, sshsig.HashSHA512, published.Namespace)
	if err != nil {
		return nil, err
	}
	text := base64.StdEncoding.EncodeToString(sig.Marshal())
	var b strings.Builder
	b.WriteString("-----BEGIN SSH SIGNATURE-----\n")
	for len(text) > 70 {
		b.WriteString(text[:70] + "\n")
		text = text[70:]
	}
	b.WriteString(text + "\n-----END SSH SIGNATURE-----\n")
	return []byte(b.String()), nil
}
