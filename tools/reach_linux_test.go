package tools

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sys "golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

// A cage that starts nothing, and notes whether a command was to have a network.
type closedCage struct {
	network bool // all commands have one
	started []string
}

var errCaged = errors.New("in the cage")

func (c *closedCage) Name() string    { return "test" }
func (c *closedCage) Contained() bool { return !c.network }
func (c *closedCage) Close() error    { return nil }
func (c *closedCage) Start(s *workspace.Spawn) (workspace.Process, error) {
	how := "as usual"
	if s.Networked {
		how = "with the network"
	}
	c.started = append(c.started, how+" in "+filepath.Base(s.Dir))
	return nil, errCaged
}

func caged(t *testing.T, network bool) (*workspace.Dir, *closedCage) {
	dir := filepath.Join(t.TempDir(), "ws")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.NewDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	cage := &closedCage{network: network}
	ws.Cage = cage
	t.Cleanup(func() { ws.Close() })
	return ws, cage
}

func callOf(t *testing.T, tool openmanus.Tool, args map[string]any) openmanus.Call {
	input, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return openmanus.Call{Call: llm.Call{Name: tool.Spec().Name, Input: string(input)}, Session: "s"}
}

// The reach that a call asks for is in its hints, and is what it gets: the tools differ
// only in their names.
func TestReach(t *testing.T) {
	for _, c := range []struct {
		name    string
		network bool // commands have one already
		free    bool // there is no cage
		args    map[string]any
		reach   openmanus.Reach
		ran     string // in the cage; "": outside
	}{
		{name: "nothing", args: map[string]any{}, ran: "as usual in ws"},
		{name: "network", args: map[string]any{"network": true, "why": "x"}, reach: openmanus.ReachNetwork, ran: "with the network in ws"},
		{name: "outside", args: map[string]any{"outside_sandbox": true, "why": "x"}, reach: openmanus.ReachOutside},
		{name: "both", args: map[string]any{"outside_sandbox": true, "network": true, "why": "x"}, reach: openmanus.ReachOutside},
		{name: "the network is there", network: true, args: map[string]any{"network": true}, ran: "as usual in ws"},
		{name: "outside, from a network", network: true, args: map[string]any{"outside_sandbox": true, "why": "x"}, reach: openmanus.ReachOutside},
		{name: "no cage", free: true, args: map[string]any{"outside_sandbox": true, "network": true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, kind := range []string{"bash", "python"} {
				ws, cage := caged(t, c.network)
				if c.free {
					ws.Cage = nil
				}
				if kind == "python" && !testbed.Has(t, systemPython) {
					continue
				}
				var tool openmanus.Tool = maybePython(t, ws)
				c.args["code"] = "open('made', 'w')"
				delete(c.args, "command")
				if kind == "bash" {
					tool = newBash(t, ws)
					c.args["command"] = "touch made"
					delete(c.args, "code")
				}
				call := callOf(t, tool, c.args)
				h := tool.(openmanus.CallHinter).Hints(call)
				if h.Reach != c.reach || h.Sandboxed != (c.reach == "" && !c.network && !c.free) {
					t.Errorf("%s: hints %+v", kind, h)
				}
				shown, err := tool.(openmanus.Previewer).Preview(t.Context(), call)
				if err != nil || (shown != "") != (c.reach != "") {
					t.Errorf("%s: preview %q, %v", kind, shown, err)
				}
				res, err := runProc(t, tool, c.args, nil)
				_, made := os.Stat(filepath.Join(ws.Dir(), "made"))
				switch {
				case c.ran != "" && (len(cage.started) == 0 || cage.started[0] != c.ran || !errors.Is(err, errCaged)):
					t.Errorf("%s: started %q, %v", kind, cage.started, err)
				case c.ran == "" && (err != nil || made != nil || len(cage.started) > 0):
					t.Errorf("%s: started %q, %v, %v", kind, cage.started, err, made)
				case c.reach == openmanus.ReachOutside && !strings.Contains(res.Parts.Text(), "[ran outside the sandbox, in "+ws.Dir()):
					t.Errorf("%s: %s", kind, res.Parts.Text())
				}
			}
		})
	}
}

// A call that cannot run is refused before a person is asked.
func TestReachThatIsRefused(t *testing.T) {
	ws, _ := caged(t, false)
	for _, c := range []struct {
		tool openmanus.Tool
		args map[string]any
		want string
	}{
		{newBash(t, ws), map[string]any{"command": "x", "network": true}, "the argument why is missing"},
		{newBash(t, ws), map[string]any{"command": "x", "outside_sandbox": true, "why": " \n"}, "the argument why is missing"},
		{newBash(t, ws), map[string]any{"command": "x", "network": true, "why": "y", "restart": true}, "restart cannot be combined"},
		{newBash(t, ws), map[string]any{"network": true, "why": "y"}, "no command"},
		{maybePython(t, ws), map[string]any{"code": "x", "network": true}, "the argument why is missing"},
		{maybePython(t, ws), map[string]any{"code": "x", "network": true, "why": "y", "keep_state": true}, "keep_state cannot be combined"},
	} {
		_, err := c.tool.(openmanus.Previewer).Preview(t.Context(), callOf(t, c.tool, c.args))
		_, runErr := runProc(t, c.tool, c.args, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || runErr == nil || runErr.Error() != err.Error() {
			t.Errorf("%v: %v, and %v", c.args, err, runErr)
		}
	}
}

// A person is shown the whole command, and the model's reason as words that cannot
// pretend to be anything else. The rest of the session can be decided about only for
// one line with a network.
func TestReachIsShown(t *testing.T) {
	ws, _ := caged(t, false)
	tool := newBash(t, ws)
	long := strings.Repeat("x", 1000)
	for _, c := range []struct {
		args         map[string]any
		shown, scope string
	}{
		{
			map[string]any{"command": "npm ci", "network": true, "why": "for\nthe \u202etests \x1b[31m\""},
			"With the network, in WS.\nThe agent's reason: \"for the \\u202etests \\x1b[31m\\\"\"\nCommand:\nnpm ci",
			"npm ci, with the network",
		},
		{
			map[string]any{"command": "a\nb", "network": true, "why": long},
			"With the network, in WS.\nThe agent's reason: \"" + long[:399] + "…\"\nCommand:\na\nb", "",
		},
		{map[string]any{"command": long, "network": true, "why": "y"}, "With the network, in WS.\nThe agent's reason: \"y\"\nCommand:\n" + long, ""},
		{map[string]any{"command": "make", "outside_sandbox": true, "why": "y"}, "Outside the sandbox, in WS.\nThe agent's reason: \"y\"\nCommand:\nmake", ""},
	} {
		call := callOf(t, tool, c.args)
		shown, err := tool.Preview(t.Context(), call)
		if want := strings.Replace(c.shown, "WS", ws.Dir(), 1); err != nil || shown != want {
			t.Errorf("got %s, %v\nwant %s", shown, err, want)
		}
		if got, err := tool.Scope(t.Context(), call); err != nil || got != c.scope {
			t.Errorf("scope %q, %v, want %q", got, err, c.scope)
		}
	}
}

// The output of a command beyond the sandbox, its end, and the processes that it
// leaves. It has nothing of the shell of the session, and leaves it as it is.
func TestReachOutside(t *testing.T) {
	ws, _ := caged(t, false)
	tool := newBash(t, ws)
	ask := func(command string, more ...any) (openmanus.Result, error) {
		in := map[string]any{"command": command, "outside_sandbox": true, "why": "x"}
		for i := 0; i < len(more); i += 2 {
			in[more[i].(string)] = more[i+1]
		}
		return runProc(t, tool, in, nil)
	}
	res, err := ask("echo out; echo err >&2; pwd; exit 3")
	want := "out\nerr\n" + ws.Dir() + "\n[exit code 3]\n[ran outside the sandbox, in " + ws.Dir() + ", apart from the shell; nothing of it goes on running]"
	if err != nil || res.Parts.Text() != want {
		t.Errorf("got %q, %v\nwant %q", res.Parts.Text(), err, want)
	}
	if d := res.Detail.(BashDetail); d.ExitCode != 3 || d.Reach != openmanus.ReachOutside || d.Cwd != "" {
		t.Errorf("detail %+v", d)
	}
	// the job has ended when the call returns
	if _, err := ask("(setsid flock lock sleep 1000 &); while flock -n lock true; do :; done"); err != nil {
		t.Fatal(err)
	}
	if res, err := ask("flock -n lock echo gone"); err != nil || !strings.HasPrefix(res.Parts.Text(), "gone\n") {
		t.Errorf("%s, %v", res.Parts.Text(), err)
	}
	res, err = ask("echo begun; sleep 1000", "timeout", 0.2)
	if err == nil || !strings.HasPrefix(err.Error(), "timed out after 0.2 s") || strings.Contains(err.Error(), "background") || res.Parts.Text() != "begun" {
		t.Errorf("%q, %v", res.Parts.Text(), err)
	}
}

// A command outside the sandbox ends with this program, however that ends.
func TestReachOutsideIsHeld(t *testing.T) {
	dir := t.TempDir()
	home := exec.Command("bash", "-c", `setsid bash --noprofile --norc -c "$1" bash "${@:2}" & wait`, "bash", leashed,
		"bash", "-c", "exec 9>lock; flock 9; echo ready; sleep 1000; exit 3")
	home.Dir = dir
	out, err := home.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := home.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 6)
	if _, err := io.ReadFull(out, said); err != nil || string(said) != "ready\n" {
		t.Fatalf("%q, %v", said, err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := sys.Flock(int(lock.Fd()), sys.LOCK_EX|sys.LOCK_NB); err == nil {
		t.Fatal("the command does not run")
	}
	if err := home.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// Its result is that of a kill. The wait for the lock lasts until the command is dead.
	_ = home.Wait()
	for err = sys.EINTR; err == sys.EINTR; {
		err = sys.Flock(int(lock.Fd()), sys.LOCK_EX)
	}
	if err != nil {
		t.Error(err)
	}
}
