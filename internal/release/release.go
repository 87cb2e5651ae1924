// Package release knows what a release of openmanus consists of, and believes only what
// is signed.
//
// A release is a set of files. SHA256SUMS has a line for each, as sha256sum prints it, and
// SHA256SUMS.sig is a signature of that file as ssh-keygen -Y sign makes it, in the
// namespace "openmanus-release". manifest.json, one of the files, is a [Manifest].
// So one signature vouches for every byte.
package release

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
	"golang.org/x/mod/semver"
)

// The names of the files that say what a release consists of.
const (
	SumsFile      = "SHA256SUMS"
	SignatureFile = "SHA256SUMS.sig"
	ManifestFile  = "manifest.json"
)

// Namespace is that of signatures: a signature that was made for something else is none of a release.
const Namespace = "openmanus-release"

// The most bytes that are read of a file. The smaller one is for those that say what there is.
const (
	mostListed = 1 << 20
	mostFile   = 2 << 30
)

// A Manifest describes a release.
type Manifest struct {
	Version string    `json:"version"` // as in v1.2.3
	Commit  string    `json:"commit"`
	Time    time.Time `json:"time"` // of the commit
	Go      string    `json:"go"`   // the version of the compiler
	// Programs has the SHA-256 of the program for each system, linux/amd64, in all of
	// its archives and packages.
	Programs map[string]string `json:"programs"`
	Files    []File            `json:"files"`
}

// A File is one of a release.
type File struct {
	Name   string `json:"name"`
	Kind   Kind   `json:"kind"`
	OS     string `json:"os,omitempty"`
	Arch   string `json:"arch,omitempty"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// A Kind says what a file is for.
type Kind string

// The kinds that a program can look for. There are others.
const (
	Archive Kind = "archive" // .tar.gz, or .zip for Windows
	Deb     Kind = "deb"
	RPM     Kind = "rpm"
	APK     Kind = "apk"
)

// A Source is where the files of a release are: a directory or an address.
type Source interface {
	// Open opens a file. The caller closes it.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
}

// Keys are those whose signatures are believed.
type Keys []ssh.PublicKey

// ParseKeys reads public keys as they stand in an authorized_keys file: one a line. In a text
// of one line they may be separated by commas.
func ParseKeys(text string) (Keys, error) {
	var keys Keys
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == ',' }) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
		if err != nil {
			return nil, fmt.Errorf("%q is no public key of SSH: %w", line, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// An Untrusted is an error that says that a release is not what its makers have signed.
type Untrusted struct{ Why string }

// Error implements error.
func (u *Untrusted) Error() string { return u.Why }

func untrusted(format string, args ...any) error { return &Untrusted{fmt.Sprintf(format, args...)} }

// Read reads what a release consists of, and verifies its signature by one of the keys. It
// returns the fingerprint of that key, too.
func Read(ctx context.Context, from Source, keys Keys) (*Manifest, string, error) {
	sums, err := read(ctx, from, SumsFile)
	if err != nil {
		return nil, "", err
	}
	signature, err := read(ctx, from, SignatureFile)
	if err != nil {
		return nil, "", err
	}
	key, err := verify(sums, signature, keys)
	if err != nil {
		return nil, "", err
	}
	data, err := read(ctx, from, ManifestFile)
	if err != nil {
		return nil, "", err
	}
	listed, err := parseSums(sums)
	if err != nil {
		return nil, "", err
	}
	if sumOf(data) != listed[ManifestFile] {
		return nil, "", untrusted("%s is not the one that was signed", ManifestFile)
	}
	m := new(Manifest)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, "", untrusted("%s cannot be read: %v", ManifestFile, err)
	}
	if !semver.IsValid(m.Version) {
		return nil, "", untrusted("%s has no version", ManifestFile)
	}
	for _, f := range m.Files {
		if listed[f.Name] != f.SHA256 || path.Base(f.Name) != f.Name {
			return nil, "", untrusted("%s and %s differ about %s", ManifestFile, SumsFile, f.Name)
		}
	}
	return m, ssh.FingerprintSHA256(key), nil
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// read reads one of the files that say what there is.
func read(ctx context.Context, from Source, name string) ([]byte, error) {
	f, err := from.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, mostListed+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > mostListed {
		return nil, untrusted("%s is longer than a release's", name)
	}
	return data, nil
}

// verify returns the key that has signed sums.
func verify(sums, armored []byte, keys Keys) (ssh.PublicKey, error) {
	sig, err := parseSignature(armored)
	if err != nil {
		return nil, untrusted("%s is no signature: %v", SignatureFile, err)
	}
	for _, key := range keys {
		if !bytes.Equal(key.Marshal(), sig.PublicKey.Marshal()) {
			continue
		}
		if err := sshsig.Verify(bytes.NewReader(sums), sig, key, sig.HashAlgorithm, Namespace); err != nil {
			return nil, untrusted("%s was not signed as it is: %v", SumsFile, err)
		}
		return key, nil
	}
	return nil, untrusted("the release is signed by %s, a key that this program does not know", ssh.FingerprintSHA256(sig.PublicKey))
}

// parseSignature reads what ssh-keygen prints, and nothing that is almost that: each bit counts.
func parseSignature(armored []byte) (*sshsig.Signature, error) {
	const begin, end = "-----BEGIN SSH SIGNATURE-----\n", "\n-----END SSH SIGNATURE-----\n"
	body, begins := strings.CutPrefix(string(armored), begin)
	body, ends := strings.CutSuffix(body, end)
	if !begins || !ends {
		return nil, errors.New("it does not begin and end as one")
	}
	body = strings.ReplaceAll(body, "\n", "")
	if strings.ContainsRune(body, '\r') { // which the decoder leaves out
		return nil, errors.New("its lines end as those of another system")
	}
	blob, err := base64.StdEncoding.Strict().DecodeString(body)
	if err != nil {
		return nil, err
	}
	sig, err := sshsig.ParseSignature(blob)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(sig.Marshal(), blob) {
		return nil, errors.New("it has more in it than a signature")
	}
	return sig, nil
}

// parseSums reads what sha256sum prints.
func parseSums(data []byte) (map[string]string, error) {
	sums := make(map[string]string)
	for line := range strings.Lines(string(data)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if _, err := hex.DecodeString(sum); !ok || err != nil || len(sum) != 2*sha256.Size || name == "" {
			return nil, untrusted("%s has a line that sha256sum does not print: %q", SumsFile, line)
		}
		sums[name] = sum
	}
	return sums, nil
}

// Find returns the file of this kind for a system. Files of packages name the architecture as Go does.
func (m *Manifest) Find(kind Kind, os, arch string) (File, error) {
	for _, f := range m.Files {
		if f.Kind == kind && f.OS == os && f.Arch == arch {
			return f, nil
		}
	}
	return File{}, fmt.Errorf("%s has no %s for %s on %s", m.Version, kind, os, arch)
}

// Fetch copies a file to w. An error means that what w got is not the file.
func (f File) Fetch(ctx context.Context, from Source, w io.Writer) error {
	if f.Size < 0 || f.Size > mostFile {
		return untrusted("%s has an impossible size", f.Name)
	}
	r, err := from.Open(ctx, f.Name)
	if err != nil {
		return err
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, hash), io.LimitReader(r, f.Size+1))
	if err := errors.Join(err, r.Close()); err != nil {
		return fmt.Errorf("read %s: %w", f.Name, err)
	}
	if n != f.Size || hex.EncodeToString(hash.Sum(nil)) != f.SHA256 {
		return untrusted("%s is not the file that was signed", f.Name)
	}
	return nil
}

// Newer reports whether the version that is to be installed is newer than the one that
// is there. Any release is newer than a program whose version is no number, such as one that was built by hand.
func Newer(there, next string) bool {
	return !semver.IsValid(there) || semver.Compare(next, there) > 0
}
