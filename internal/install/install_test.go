package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// A machine has package managers, and notes what is run on it.
type machine struct {
	programs string            // on the PATH
	says     map[string]string // what a command prints that has a word; "!" at the end: it fails

	mu  sync.Mutex
	ran []string
}

// installer returns one for the machine.
func (m *machine) installer(t *testing.T, present, root bool) *Installer {
	t.Helper()
	i := &Installer{GOOS: "linux", Root: root, Lists: t.TempDir(), Present: func() bool { return present }, Run: m.run}
	if err := os.WriteFile(filepath.Join(i.Lists, "x_Packages"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	i.LookPath = func(name string) (string, error) {
		if strings.Contains(" "+m.programs+" ", " "+name+" ") {
			return "/bin/" + name, nil
		}
		return "", exec.ErrNotFound
	}
	return i
}

func (m *machine) run(_ context.Context, w io.Writer, args ...string) error {
	line := strings.Join(args, " ")
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ran = append(m.ran, line)
	for word, said := range m.says {
		if strings.Contains(line, word) {
			text, fails := strings.CutSuffix(said, "!")
			fmt.Fprint(w, text)
			if fails {
				return errors.New("exit status 100")
			}
		}
	}
	return nil
}

// changed returns the commands that may have changed something.
func (m *machine) changed() (lines []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, line := range m.ran {
		if !strings.Contains(line, "--assume-no") && !strings.Contains(line, "--print-uris") && line != "sudo -n true" {
			lines = append(lines, line)
		}
	}
	return lines
}

// debian is a Debian on which nothing is missing but the program.
func debian() *machine {
	return &machine{programs: "apt-get sudo", says: map[string]string{
		"--assume-no": "Reading package lists...\n0 upgraded, 167 newly installed, 0 to remove and 0 not upgraded.\n" +
			"Need to get 1,234 kB/196 MB of archives.\nAfter this operation, 713 MB of additional disk space will be used.\n" +
			"Do you want to continue? [Y/n] N\nAbort.\n!",
		"--print-uris": "'http://deb.example.org/debian/pool/a_1.deb' a_1.deb 19432 MD5Sum:6f\n" +
			"'http://deb.example.org/debian/pool/b_1.deb' b_1.deb 1 MD5Sum:6f\n'file:/mirror/c_1.deb' c_1.deb 1 MD5Sum:6f\n",
	}}
}

func call(answers ...string) openmanus.Call {
	c := openmanus.Call{Call: llm.Call{Name: "browser_use"}, Live: io.Discard}
	for _, a := range answers {
		c.Answers = append(c.Answers, openmanus.Answer{Text: a})
	}
	return c
}

// asked returns the question that err is.
func asked(t *testing.T, err error) string {
	t.Helper()
	var ask *openmanus.Ask
	if !errors.As(err, &ask) {
		t.Fatalf("it did not ask: %v", err)
	}
	return ask.Question
}

func contains(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in:\n%s", w, text)
		}
	}
}

// TestNeed: the question has what would run, from where and how large; nothing
// happens before a yes, and then exactly what was shown.
func TestNeed(t *testing.T) {
	const update, install = "apt-get update",
		"apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends chromium chromium-sandbox"
	for _, c := range []struct {
		name, sudo string
		root       bool
	}{{"root", "", true}, {"sudo", "sudo -n ", false}} {
		t.Run(c.name, func(t *testing.T) {
			m := debian()
			i := m.installer(t, true, c.root)
			q := asked(t, i.Need(t.Context(), call(), Chromium, ""))
			contains(t, q, "browser_use needs Chromium, which is not installed. Install it now?", "\n  "+c.sudo+update+"\n  "+c.sudo+install+"\n",
				"come from deb.example.org, file sources of this system", "196 MB to download, 713 MB on disk", "yes or no?")
			if ran := m.changed(); len(ran) > 0 {
				t.Fatal("before an answer it ran", ran)
			}
			var live bytes.Buffer
			yes := call(" Yes. ")
			yes.Live = &live
			if err := i.Need(t.Context(), yes, Chromium, ""); err != nil {
				t.Fatal(err)
			}
			if got, want := strings.Join(m.changed(), "\n"), c.sudo+update+"\n"+c.sudo+install; got != want {
				t.Errorf("it ran\n%s\nand asked about\n%s", got, want)
			}
			contains(t, live.String(), "$ "+c.sudo+install)
		})
	}
}

// TestNo: any answer but yes is a no, and the user is not asked about the program again.
func TestNo(t *testing.T) {
	for _, answer := range []string{"", "no", "N", "not yet", "yes, but first tell me why"} {
		m := debian()
		i := m.installer(t, true, true)
		err := i.Need(t.Context(), call(answer), Chromium, "")
		if ask := (*openmanus.Ask)(nil); err == nil || errors.As(err, &ask) {
			t.Fatalf("%q: %v", answer, err)
		}
		contains(t, err.Error(), "Chromium is not installed, and the user", "go on without it", "apt-get install chromium")
		if len(answer) > 2 {
			contains(t, err.Error(), answer)
		}
		if err = i.Need(t.Context(), call(), Chromium, ""); err == nil || !strings.Contains(err.Error(), "does not want it now") {
			t.Errorf("%q, and then: %v", answer, err)
		}
		asked(t, i.Need(t.Context(), call(), Matplotlib, "")) // that is another program
		if ran := m.changed(); len(ran) > 0 {
			t.Errorf("%q: it ran %v", answer, ran)
		}
		if err := i.Need(t.Context(), call("no", "yes"), Chromium, ""); err != nil || len(m.changed()) != 2 {
			t.Errorf("the last answer counts: %v, %v", err, m.changed())
		}
	}
}

// TestNobodyThere: without a user there is no question, and the error says what to run.
func TestNobodyThere(t *testing.T) {
	m := debian()
	i := m.installer(t, false, true)
	err := i.Need(t.Context(), call(), Matplotlib, "")
	if ask := (*openmanus.Ask)(nil); err == nil || errors.As(err, &ask) {
		t.Fatal(err)
	}
	contains(t, err.Error(), "Matplotlib is not installed, and there is no user here", "(apt-get install python3-matplotlib)")
	if err := i.Need(t.Context(), call("yes"), Matplotlib, ""); err != nil || len(m.changed()) != 2 {
		t.Errorf("an answer that was given meanwhile: %v, %v", err, m.changed())
	}
}

// TestByHand: where the program cannot install it, the user is asked to, and a yes runs nothing.
func TestByHand(t *testing.T) {
	password, unknown := debian(), debian()
	password.says["sudo -n true"] = "sudo: a password is required\n!"
	unknown.says["--print-uris"] = "E: Unable to locate package chromium\n!"
	for _, c := range []struct {
		m      *machine
		root   bool
		byHand string
		want   []string
	}{
		{password, false, "", []string{"needs the password of an administrator", "\n  sudo apt-get install chromium chromium-sandbox\n", "713 MB on disk"}},
		{unknown, true, "", []string{"because apt does not offer it", "about 100 to 200 MB"}},
		{&machine{programs: "dnf"}, true, "", []string{"cannot install it here by itself.", "\n  dnf install chromium\n"}},
		{&machine{}, true, "", []string{"install chromium with the package manager of this system"}},
		{debian(), true, "/opt/python/bin/python3 -m pip install x", []string{"\n  /opt/python/bin/python3 -m pip install x\n"}},
	} {
		i := c.m.installer(t, true, c.root)
		q := asked(t, i.Need(t.Context(), call(), Chromium, c.byHand))
		contains(t, q, append(c.want, "another terminal", "answer yes when it is done")...)
		if err := i.Need(t.Context(), call("done"), Chromium, c.byHand); err != nil || len(c.m.changed()) > 0 {
			t.Errorf("%v, and it ran %v", err, c.m.changed())
		}
	}
}

// TestNoLists: apt that has not read its sources yet is asked after it has.
func TestNoLists(t *testing.T) {
	m := debian()
	m.says["--print-uris"] = "E: Unable to locate package chromium\n!"
	i := m.installer(t, true, true)
	i.Lists = t.TempDir()
	contains(t, asked(t, i.Need(t.Context(), call(), Chromium, "")), "update\n", "the package sources of this system: about 100 to 200 MB")
}

// TestFailedInstall: the model reads what apt printed last.
func TestFailedInstall(t *testing.T) {
	m := debian()
	m.says[" install -y"] = strings.Repeat("Get: a line\n", 500) + "E: Unable to correct problems\nE: held broken packages\n!"
	err := m.installer(t, true, true).Need(t.Context(), call("y"), Chromium, "")
	if err == nil || len(err.Error()) > 500 {
		t.Fatal(err)
	}
	contains(t, err.Error(), "Chromium could not be installed", "exit status 100", "E: held broken packages", "go on without it")
}

// TestInterrupted: a call that ends leaves the package manager alone, which runs to its end.
func TestInterrupted(t *testing.T) {
	m := debian()
	i := m.installer(t, true, true)
	began, goOn, ended := make(chan bool), make(chan bool), make(chan error, 1)
	i.Run = func(ctx context.Context, w io.Writer, args ...string) error {
		if line := strings.Join(args, " "); !strings.HasSuffix(line, "update") {
			return m.run(ctx, w, args...)
		}
		close(began)
		<-goOn
		fmt.Fprintln(w, "late")
		ended <- ctx.Err()
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	var live bytes.Buffer // a race, if it is written to after the call
	yes := call("yes")
	yes.Live = &live
	go func() { <-began; cancel() }()
	err := i.Need(ctx, yes, Chromium, "")
	close(goOn)
	if !errors.Is(err, context.Canceled) || strings.Contains(live.String(), "late") {
		t.Errorf("%v, %q", err, live.String())
	}
	if err := <-ended; err != nil {
		t.Error("the package manager was interrupted:", err)
	}
}

// TestExecute runs a real program: it reads nothing from the terminal, and speaks English.
func TestExecute(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	var out bytes.Buffer
	err := new(Installer).execute(t.Context(), &out, "sh", "-c", `read x; echo "$x$LC_ALL $DEBIAN_FRONTEND"; echo no >&2; exit 3`)
	if got := out.String(); err == nil || got != "C noninteractive\nno\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAdvice(t *testing.T) {
	for _, c := range []struct{ programs, goos, want string }{
		{"apt-get dnf", "linux", "apt-get install python3-matplotlib"},
		{"apk", "linux", "apk add py3-matplotlib"},
		{"brew", "darwin", "brew install python-matplotlib"},
		{"", "darwin", "install python3-matplotlib, for instance with Homebrew (https://brew.sh): brew install python-matplotlib"},
		{"winget", "windows", "install python3-matplotlib"},
	} {
		m := &machine{programs: c.programs}
		if got := Matplotlib.Advice(m.installer(t, true, true).LookPath, c.goos); got != c.want {
			t.Errorf("%s, %s: %s", c.goos, c.programs, got)
		}
	}
}
