package host_test

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/host/served"
)

func (p *place) read(name string) string {
	p.t.Helper()
	data, err := os.ReadFile(p.path(name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

// A server shows what a session did to its files, and takes it back and forward.
func TestRewindOfAServer(t *testing.T) {
	p := newPlace(t, `
-- 1 --
@call bash {"command": "echo changed > a.txt; echo new > b.txt"}
-- 2 --
Done.
`)
	p.write("ws/a.txt", "mine\n")
	h, db, _ := p.open("agent=manus", "sandbox=none", "approve=all")
	p.do(h, db, "s", p.spec(h, nil))
	s := served.Host{Host: h}
	ctx := t.Context()
	plan, err := s.Rewind(ctx, "s", act.Rewind{Last: true, Files: true, Talk: true, Plan: true})
	if err != nil || len(plan.Changes) != 2 || len(plan.Messages) != 1 || len(plan.Outside) != 1 {
		t.Fatalf("the plan is %+v, %v", plan, err)
	}
	if got := p.read("ws/a.txt"); got != "changed\n" {
		t.Fatalf("a plan changed the file: %q", got)
	}
	if _, err := s.Rewind(ctx, "s", act.Rewind{Last: true, Files: true, Talk: true, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	if got := p.read("ws/a.txt"); got != "mine\n" {
		t.Errorf("a.txt is %q", got)
	}
	before := p.load(db, "s").Seq
	wrong := new(act.Error)
	if _, err := s.Rewind(ctx, "s", act.Rewind{Last: true, Files: true, Talk: true}); !errors.As(err, &wrong) {
		t.Errorf("a second time: %v", err)
	}
	diffs, err := s.Diff(ctx, "s", 0, plan.To+1)
	if err != nil || len(diffs) != 0 {
		t.Errorf("before the call there is %+v, %v", diffs, err)
	}
	diffs, err = s.Diff(ctx, "s", plan.To, before-2)
	if err != nil || len(diffs) != 2 || diffs[0].Diff != "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-mine\n+changed\n" || diffs[1].Change != openmanus.FileCreated {
		t.Errorf("the call changed %+v, %v", diffs, err)
	}
	var b bytes.Buffer
	if err := s.WritePast(ctx, &b, "s", before-2, "a.txt"); err != nil || b.String() != "changed\n" {
		t.Errorf("a.txt was %q, %v", &b, err)
	}
	files, err := s.Past(ctx, "s", plan.To, ".")
	if err != nil || len(files) != 1 || files[0].Path != "a.txt" || files[0].Kind != "file" || files[0].Bytes != 5 {
		t.Errorf("there was %+v, %v", files, err)
	}
	if _, err := s.Rewind(ctx, "s", act.Rewind{Redo: true}); err != nil || p.read("ws/b.txt") != "new\n" {
		t.Errorf("redo: %v, b.txt is %q", err, p.read("ws/b.txt"))
	}
}
