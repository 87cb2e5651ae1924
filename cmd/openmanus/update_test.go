package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/openmanus-go/openmanus/internal/release"
)

// fakeProgram is a program that says of itself what openmanus does, in the shell.
func fakeProgram(version string, missing ...string) string {
	var found []string
	for _, name := range missing {
		found = append(found, fmt.Sprintf(`{"name": %q, "state": "missing", "detail": ""}`, name))
	}
	fails := "exit 0"
	if missing != nil {
		fails = "exit 1"
	}
	return fmt.Sprintf("#!/bin/sh\ncase $1 in\nversion) echo '{\"version\": %q}' ;;\ndoctor) echo '[%s]'; %s ;;\nesac\n", version, strings.Join(found, ", "), fails)
}

// publish writes a release of fake programs into a directory, signed by a key of tests.
func publish(t *testing.T, version, program string) (dir string, key ssh.Signer) {
	t.Helper()
	dir = t.TempDir()
	key, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	sumOf := func(data []byte) string { sum := sha256.Sum256(data); return hex.EncodeToString(sum[:]) }
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	w := tar.NewWriter(z)
	_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "x/openmanus", Mode: 0o755, Size: int64(len(program))})
	_, _ = io.WriteString(w, program)
	_ = w.Close()
	_ = z.Close()
	system := runtime.GOOS + "/" + runtime.GOARCH
	m := release.Manifest{Version: version, Programs: map[string]string{system: sumOf([]byte(program))}}
	var sums string
	put := func(name string, kind release.Kind, data []byte) {
		if kind != "" {
			m.Files = append(m.Files, release.File{Name: name, Kind: kind, OS: runtime.GOOS, Arch: runtime.GOARCH, Size: int64(len(data)), SHA256: sumOf(data)})
		}
		sums += sumOf(data) + "  " + name + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("openmanus.tar.gz", release.Archive, archive.Bytes())
	put("openmanus.deb", release.Deb, []byte("a package"))
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	put(release.ManifestFile, "", data)
	sig, err := sshsig.Sign(strings.NewReader(sums), key, sshsig.HashSHA512, release.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	armored := "-----BEGIN SSH SIGNATURE-----\n" + base64.StdEncoding.EncodeToString(sig.Marshal()) + "\n-----END SSH SIGNATURE-----\n"
	for name, text := range map[string]string{release.SumsFile: sums, release.SignatureFile: armored} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, key
}

// TestUpdate updates a program, goes back, and says why it does not where it does not.
func TestUpdate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs of this test are scripts of a shell")
	}
	good, key := publish(t, "v1.1.0", fakeProgram("v1.1.0"))
	defer func(v, k string) { version, releaseKeys = v, k }(version, releaseKeys)
	version, releaseKeys = "v1.0.0", string(ssh.MarshalAuthorizedKey(key.PublicKey()))
	dir := t.TempDir()
	program := filepath.Join(dir, "bin", "openmanus")
	if err := os.Mkdir(filepath.Dir(program), 0o755); err != nil {
		t.Fatal(err)
	}
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	type result struct {
		code     int
		out, err string
	}
	do := func(args ...string) result {
		var out, problem bytes.Buffer
		env := func(name string) (string, bool) {
			return map[string]string{"HOME": dir, "XDG_CACHE_HOME": filepath.Join(dir, "cache")}[name], name == "HOME" || name == "XDG_CACHE_HOME"
		}
		code := Main(t.Context(), args, &terminal{out: &out, err: &problem, env: env, dir: dir, program: program})
		return result{code, out.String(), problem.String()}
	}
	expect := func(what string, got result, code int, words string, now string) {
		t.Helper()
		data, err := os.ReadFile(program)
		if got.code != code || !strings.Contains(got.out+got.err, words) || err != nil || string(data) != now {
			t.Errorf("%s: exit code %d, want %d; %q and %q, want %q; the program is %q, %v", what, got.code, code, got.out, got.err, words, data, err)
		}
	}
	one, two := fakeProgram("v1.0.0"), fakeProgram("v1.1.0")
	put(one)
	expect("a look", do("update", "--check", "--from", good), exitFinished, "openmanus v1.1.0 is there", one)
	expect("no way back yet", do("update", "--rollback"), exitFailed, "there is no program before", one)
	expect("an update", do("update", "--from", good), exitFinished, "is openmanus v1.1.0 now; v1.0.0 is kept as", two)
	expect("the way back", do("update", "--rollback"), exitFinished, "is openmanus v1.0.0 again", one)
	expect("verified", do("version", "--verify", "--from", good), exitFailed, "is not the program of v1.1.0", one)
	expect("an update again", do("update", "--from", good), exitFinished, "is openmanus v1.1.0 now", two)
	expect("verified", do("version", "--verify", "--from", good), exitFinished, "is the program of openmanus v1.1.0 for", two)
	version = "v1.1.0"
	expect("nothing new", do("update", "--from", good), exitFinished, "openmanus v1.1.0 is the newest", two)
	version = "v1.2.0"
	expect("an older one", do("update", "--from", good), exitFinished, "openmanus v1.2.0 is the newest; published is v1.1.0", two)

	version = "v1.0.0"
	put(one)
	liar, _ := publish(t, "v1.3.0", fakeProgram("v0.9.0"))
	expect("another version", do("update", "--from", liar), exitFailed, "it says that it is v0.9.0, not v1.3.0", one)
	sick, _ := publish(t, "v1.3.0", fakeProgram("v1.3.0", "sandbox"))
	expect("a doctor that misses something", do("update", "--from", sick), exitFailed, "its doctor misses sandbox", one)
	put(fakeProgram("v1.0.0", "sandbox", "model"))
	expect("which was missing before", do("update", "--from", sick), exitFinished, "is openmanus v1.3.0 now", fakeProgram("v1.3.0", "sandbox"))
	put(one)
	broken, _ := publish(t, "v1.3.0", "\x7fELF of another machine")
	expect("a program that does not run", do("update", "--from", broken), exitFailed, "the old one stays", one)
	for _, name := range []string{release.SumsFile, release.SignatureFile, release.ManifestFile, "openmanus.tar.gz"} {
		bad, _ := publish(t, "v1.3.0", fakeProgram("v1.3.0"))
		data, _ := os.ReadFile(filepath.Join(bad, name))
		data[len(data)/2] ^= 1
		if err := os.WriteFile(filepath.Join(bad, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
		expect("a flipped bit in "+name, do("update", "--from", bad), exitFailed, "openmanus: ", one)
	}
	if left, _ := filepath.Glob(program + ".*"); len(left) != 1 {
		t.Errorf("beside the program are %v", left)
	}

	expect("nothing there", do("update", "--from", filepath.Join(dir, "none")), exitUsage, "--from", one)
	expect("no directory", do("update", "--from", "ftp://example.org"), exitUsage, "begins with https://", one)
	expect("two at once", do("update", "--rollback", "--check"), exitUsage, "--rollback", one)
	expect("--from alone", do("version", "--from", good), exitUsage, "--verify", one)
	releaseKeys = ""
	expect("no key", do("update", "--from", good), exitUsage, "built without the key of a release", one)
	expect("no key", do("version", "--verify", "--from", good), exitUsage, "built without the key of a release", one)
	releaseKeys = string(ssh.MarshalAuthorizedKey(key.PublicKey()))

	lib := filepath.Join(dir, "lib", "openmanus")
	if err := os.MkdirAll(lib, 0o755); err != nil {
		t.Fatal(err)
	}
	for kind, words := range map[string]string{"deb": "sudo apt install " + filepath.Join(dir, "cache"), "brew": "was installed with brew", "rpm": "has no rpm"} {
		if err := os.WriteFile(filepath.Join(lib, "package"), []byte(kind+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		code := exitFailed
		if kind == "deb" {
			code = exitFinished
		}
		for range 2 { // what was fetched before is fetched again
			expect("a package of "+kind, do("update", "--from", good), code, words, one)
		}
		expect("back with a package", do("update", "--rollback"), exitUsage, "install the package of the version that you want", one)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "cache", "openmanus", "updates", "openmanus.deb")); err != nil || string(data) != "a package" {
		t.Errorf("the package that was fetched: %q, %v", data, err)
	}
}

// TestDocs writes the pages, and checks that every link in them leads somewhere.
func TestDocs(t *testing.T) {
	dir := t.TempDir()
	var out, problem bytes.Buffer
	do := func(args ...string) int {
		out.Reset()
		problem.Reset()
		env := func(name string) (string, bool) {
			return filepath.Join(dir, "cache"), name == "XDG_CACHE_HOME"
		}
		return Main(t.Context(), args, &terminal{out: &out, err: &problem, env: env, dir: dir})
	}
	if code := do("docs"); code != exitFinished {
		t.Fatal(code, problem.String())
	}
	index := strings.TrimSpace(out.String())
	if data, err := os.ReadFile(index); err != nil || !strings.Contains(string(data), "<!doctype html>") {
		t.Errorf("%q: %v", index, err)
	}
	if code := do("docs", "commands/run", "--print"); code != exitFinished || !strings.HasPrefix(out.String(), "# openmanus run\n") {
		t.Errorf("printed: %d %q %q", code, out.String(), problem.String())
	}
	if code := do("docs", "sandbox.md", "--print"); code != exitFinished || !strings.HasPrefix(out.String(), "# ") {
		t.Errorf("printed: %d %q %q", code, out.String(), problem.String())
	}
	if code := do("docs", "sandbax"); code != exitUsage || !strings.Contains(problem.String(), "did you mean sandbox?") {
		t.Errorf("a page that is not there: %d %q", code, problem.String())
	}
	if code := do("docs", "--list"); code != exitFinished || !strings.Contains(out.String(), "configuration\n") {
		t.Errorf("listed: %d %q", code, out.String())
	}
	if code := do("docs", "--dir", "site"); code != exitFinished {
		t.Fatal(code, problem.String())
	}
	checkSite(t, filepath.Join(dir, "site"))
}
