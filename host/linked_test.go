//go:build unix

package host_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
)

// Both names of a workspace work, that of the directory and that of a link to it: the model is told
// the one that commands find, tools take both, and every change is listed and comes back.
func TestWorkspaceBehindALink(t *testing.T) {
	p := newPlace(t, "")
	p.write("disk/ws/notes.md", "mine\n")
	link, real := p.path("link"), p.path("disk/ws")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	var script []string
	for i, dir := range []string{link, real} {
		script = append(script,
			fmt.Sprintf(`@call str_replace_editor {"command":"insert","path":"%s/notes.md","insert_line":0,"new_str":"edited %d"}`, dir, i),
			fmt.Sprintf(`@call file_saver {"file_path":"%s/saved%d","content":"x"}`, dir, i),
			fmt.Sprintf(`@call apply_patch {"input":"*** Begin Patch\n*** Add File: %s/patched%d\n+x\n*** End Patch"}`, dir, i),
			fmt.Sprintf(`@call glob {"pattern":"%s/*.md"}`, dir), fmt.Sprintf(`@call glob {"pattern":"*.md","path":"%s"}`, dir),
			fmt.Sprintf(`@call grep {"pattern":"mine","path":"%s"}`, dir),
			fmt.Sprintf(`@call read_document {"path":"%s/notes.md"}`, dir),
			fmt.Sprintf(`@call bash {"command":"cd %s && echo x > bash%d"}`, dir, i))
	}
	h, db, _ := p.open("sandbox=none", "workspace="+link)
	s := p.do(h, db, "s", p.spec(h, func(s *openmanus.Spec) { s.Model = p.script("both.txt", script...) }))
	if note := environment(h, s.Config.Workspace); !strings.Contains(note, "workspace: "+real+"\n") || !strings.Contains(note, "calls it "+link) {
		t.Errorf("the model is told %s", note)
	}
	listed := make(map[string]int)
	for ev, err := range db.Events(t.Context(), "s", 0) {
		if d, ok := ev.Body.(openmanus.CallDone); ok && err == nil {
			if d.IsError || d.Failed || strings.Contains(d.Parts.Text(), "no files") {
				t.Errorf("%s", d.Parts.Text())
			}
			for _, f := range d.Files {
				listed[f.Path]++
			}
		}
	}
	for name, times := range map[string]int{"notes.md": 2, "saved0": 1, "saved1": 1, "patched0": 1, "patched1": 1, "bash0": 1, "bash1": 1} {
		if listed[name] != times {
			t.Errorf("%s is listed %d times", name, listed[name])
		}
	}
	if _, err := h.GoBack(t.Context(), "s", act.Rewind{Last: true, Files: true}, nil); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(real); err != nil || len(left) != 1 || p.read("disk/ws/notes.md") != "mine\n" {
		t.Errorf("%v are left, %v", left, err)
	}
}
