package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/host"
)

// An agent can put a link where a person's file was. A name below the directory attaches
// nothing from elsewhere, by whichever link. Files that the person names elsewhere, and
// links that stay inside, are read.
func TestMessageAttachesNothingFromElsewhere(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "project")
	for name, text := range map[string]string{"private/key": "SECRET", "private/deep/key": "SECRET", "project/notes.txt": "hello"} {
		name = filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"project/out.txt": filepath.Join(top, "private/key"), "project/up.txt": "../private/key", "project/hop.txt": "out.txt",
		"project/away": filepath.Join(top, "private"), "project/in.txt": filepath.Join(dir, "notes.txt"), "project/beside.txt": "notes.txt",
		"short": dir,
	} {
		if err := os.Symlink(to, filepath.Join(top, name)); err != nil {
			t.Skip("this system lets no links be made:", err)
		}
	}
	for _, in := range []string{dir, filepath.Join(top, "short")} {
		for name, want := range map[string]string{
			"out.txt": "outside of", "up.txt": "outside of", "hop.txt": "outside of", "away/key": "outside of", "away/deep/key": "outside of",
			filepath.Join(in, "out.txt"): "outside of", filepath.Join(dir, "hop.txt"): "outside of", filepath.Join(dir, "away", "key"): "outside of", "in.txt": "", "beside.txt": "", "notes.txt": "", filepath.Join(in, "in.txt"): "",
			filepath.Join(top, "private", "key"): "", filepath.Join(top, "project", "notes.txt"): "", ".": "it is not a file", "gone": "no such file",
		} {
			m, err := host.Message(in, "read it", []string{name})
			switch {
			case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%s in %s: %v, want %q; the model reads %q", name, in, err, want, m.Message.Text())
			case want == "" && err != nil:
				t.Errorf("%s in %s: %v", name, in, err)
			case want == "outside of" && strings.Contains(m.Message.Text(), "SECRET"):
				t.Errorf("%s in %s: the model reads what is elsewhere", name, in)
			}
		}
	}
}
