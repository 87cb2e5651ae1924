package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
