package host_test

import (
	"os"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
)

const twoAtOnce = `-- 1 --
@when last contains Do it.
@call delegate {"agent": "swe", "task": "Write a."}
@call delegate {"agent": "swe", "task": "Write b."}
-- 1 --
@when last contains Write a.
@expect conversation contains copy of:
@call bash {"command": "echo by a > both; echo a > a; mkdir -p .vscode; echo x > .vscode/tasks.json; rm gone"}
-- 1 --
@when last contains Write b.
@call bash {"command": "echo by b > both; echo b > b; pwd"}
-- 2 --
@when last contains Files made or changed
Done.
-- 2 --
@when conversation contains Write a.
a is written.
-- 2 --
b is written.
`

// Two that work at once do not write into one another's files. Their changes
// are merged, a file that both made is there twice, and going back takes
// everything along, except for the person's changes.
func TestChildrenWorkInCopies(t *testing.T) {
	p := newPlace(t, twoAtOnce)
	p.write("ws/both", "before")
	p.write("ws/gone", "gone")
	h, db, _ := p.open("sandbox=none", "agent=manus", "copies=true")
	s := p.do(h, db, "s", p.spec(h, func(s *openmanus.Spec) { s.Delegates = []string{"swe"} }))
	if s.Status() != openmanus.Finished || !s.Config.Copies {
		t.Fatalf("it is %s: %+v", s.Status(), s.Outcome)
	}
	for _, id := range []string{"s.c0-1", "s.c0-2"} {
		c := p.load(db, id).Config
		if c.CopyOf != p.path("ws") || !strings.HasSuffix(c.Workspace, "beside-"+id[2:]+"/work") || !c.Copies {
			t.Errorf("%s works in %s", id, c.Workspace)
		}
	}
	files := p.files(p.path("ws"))
	if files != "a=a b=b both=by a both.c0-2=by b" && files != "a=a b=b both=by b both.c0-1=by a" {
		t.Errorf("there are %s", files)
	}
	var reports string
	for ev, err := range db.Events(t.Context(), "s", 0) {
		if d, ok := ev.Body.(openmanus.ChildDone); ok && err == nil {
			reports += d.Text
		}
	}
	for _, want := range []string{
		"both: it was changed meanwhile; the other version is in both.c0-",
		".vscode/tasks.json: other programs act on this file",
	} {
		if strings.Count(reports, want) != 1 {
			t.Errorf("the reports do not have %q once:\n%s", want, reports)
		}
	}

	p.write("ws/mine", "mine")
	if _, err := h.GoBack(t.Context(), "s", act.Rewind{To: 3, Files: true}, nil); err != nil {
		t.Fatal(err)
	}
	if files := p.files(p.path("ws")); files != "both=before gone=gone mine=mine" {
		t.Errorf("gone back, there are %s", files)
	}
	if err := h.Deleted("s"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p.path("data/attempts/s")); !os.IsNotExist(err) {
		t.Errorf("the copies of a session that was deleted are there: %v", err)
	}
}
