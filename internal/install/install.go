// Package install installs the programs that only some tools need, Chromium and
// Matplotlib, when a call needs one for the first time and the user says yes.
//
// Nothing is installed unasked. [Installer.Need] returns a question in the form of
// an [openmanus.Ask]: which commands would run, from where the packages would come,
// and how large they are. The tool runs again with the answer. Where no user can
// answer, the error says what to run instead, and the model goes on without.
//
// Only Debian's apt is run by the program itself, as root or with a sudo that asks
// for no password. On all other systems the question asks the user to run a command
// and to say when it is done: no other package manager was ever tried.
package install

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/hostexec"
)

// A Program is something that can be installed.
type Program struct {
	Name string // as users know it

	// Names are the packages of package managers, by the manager's program, where they are
	// not called as with apt. "": it has none.
	Names map[string]string

	// Debian are the packages that apt installs. The first is the program itself, and
	// what other managers call it unless Names says otherwise.
	Debian []string

	// Size is about how large it is, for users whose package manager does not say.
	Size string
}

// The programs.
var (
	Chromium = Program{
		Name: "Chromium", Debian: []string{"chromium", "chromium-sandbox"},
		Names: map[string]string{"brew": "--cask chromium", "winget": "Google.Chrome"},
		Size:  "about 100 to 200 MB to download, 300 to 700 MB on disk",
	}
	Matplotlib = Program{
		Name: "Matplotlib", Debian: []string{"python3-matplotlib"},
		Names: map[string]string{
			"brew": "python-matplotlib", "pacman": "python-matplotlib", "apk": "py3-matplotlib", "winget": "",
		},
		Size: "about 50 to 100 MB to download, 150 to 400 MB on disk",
	}
)

// A manager is a package manager: its program, and how it installs.
type manager struct{ program, install string }

// managers returns the known package managers, in the order in which they are
// looked for.
func managers() []manager {
	return []manager{
		{"apt-get", "apt-get install"}, {"dnf", "dnf install"}, {"pacman", "pacman -S"}, {"apk", "apk add"},
		{"zypper", "zypper install"}, {"brew", "brew install"}, {"winget", "winget install"},
	}
}

// Advice returns the command that installs p on a system with the given GOOS, without
// sudo, or a sentence where no package manager has it. lookPath is as [hostexec.Finder.Look].
func (p Program) Advice(lookPath func(string) (string, error), goos string) string {
	name := p.Debian[0]
	for _, m := range managers() {
		if _, err := lookPath(m.program); err != nil {
			continue
		}
		in, differs := p.Names[m.program]
		if !differs {
			in = name
		}
		if in != "" {
			return m.install + " " + in
		}
	}
	switch goos {
	case "darwin":
		in := cmp.Or(p.Names["brew"], name)
		return "install " + name + ", for instance with Homebrew (https://brew.sh): brew install " + in
	case "windows":
		return "install " + name
	}
	return "install " + name + " with the package manager of this system"
}

// An Installer asks about programs, and installs them. The zero value asks nobody.
// Its fields are set before its first use; then it is safe for concurrent use.
type Installer struct {
	// Present reports whether a user of this machine can be asked; nil means no. Answers
	// count in any case: they may have been given while nothing ran.
	Present func() bool

	// NotIn are the directories that the agent's commands write: no program is run from
	// there.
	NotIn []string

	GOOS     string                            // "" means [runtime.GOOS]
	Root     bool                              // the process is root's
	Lists    string                            // what apt knows of its sources; "" means where Debian keeps it
	LookPath func(name string) (string, error) // nil means [hostexec.Finder.Look]

	// Run runs a command to its end and writes to w what it prints. nil means that it
	// is run, as a process group of its own.
	Run func(ctx context.Context, w io.Writer, args ...string) error

	mu       sync.Mutex // held while something is installed
	declined sync.Map   // names of programs that the user does not want, as long as this process runs
}

// New returns an installer for this machine. present reports whether its user can be asked.
func New(present func() bool) *Installer {
	return &Installer{Present: present, Root: os.Geteuid() == 0}
}

// planTime limits how long the package manager may take to say what it would do, and
// installTime how long installing may take.
const (
	planTime    = 30 * time.Second
	installTime = 20 * time.Minute
)

// Need is called by a tool when a call cannot go on without p. It returns nil if p
// was installed, or if the user says that it is there now: the tool looks again, and
// does not call Need twice in a run. An [openmanus.Ask] is the question to the user,
// which the tool returns; other errors are for the model, and say that p is not there
// and what to run. byHand, if not "", is the only command that helps, and none that
// this program may run.
func (i *Installer) Need(ctx context.Context, call openmanus.Call, p Program, byHand string) error {
	command := cmp.Or(byHand, p.Advice(i.lookPath(), cmp.Or(i.GOOS, runtime.GOOS)))
	absent := func(why string) error {
		return fmt.Errorf("%s is not installed%s: go on without it, or tell the user what would install it (%s)",
			p.Name, why, command)
	}
	if n := len(call.Answers); n > 0 {
		return i.answered(ctx, call, p, byHand, call.Answers[n-1].Text, absent)
	}
	if _, no := i.declined.Load(p.Name); no {
		return absent(", and the user does not want it now")
	}
	if i.Present == nil || !i.Present() {
		return absent(", and there is no user here who could be asked to install it")
	}
	pl := i.plan(ctx, p, byHand)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(pl.commands) == 0 {
		return &openmanus.Ask{Owner: true, Question: fmt.Sprintf("%s needs %s, which is not installed. OpenManus cannot install "+
			"it here by itself%s. If you want it, run this in another terminal (%s), and answer yes when it is "+
			"done:\n  %s\nWith no, the agent goes on without it. yes or no?",
			call.Name, p.Name, pl.why, pl.size, pl.byHand)}
	}
	return &openmanus.Ask{Owner: true, Question: fmt.Sprintf("%s needs %s, which is not installed. Install it now? "+
		"This would run:\n  %s\nThe packages come from %s: %s. With no, the agent goes on without it. yes or no?",
		call.Name, p.Name, strings.Join(pl.shown(), "\n  "), pl.from, pl.size)}
}

// answered acts on the user's answer. The plan is made anew: it may be days old.
func (i *Installer) answered(
	ctx context.Context, call openmanus.Call, p Program, byHand, answer string, absent func(string) error,
) error {
	if !IsYes(answer) {
		i.declined.Store(p.Name, true)
		if said := strings.TrimSpace(answer); !isNo(said) {
			return absent(fmt.Sprintf(", and the user answered %q", said))
		}
		return absent(", and the user does not want it now")
	}
	i.declined.Delete(p.Name)
	pl := i.plan(ctx, p, byHand)
	i.mu.Lock() // two sessions may have asked: the second finds everything installed
	defer i.mu.Unlock()
	for _, args := range pl.commands {
		fmt.Fprintf(call.Live, "$ %s\n", strings.Join(args, " "))
		if err := i.run(ctx, call.Live, args); err != nil {
			return fmt.Errorf("%s could not be installed: %s: %w: go on without it, or tell the user",
				p.Name, strings.Join(args, " "), err)
		}
	}
	return nil
}

// IsYes reports whether an answer means yes. All others mean no.
func IsYes(answer string) bool {
	switch strings.Trim(strings.ToLower(strings.TrimSpace(answer)), ".!\"'") {
	case "y", "yes", "yes please", "ok", "okay", "sure", "done", "install it":
		return true
	}
	return false
}

// isNo reports whether an answer says no and nothing else.
func isNo(answer string) bool {
	return answer == "" || strings.EqualFold(answer, "no") || strings.EqualFold(answer, "n")
}

// run runs a command. If ctx ends, run returns and the command goes on to its end: a
// package manager that is killed leaves a system that needs repair.
func (i *Installer) run(ctx context.Context, live io.Writer, args []string) error {
	run := i.runner()
	out := &lastWords{to: live}
	done := make(chan error, 1)
	go func() {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), installTime)
		defer cancel()
		done <- run(limited, out, args...)
	}()
	select {
	case err := <-done:
		if said := out.last(); err != nil && said != "" {
			err = fmt.Errorf("%w: %s", err, said)
		}
		return err
	case <-ctx.Done():
		out.detach()
		return fmt.Errorf("%w; it goes on without this call", ctx.Err())
	}
}

func (i *Installer) lookPath() func(string) (string, error) {
	if i.LookPath != nil {
		return i.LookPath
	}
	return hostexec.Outside(i.NotIn...).Look
}

func (i *Installer) runner() func(ctx context.Context, w io.Writer, args ...string) error {
	if i.Run != nil {
		return i.Run
	}
	return i.execute
}

// lastWords passes on what a command prints, and keeps the end of it for an error. It
// is safe for concurrent use.
type lastWords struct {
	mu  sync.Mutex
	to  io.Writer // nil when it is detached
	end []byte
}

// Write implements [io.Writer]. It never fails: nobody reads along is no reason for
// a package manager to end.
func (w *lastWords) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end = append(w.end, p...)
	w.end = w.end[max(0, len(w.end)-2000):]
	if w.to != nil {
		w.to.Write(p) // best effort
	}
	return len(p), nil
}

// detach ends the passing on.
func (w *lastWords) detach() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.to = nil
}

// last returns the last three lines, in one.
func (w *lastWords) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := strings.FieldsFunc(string(w.end), func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.ToValidUTF8(strings.Join(lines[max(0, len(lines)-3):], "; "), "")
}
