package release_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/openmanus-go/openmanus/internal/release"
)

// A place is a source in memory.
type place map[string][]byte

// Open implements [release.Source].
func (p place) Open(_ context.Context, name string) (io.ReadCloser, error) {
	data, ok := p[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// A maker signs releases.
type maker struct{ key ssh.Signer }

func newMaker(seed byte) maker {
	key, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize)))
	if err != nil {
		panic(err)
	}
	return maker{key}
}

func (m maker) keys() release.Keys { return release.Keys{m.key.PublicKey()} }

// sign signs in the form of ssh-keygen.
func (m maker) sign(data []byte, namespace string) []byte {
	sig, err := sshsig.Sign(bytes.NewReader(data), m.key, sshsig.HashSHA512, namespace)
	if err != nil {
		panic(err)
	}
	text := base64.StdEncoding.EncodeToString(sig.Marshal())
	var b strings.Builder
	b.WriteString("-----BEGIN SSH SIGNATURE-----\n")
	for part := range slices.Chunk([]byte(text), 70) {
		b.WriteString(string(part) + "\n")
	}
	b.WriteString("-----END SSH SIGNATURE-----\n")
	return []byte(b.String())
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func tarred(files map[string]string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	t := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_ = t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: int64(len(files[name]))})
		_, _ = io.WriteString(t, files[name])
	}
	_ = t.Close()
	_ = z.Close()
	return b.Bytes()
}

func zipped(files map[string]string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, _ := z.Create(name)
		_, _ = io.WriteString(w, files[name])
	}
	_ = z.Close()
	return b.Bytes()
}

// published makes a release with a program for Linux and one for Windows. change, if not nil, changes
// the manifest before it is signed.
func (m maker) published(version string, change func(*release.Manifest)) place {
	linux := tarred(map[string]string{"openmanus_1/README.md": "read", "openmanus_1/openmanus": "the program " + version})
	windows := zipped(map[string]string{"openmanus_1/openmanus.exe": "the program for Windows"})
	manifest := release.Manifest{
		Version: version,
		Programs: map[string]string{
			"linux/amd64": sumOf([]byte("the program " + version)), "windows/amd64": sumOf([]byte("the program for Windows")),
		},
		Files: []release.File{
			{Name: "linux.tar.gz", Kind: release.Archive, OS: "linux", Arch: "amd64", Size: int64(len(linux)), SHA256: sumOf(linux)},
			{Name: "windows.zip", Kind: release.Archive, OS: "windows", Arch: "amd64", Size: int64(len(windows)), SHA256: sumOf(windows)},
		},
	}
	sums := fmt.Sprintf("%s  linux.tar.gz\n%s  windows.zip\n", sumOf(linux), sumOf(windows))
	if change != nil {
		change(&manifest)
	}
	data, err := json.Marshal(manifest)
	if err != nil {
		panic(err)
	}
	sums = sumOf(data) + "  manifest.json\n" + sums
	return place{
		"linux.tar.gz": linux, "windows.zip": windows, "manifest.json": data,
		"SHA256SUMS": []byte(sums), "SHA256SUMS.sig": m.sign([]byte(sums), release.Namespace),
	}
}

// install reads a release and returns its program for Linux.
func install(from release.Source, keys release.Keys) ([]byte, error) {
	m, _, err := release.Read(context.Background(), from, keys)
	if err != nil {
		return nil, err
	}
	return m.Program(context.Background(), from, "linux", "amd64")
}

// TestRelease says which releases are believed.
func TestRelease(t *testing.T) {
	ours, others := newMaker(1), newMaker(2)
	for _, tc := range []struct {
		name string
		from func() place
		keys release.Keys
		want string // in the error; "": it is believed
	}{
		{"a release", func() place { return ours.published("v1.2.3", nil) }, ours.keys(), ""},
		{"by one of several keys", func() place { return ours.published("v1.2.3", nil) }, append(others.keys(), ours.keys()...), ""},
		{"by somebody else", func() place { return others.published("v1.2.3", nil) }, ours.keys(), "a key that this program does not know"},
		{"no key", func() place { return ours.published("v1.2.3", nil) }, nil, "a key that this program does not know"},
		{"signed as something else", func() place {
			p := ours.published("v1.2.3", nil)
			p["SHA256SUMS.sig"] = ours.sign(p["SHA256SUMS"], "git")
			return p
		}, ours.keys(), "was not signed as it is"},
		{"the signature of another release", func() place {
			p := ours.published("v1.2.3", nil)
			p["SHA256SUMS.sig"] = ours.published("v1.2.4", nil)["SHA256SUMS.sig"]
			return p
		}, ours.keys(), "was not signed as it is"},
		{"the manifest of another release", func() place {
			p := ours.published("v1.2.3", nil)
			p["manifest.json"] = ours.published("v1.2.4", nil)["manifest.json"]
			return p
		}, ours.keys(), "manifest.json is not the one that was signed"},
		{"the archive of another release", func() place {
			p := ours.published("v1.2.3", nil)
			p["linux.tar.gz"] = ours.published("v1.2.4", nil)["linux.tar.gz"]
			return p
		}, ours.keys(), "linux.tar.gz is not the file that was signed"},
		{"a longer archive", func() place {
			p := ours.published("v1.2.3", nil)
			p["linux.tar.gz"] = append(p["linux.tar.gz"], 0)
			return p
		}, ours.keys(), "linux.tar.gz is not the file that was signed"},
		{"no signature", func() place {
			p := ours.published("v1.2.3", nil)
			delete(p, "SHA256SUMS.sig")
			return p
		}, ours.keys(), "SHA256SUMS.sig"},
		{"lines of another system", func() place {
			p := ours.published("v1.2.3", nil)
			p["SHA256SUMS.sig"] = bytes.ReplaceAll(p["SHA256SUMS.sig"], []byte("\n"), []byte("\r\n"))
			return p
		}, ours.keys(), "no signature"},
		{"no version", func() place { return ours.published("new", nil) }, ours.keys(), "no version"},
		{"a program that is not the listed one", func() place {
			return ours.published("v1.2.3", func(m *release.Manifest) { m.Programs["linux/amd64"] = sumOf(nil) })
		}, ours.keys(), "is not the one of the release"},
		{"a file outside", func() place {
			return ours.published("v1.2.3", func(m *release.Manifest) { m.Files[0].Name = "../linux.tar.gz" })
		}, ours.keys(), "differ about"},
		{"an impossible size", func() place {
			return ours.published("v1.2.3", func(m *release.Manifest) { m.Files[0].Size = 1 << 40 })
		}, ours.keys(), "impossible size"},
		{"no archive for this system", func() place {
			return ours.published("v1.2.3", func(m *release.Manifest) { m.Files[0].Arch = "s390x" })
		}, ours.keys(), "has no archive for linux on amd64"},
		{"sums that go on for ever", func() place {
			p := ours.published("v1.2.3", nil)
			p["SHA256SUMS"] = make([]byte, 2<<20)
			return p
		}, ours.keys(), "longer than a release's"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			program, err := install(tc.from(), tc.keys)
			switch {
			case tc.want == "" && (err != nil || string(program) != "the program v1.2.3"):
				t.Errorf("got %q, %v", program, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %q, %v; want an error with %q", program, err, tc.want)
			}
		})
	}
}

// TestWindows says that the program is found in a zip, too.
func TestWindows(t *testing.T) {
	ours := newMaker(1)
	from := ours.published("v1.2.3", nil)
	m, key, err := release.Read(t.Context(), from, ours.keys())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(key, "SHA256:") {
		t.Errorf("the key is %q", key)
	}
	program, err := m.Program(t.Context(), from, "windows", "amd64")
	if err != nil || string(program) != "the program for Windows" {
		t.Errorf("got %q, %v", program, err)
	}
}

// TestFlippedBits turns single bits over: every one of the signature, and 1,000 of each of the other files.
func TestFlippedBits(t *testing.T) {
	ours := newMaker(1)
	good := ours.published("v1.2.3", nil)
	rng := rand.New(rand.NewPCG(1, 2))
	flip := func(name string, bit int) {
		t.Helper()
		p := maps.Clone(good)
		p[name] = bytes.Clone(p[name])
		p[name][bit/8] ^= 1 << (bit % 8)
		program, err := install(p, ours.keys())
		if err == nil {
			t.Fatalf("bit %d of %s was turned over, and nobody saw it: %q", bit, name, program)
		}
	}
	for bit := range 8 * len(good["SHA256SUMS.sig"]) {
		flip("SHA256SUMS.sig", bit)
	}
	for _, name := range []string{"SHA256SUMS", "manifest.json", "linux.tar.gz"} {
		for range 1000 {
			flip(name, rng.IntN(8*len(good[name])))
		}
	}
}

// TestFrom reads releases from a directory and from an address.
func TestFrom(t *testing.T) {
	ours := newMaker(1)
	dir := t.TempDir()
	for name, data := range ours.published("v1.2.3", nil) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	web := httptest.NewServer(http.StripPrefix("/releases", http.FileServer(http.Dir(dir))))
	defer web.Close()
	for _, at := range []string{dir, web.URL + "/releases", web.URL + "/releases/"} {
		from, err := release.From(at, web.Client())
		if err != nil {
			t.Fatal(err)
		}
		if program, err := install(from, ours.keys()); err != nil || string(program) != "the program v1.2.3" {
			t.Errorf("%s: got %q, %v", at, program, err)
		}
	}
	for at, want := range map[string]string{
		web.URL + "/nothing": "404", "ftp://example.org/": "begins with https://", filepath.Join(dir, "manifest.json"): "no directory", filepath.Join(dir, "none"): "no such file",
	} {
		from, err := release.From(at, web.Client())
		if err == nil {
			_, err = install(from, ours.keys())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", at, err, want)
		}
	}
}

// TestNewer says which versions are newer than which.
func TestNewer(t *testing.T) {
	for _, tc := range []struct {
		there, next string
		want        bool
	}{
		{"v1.2.3", "v1.2.4", true}, {"v1.2.3", "v1.2.3", false}, {"v1.2.4", "v1.2.3", false}, {"v1.9.0", "v1.10.0", true},
		{"v1.0.0-rc.1", "v1.0.0", true}, {"v1.0.0", "v1.0.1-rc.1", true}, {"(devel)", "v0.1.0", true}, {"unknown", "v0.1.0", true},
	} {
		if got := release.Newer(tc.there, tc.next); got != tc.want {
			t.Errorf("Newer(%s, %s) = %v", tc.there, tc.next, got)
		}
	}
}

// A disk in memory may lose its power. A file that was written and not renamed is there in
// part then.
type disk struct {
	files  map[string]string
	steps  int // how many are left before the power fails; negative: it never does
	random *rand.Rand
}

var errPower = errors.New("the power is gone")

// step reports whether there is power for another step.
func (d *disk) step() error {
	if d.steps == 0 {
		return errPower
	}
	d.steps--
	return nil
}

// Read implements [release.Disk].
func (d *disk) Read(name string) ([]byte, error) {
	if data, ok := d.files[name]; ok {
		return []byte(data), nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// Write implements [release.Disk].
func (d *disk) Write(name string, data []byte) error {
	if _, ok := d.files[name]; ok {
		return fs.ErrExist
	}
	if err := d.step(); err != nil {
		d.files[name] = string(data[:d.random.IntN(len(data))])
		return err
	}
	d.files[name] = string(data)
	return d.step()
}

// Rename implements [release.Disk].
func (d *disk) Rename(from, to string) error {
	if err := d.step(); err != nil {
		return err
	}
	d.files[to] = d.files[from]
	delete(d.files, from)
	return d.step()
}

// Remove implements [release.Disk].
func (d *disk) Remove(name string) error {
	if err := d.step(); err != nil {
		return err
	}
	delete(d.files, name)
	return nil
}

// TestPowerCut cuts the power before and after each step of an update and of a way back. A whole program
// has to be there each time, and the next update has to succeed.
func TestPowerCut(t *testing.T) {
	const before, old, next = "the program before", "the one before that", "the program of tomorrow"
	cuts := 0
	for _, back := range []bool{false, true} {
		for steps := 0; ; steps++ {
			d := &disk{files: map[string]string{"/bin/openmanus": before, "/bin/openmanus.old": old}, steps: steps, random: rand.New(rand.NewPCG(uint64(steps), 1))}
			in := &release.Install{Disk: d, Path: "/bin/openmanus", Try: func(at string) error {
				if data := d.files[at]; data != next && data != old {
					t.Errorf("after %d steps %q was tried", steps, data)
				}
				return d.step()
			}}
			do := func() error { return in.Put([]byte(next)) }
			after := next
			if back {
				do, after = in.Back, old
			}
			err := do()
			if got := d.files["/bin/openmanus"]; got != before && got != after {
				t.Fatalf("power for %d steps (%v): the program is %q", steps, err, got)
			}
			if got := d.files["/bin/openmanus.old"]; got != before && got != old {
				t.Fatalf("power for %d steps (%v): what is kept is %q", steps, err, got)
			}
			if d.steps > 0 { // the power lasted
				if err != nil || len(d.files) != 2 {
					t.Errorf("with power: %v, %v", err, d.files)
				}
				break
			}
			cuts++
			d.steps = -1
			if err := in.Put([]byte(next)); err != nil || d.files["/bin/openmanus"] != next {
				t.Fatalf("power for %d steps: the update after it: %v, %v", steps, err, d.files)
			}
		}
	}
	if cuts < 16 {
		t.Errorf("the power was cut %d times only", cuts)
	}
}

// TestPut says what stays if a new program does not work, and that the way back leads forward again.
func TestPut(t *testing.T) {
	for _, aside := range []bool{false, true} {
		dir := t.TempDir()
		path := filepath.Join(dir, "openmanus")
		if err := os.WriteFile(path, []byte("one"), 0o755); err != nil {
			t.Fatal(err)
		}
		var broken error
		in := &release.Install{Disk: release.Files{}, Path: path, Aside: aside, Try: func(string) error { return broken }}
		is := func(want string) {
			t.Helper()
			data, err := os.ReadFile(path)
			info, _ := os.Stat(path)
			if err != nil || string(data) != want || info.Mode().Perm() != 0o755 {
				t.Fatalf("the program is %q, %v; want %q", data, err, want)
			}
			names, _ := filepath.Glob(filepath.Join(dir, "*"))
			if len(names) > 2 {
				t.Errorf("something was left: %v", names)
			}
		}
		if err := in.Back(); err == nil || !strings.Contains(err.Error(), "there is no program before") {
			t.Errorf("back to nothing: %v", err)
		}
		if err := in.Put([]byte("two")); err != nil {
			t.Fatal(err)
		}
		is("two")
		broken = errors.New("illegal instruction")
		if err := in.Put([]byte("three")); err == nil || !strings.Contains(err.Error(), "illegal instruction") {
			t.Errorf("a program that does not work: %v", err)
		}
		is("two")
		broken = nil
		if err := in.Back(); err != nil {
			t.Fatal(err)
		}
		is("one")
		if err := in.Back(); err != nil {
			t.Fatal(err)
		}
		is("two")
	}
}

// FuzzRead reads what anybody may have put at the place of a release.
func FuzzRead(f *testing.F) {
	ours := newMaker(1)
	good := ours.published("v1.2.3", nil)
	f.Add(good["SHA256SUMS"], good["SHA256SUMS.sig"], good["manifest.json"])
	f.Add([]byte("x"), []byte("-----BEGIN SSH SIGNATURE-----\n\n-----END SSH SIGNATURE-----\n"), []byte("{}"))
	f.Fuzz(func(t *testing.T, sums, sig, manifest []byte) {
		p := place{"SHA256SUMS": sums, "SHA256SUMS.sig": sig, "manifest.json": manifest}
		if _, _, err := release.Read(context.Background(), p, ours.keys()); err == nil && !bytes.Equal(sums, good["SHA256SUMS"]) {
			t.Error("a release that we did not sign was believed")
		}
	})
}
