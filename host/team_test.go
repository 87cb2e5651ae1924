package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/host"
)

// A pipe in place of an agent or a skill is a problem that is reported. Reading
// the team does not wait for the pipe's other end.
func TestTeamWithPipes(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"agents/clerk.md", "skills/taxes/SKILL.md"} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), mkfifo(name)); err != nil {
			t.Fatal(err)
		}
	}
	team := host.Env{}.ReadTeam(dir, nil)
	if len(team.Kinds)+len(team.Skills) != 0 {
		t.Errorf("read %v and %v", team.Kinds, team.Skills)
	}
	for _, want := range []string{"clerk.md", "SKILL.md"} {
		if text := errors.Join(team.Problems...).Error(); !strings.Contains(text, want) {
			t.Errorf("the problems do not name %s: %s", want, text)
		}
	}
}

// A file of the user's takes the place of a built-in agent's instructions; one of a
// workspace does not, and is named.
func TestTheUserReplacesBuiltInAgents(t *testing.T) {
	user, ws := t.TempDir(), t.TempDir()
	for _, name := range []string{"openmanus/agents/manus.md", "openmanus/agents/untrusted_reader.md", "ws/agents/swe.md"} {
		dir := user
		if rest, ok := strings.CutPrefix(name, "ws/"); ok {
			dir, name = ws, rest
		}
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte("Be quick."), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	e := host.Env{Lookup: func(name string) (string, bool) { return user, name == "XDG_CONFIG_HOME" }}
	team := e.ReadTeam(ws, agents.Kinds())
	if k, _ := team.Find("manus"); k.File == nil || len(k.Rare) == 0 || team.Names()[0] != "manus" {
		t.Errorf("manus is %+v of %v", k, team.Names())
	}
	for _, name := range []string{"swe", "untrusted_reader"} {
		if k, ok := team.Find(name); !ok || k.File != nil {
			t.Errorf("%s was replaced", name)
		}
		if text := errors.Join(team.Problems...).Error(); !strings.Contains(text, `another agent "`+name+`"`) {
			t.Errorf("the problems do not name %s: %s", name, text)
		}
	}
}
