package doctor

import (
	"context"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/hostexec"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm/providers"
)

var update = flag.Bool("update", false, "write what was found into testdata")

func TestMain(m *testing.M) { testbed.Main(m) }

// A fake is a machine as an archive in testdata describes it, a thing on each
// line of its file "machine":
//
//	os NAME                         linux/amd64 unless said
//	root                            the user is root
//	program PATH                    on the path, by the last part of PATH
//	says PATH ARGS | LINE           what it prints
//	fails PATH ARGS | LINE          what it prints before it fails
//	hangs PATH ARGS |               it does not answer in time
//	dir PATH MODE, file PATH | TEXT what is there
//	free MIB
//	passes DIR | WHY                of PATH
//	store ERROR
//	endpoint URL [key=KEY] ANSWER   names between commas, a status, or: refused, nohost, timeout, untrusted, html
//	terminal in out err
//
// with "env" and "config.toml", which --config names, and "findings", which is
// what is to be found.
type fake struct {
	Machine
	root  string
	env   map[string]string
	files fstest.MapFS
	says  map[string]string
	doors map[string]string
}

func newFake(t *testing.T, ar *txtar.Archive) (*fake, Setup) {
	t.Helper()
	f := &fake{root: t.TempDir(), env: map[string]string{"HOME": "/home/u", "USERPROFILE": "/home/u"}, files: fstest.MapFS{}, says: map[string]string{}, doors: map[string]string{}}
	f.Machine = Machine{GOOS: "linux", GOARCH: "amd64", LookPath: f.lookPath, Run: f.run, Models: f.models,
		Env:      func(name string) (string, bool) { v, ok := f.env[name]; return v, ok },
		Stat:     f.stat,
		ReadFile: func(name string) ([]byte, error) { return f.files.ReadFile(inFS(name)) },
		Free:     func(string) (uint64, error) { return 10 << 30, nil }}
	src := config.Sources{Dir: "/home/u/work", GOOS: "linux", Env: f.Env, Providers: providers.All()}
	for _, file := range ar.Files {
		for line := range strings.Lines(string(file.Data)) {
			line = strings.TrimSpace(line)
			switch file.Name {
			case "machine":
				f.describe(t, line)
			case "env":
				name, value, _ := strings.Cut(line, "=")
				f.env[name] = value
			}
		}
		if file.Name == "config.toml" {
			src.File = filepath.Join(f.root, "config.toml")
			if err := os.WriteFile(src.File, file.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	src.GOOS = f.GOOS
	s := Setup{Dir: src.Dir}
	s.Config, s.Warnings, s.Err = config.Load(src)
	return f, s
}

func inFS(name string) string {
	if name = strings.Trim(filepath.ToSlash(name), "/"); name == "" {
		return "."
	}
	return name
}

func (f *fake) describe(t *testing.T, line string) {
	t.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	word, more, _ := strings.Cut(rest, " ")
	switch verb {
	case "":
	case "os":
		f.GOOS = word
	case "program":
		f.files[inFS(word)] = &fstest.MapFile{Mode: 0o755}
	case "says", "fails", "hangs":
		command, out, _ := strings.Cut(rest, " | ")
		f.says[strings.TrimSuffix(command, " |")] = verb + " " + out
	case "dir":
		mode, err := strconv.ParseUint(more, 8, 32)
		if err != nil {
			t.Fatal(err)
		}
		f.files[inFS(word)] = &fstest.MapFile{Mode: fs.ModeDir | fs.FileMode(mode)}
	case "file":
		path, text, _ := strings.Cut(rest, " | ")
		f.files[inFS(path)] = &fstest.MapFile{Data: []byte(text)}
	case "root":
		f.Root = true
	case "passes":
		dir, why, _ := strings.Cut(rest, " | ")
		f.Path = func() []hostexec.Passed { return []hostexec.Passed{{Dir: dir, Why: why}} }
	case "free":
		n, err := strconv.ParseUint(word, 10, 64)
		f.Free = func(string) (uint64, error) { return n << 20, err }
	case "store":
		f.Store = func(string) error { return errors.New(rest) }
	case "endpoint":
		key := ""
		if k, ok := strings.CutPrefix(more, "key="); ok {
			key, more, _ = strings.Cut(k, " ")
		}
		f.doors[word+" "+key] = more
	case "terminal":
		f.Terminal = Terminal{strings.Contains(rest, "in"), strings.Contains(rest, "out"), strings.Contains(rest, "err")}
	default:
		t.Fatalf("machine: %q", line)
	}
}

func (f *fake) stat(name string) (fs.FileInfo, error) {
	info, err := f.files.Stat(inFS(name))
	if err != nil {
		err = &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return info, err
}

func (f *fake) lookPath(name string) (string, error) {
	if strings.Contains(name, "/") {
		_, err := f.Stat(name)
		return name, err
	}
	for path, file := range f.files {
		if filepath.Base(path) == name && file.Mode == 0o755 {
			return "/" + path, nil
		}
	}
	return "", errors.New("not found")
}

func (f *fake) run(ctx context.Context, name string, args ...string) (string, error) {
	command := strings.Join(append([]string{name}, args...), " ")
	verb, out, _ := strings.Cut(f.says[command], " ")
	switch verb {
	case "says":
		return out, nil
	case "fails":
		return out, errors.New("exit status 1")
	case "hangs":
		<-ctx.Done()
		return "", ctx.Err()
	}
	return "", fmt.Errorf("nobody said what %q prints", command)
}

func (f *fake) models(_ context.Context, base, key string) ([]string, error) {
	answer, ok := f.doors[base+" "+key]
	if !ok {
		answer = "refused"
	}
	if code, err := strconv.Atoi(answer); err == nil {
		return nil, StatusError(code)
	}
	switch answer {
	case "refused":
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	case "nohost":
		return nil, &net.DNSError{Err: "no such host", Name: "nowhere.example", IsNotFound: true}
	case "timeout":
		return nil, context.DeadlineExceeded
	case "untrusted":
		return nil, x509.UnknownAuthorityError{}
	case "html":
		return nil, errOtherList
	}
	return strings.Split(answer, ","), nil
}

func TestCheck(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases in testdata", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			synctest.Test(t, func(t *testing.T) { // a program that hangs is waited for
				f, setup := newFake(t, ar)
				got = strings.ReplaceAll(text(Check(t.Context(), f.Machine, setup)), f.root, "$WORK")
			})
			want := &ar.Files[len(ar.Files)-1]
			if want.Name != "findings" {
				t.Fatal("the last file is not findings")
			}
			for _, v := range []string{"sk-", "pass-word"} {
				if strings.Contains(got, v) {
					t.Errorf("a key was shown")
				}
			}
			if got == string(want.Data) {
				return
			}
			if !*update {
				t.Fatalf("got:\n%swant:\n%s", got, want.Data)
			}
			want.Data = []byte(got)
			if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func text(found []Finding) string {
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "%s %s: %s\n", f.State, f.Name, strings.ReplaceAll(f.Detail, "\n", "\n        "))
		if f.Remedy != "" {
			fmt.Fprintf(&b, "   do: %s\n", f.Remedy)
		}
	}
	return b.String()
}
