package attempts

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	testbed.Main(m)
}

// one parses an attempt and makes it without a sandbox.
func one(t *testing.T, text string) Result {
	t.Helper()
	all, err := parse("test.txtar", "class: test\n-- attempt: a --\ntries: to test\n"+text)
	if err != nil {
		t.Fatal(err)
	}
	return Run(t.Context(), sandbox.Options{Kind: sandbox.None}, all)[0]
}

// TestBreaches holds that whatever an attempt can reach is reported: without a
// sandbox each of these gets through.
func TestBreaches(t *testing.T) {
	testbed.Need(t, testbed.Python)
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "-- inside.sh --\ntrue\n", ""},
		{"it says so", "-- inside.sh --\necho REACHED the end\n", "REACHED the end"},
		{"it says so in Python", "-- inside.py --\nreached('the end')\n", "REACHED the end"},
		{"a secret", "-- inside.sh --\ncat $OUT/canary\n", "(the secret)"},
		{"a secret in a variable", "-- inside.sh --\nenv\n-- outside.py --\nsetenv('LC_TEST', CANARY)\ninside()\n", "(the secret)"},
		{"a new file outside", "-- inside.sh --\necho x > $OUT/new\n", "new outside"},
		{"a changed file outside", "-- inside.sh --\necho x > $OUT/canary\n", "canary outside"},
		{"a changed time outside", "-- inside.sh --\ntouch $OUT/canary\n", "canary outside"},
		{"a changed mode outside", "-- inside.sh --\nchmod 600 $OUT/canary\n", "canary outside"},
		{"no directory outside", "-- inside.sh --\nrm -r $OUT\n", "is gone"},
		{"a changed file", "-- ws/d/f --\nold\n-- inside.sh --\necho new > d/f\n", `d/f is now "new\n"`},
		{"a changed file that is free", "free: d/f\n-- ws/d/f --\nold\n-- inside.sh --\necho new > d/f\n", ""},
		{"an evil file", "clear: d\n-- inside.sh --\nmkdir d\necho EVIL > d/f\n", "it left d/f"},
		{"a harmless file", "clear: d\n-- inside.sh --\nmkdir d\necho good > d/f\n", ""},
		{"an evil file elsewhere", "clear: d\n-- inside.sh --\necho EVIL > f\n", ""},
		{"a link", "clear: d\n-- inside.sh --\nln -s . d\n", "it left d"},
		{"outside finds it", "-- outside.py --\nreached('a', 1)\n", "a 1"},
		{"a file tool reads", "-- outside.py --\nos.link(OUT+'/canary', WS+'/f')\nread('f')\n", "(the secret)"},
		{"a dead process", "-- inside.sh --\nkill $PID\n-- outside.py --\np = Process()\ninside(PID=p.pid)\np.check()\n", "a process outside"},
		{"a listener", "-- inside.py --\nsocket.create_connection(('127.0.0.1', os.environ['PORT']))\n-- outside.py --\n" +
			"l = Listener(socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', 0))\ninside(PORT=l.address[1])\nl.check()\n", "reached a listener"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := one(t, test.text)
			switch {
			case r.Fault != nil:
				t.Fatalf("it could not be made: %v", r.Fault)
			case test.want == "" && r.Breach != nil:
				t.Errorf("it is a breach: %v", r.Breach)
			case test.want != "" && (r.Breach == nil || !strings.Contains(r.Breach.Error(), test.want)):
				t.Errorf("the breach is %v, want %q", r.Breach, test.want)
			}
		})
	}
}

// TestNobodyCommits holds that attempts can commit, inside and outside, where the person
// has no name in git.
func TestNobodyCommits(t *testing.T) {
	testbed.Need(t, testbed.Python)
	t.Setenv("HOME", t.TempDir())
	const commit = "git init -q repo && cd repo && git commit -q --allow-empty -m x && "
	for _, text := range []string{
		"-- inside.sh --\n" + commit + "echo REACHED a commit\n",
		"-- outside.py --\nif subprocess.run('cd ' + WS + ' && " + commit + "true', shell=True).returncode == 0:\n    reached('a commit')\n",
	} {
		if r := one(t, text); r.Fault != nil || r.Breach == nil {
			t.Errorf("%s: breach %v, fault %v", text, r.Breach, r.Fault)
		}
	}
}

// TestBrokenScripts holds that a script that does not do its work is a fault,
// and never counts as held.
func TestBrokenScripts(t *testing.T) {
	testbed.Need(t, testbed.Python)
	for _, test := range []struct{ name, text, want string }{
		{"shell syntax", "-- inside.sh --\nif\n", "Syntax error"},
		{"it ends early", "-- inside.sh --\nexit 0\n", "could not be made"},
		{"Python syntax", "-- inside.py --\nif\n", "SyntaxError"},
		{"an exception", "-- inside.py --\nnot_defined\n", "NameError"},
		{"Python syntax outside", "-- outside.py --\nif\n", "SyntaxError"},
		{"an exception outside", "-- outside.py --\nnot_defined\n", "NameError"},
		{"inside fails", "-- inside.sh --\nexit 0\n-- outside.py --\ninside()\n", "could not be made"},
		{"no such option", "-- outside.py --\nsandbox(color='red')\n", "color"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if r := one(t, test.text); r.Held() || r.Breach != nil || !strings.Contains(r.Fault.Error(), test.want) {
				t.Errorf("breach %v, fault %v, want the fault %q", r.Breach, r.Fault, test.want)
			}
		})
	}
	// A refusal by the sandbox is none.
	if r := one(t, "-- inside.py --\nopen('/no/such/file')\n"); !r.Held() {
		t.Errorf("breach %v, fault %v", r.Breach, r.Fault)
	}
}

func TestParseRefuses(t *testing.T) {
	const head = "class: c\n-- attempt: a --\ntries: to test\n"
	for text, want := range map[string]string{
		"":                         "the first line must be",
		"# a comment\nclass: c\n":  "the first line must be",
		"class: c\n-- script --\n": `section "script": unknown section`,
		head + "color: red\n-- inside.sh --\ntrue\n":            `unknown field "color"`,
		head + "-- inside.js --\n1\n":                           `section "inside.js": unknown section`,
		head + "-- inside.sh --\ntrue\n-- inside.sh --\ntrue\n": "has it already",
		head: `attempt "a" needs`,
		"class: c\n-- attempt: a --\n-- inside.sh --\ntrue\n": `attempt "a" needs`,
	} {
		if _, err := parse("f.txtar", text); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "f.txtar: ") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestShared holds that sections before the first attempt belong to each.
func TestShared(t *testing.T) {
	all, err := parse("f.txtar", `class: c
-- ws/f --
text
-- inside.py --
x = 1
-- attempt: a --
tries: to test
clear: f g
-- inside.py --
print(x)
-- attempt: b --
tries: to test
free: f
-- ws/g --
-- inside.sh --
true
`)
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	a, b := all[0], all[1]
	if len(a.files) != 1 || len(b.files) != 2 || a.Class != "c" || b.Name != "b" || len(a.clear) != 2 || len(b.free) != 1 {
		t.Errorf("%+v\n%+v", a, b)
	}
	if got := a.command(); got[len(got)-1] != "x = 1\nprint(x)\n" {
		t.Errorf("the command is %q", got)
	}
}

// TestAll holds that names are unique and that nothing was lost.
func TestAll(t *testing.T) {
	const least = 157
	all := All()
	if len(all) < least {
		t.Errorf("there are %d attempts, want %d", len(all), least)
	}
	page, err := os.ReadFile("../../docs/sandbox.md")
	if want := fmt.Sprintf("<!-- attempts: begin -->%d<!-- attempts: end -->", len(all)); err != nil || !strings.Contains(string(page), want) {
		t.Errorf("docs/sandbox.md does not say that there are %d attempts: %v", len(all), err)
	}
	seen := make(map[string]bool)
	for _, a := range all {
		if seen[a.Name] || !strings.HasPrefix(a.Tries, "to ") {
			t.Errorf("%s: the name is there twice, or what it tries does not begin with \"to\": %q", a.Name, a.Tries)
		}
		seen[a.Name] = true
	}
}
