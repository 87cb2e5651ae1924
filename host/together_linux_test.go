package host_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/store"
)

// goOn asks for the n-th thing in a session and drives it.
func (p *place) goOn(h *host.Host, db *store.DB, id string, n int) {
	p.t.Helper()
	if _, err := db.Append(p.t.Context(), id, *says(strconv.Itoa(n), "Go on.")); err != nil {
		p.t.Fatal(err)
	}
	p.wake(h, db, id)
}

// A person who works on one file all day, beside an agent that does so too, loses nothing:
// after each of 200 saves, every line that the person has saved is there.
func TestTwoHundredSaves(t *testing.T) {
	p := newPlace(t, "")
	file := p.path("ws/notes.md")
	var script []string
	for i := range 200 {
		script = append(script, []string{
			fmt.Sprintf(`@call file_saver {"file_path":"notes.md","content":"all of it by the agent %d\n"}`, i),
			fmt.Sprintf(`@call file_saver {"file_path":"notes.md","content":"appended %d\n","mode":"a"}`, i),
			fmt.Sprintf(`@call str_replace_editor {"command":"insert","path":"notes.md","insert_line":0,"new_str":"inserted %d\n"}`, i),
			`@call str_replace_editor {"command":"view","path":"notes.md"}`,
			fmt.Sprintf(`@call str_replace_editor {"command":"str_replace","path":"notes.md","old_str":"begin\n","new_str":"begin\nreplaced %d\n"}`, i),
			fmt.Sprintf(`@call apply_patch {"input":"*** Begin Patch\n*** Update File: notes.md\n@@\n begin\n+patched %d\n*** End Patch"}`, i),
			`@call apply_patch {"input":"*** Begin Patch\n*** Delete File: notes.md\n*** End Patch"}`,
		}[i%7], "Done.")
	}
	p.write("ws/notes.md", "begin\n")
	h, db, _ := p.open("sandbox=none")
	spec := p.spec(h, func(s *openmanus.Spec) { s.Model = p.script("day.txt", script...) })
	var saved []string
	for i := range 200 {
		line := fmt.Sprintf("the person's line %d", i)
		var both sync.WaitGroup
		both.Go(func() { // half of the people's editors write into the file, the others rename
			data, err := os.ReadFile(file)
			data = append(data, line+"\n"...)
			if i%2 == 0 {
				err = errors.Join(err, os.WriteFile(file+"~", data, 0o644), os.Rename(file+"~", file))
			} else {
				f, ferr := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
				if err = errors.Join(err, ferr); ferr == nil {
					_, werr := f.WriteString(line + "\n")
					err = errors.Join(err, werr, f.Close())
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
		if i%2 == 1 { // what is written into a file that is replaced at that moment goes with it
			both.Wait()
		}
		if saved = append(saved, line); i == 0 {
			p.do(h, db, "s", spec)
		} else {
			p.goOn(h, db, "s", i+1)
		}
		both.Wait()
		now := strings.Split(p.read("ws/notes.md"), "\n")
		for _, l := range saved {
			if !slices.Contains(now, l) {
				t.Fatalf("after save %d, %q is lost; the last results:\n%s", i, l, results(t.Context(), db, "s"))
			}
		}
	}
	said := results(t.Context(), db, "s")
	for what, least := range map[string]int{"was changed since this session last saw it": 20, "Success. Updated": 5, "has been edited": 20} {
		if n := strings.Count(said, what); n < least {
			t.Errorf("%q only %d times", what, n)
		}
	}
}

// step returns a random call of a session in a planted workspace.
func step(r *rand.Rand) string {
	names := []string{"t/file", "t/link", "t/linked", "dl/in", "t/hard", "other/hard", "t/readonly", "t/o d\u00e9", "t/attr", "t/new", "made/deep", "t/both"}
	name := func() string { return names[r.IntN(len(names))] }
	n := r.IntN(1000)
	switch r.IntN(7) {
	case 0:
		return fmt.Sprintf(`@call file_saver {"file_path":%q,"content":"ours %d\n"}`, name(), n)
	case 1:
		return fmt.Sprintf(`@call file_saver {"file_path":%q,"content":"ours %d\n","mode":"a"}`, name(), n)
	case 2:
		return fmt.Sprintf(`@call str_replace_editor {"command":"insert","path":%q,"insert_line":0,"new_str":"ours %d"}`, name(), n)
	case 3:
		return fmt.Sprintf(`@call str_replace_editor {"command":"view","path":%q}`, name())
	case 4:
		return fmt.Sprintf(`@call apply_patch {"input":"*** Begin Patch\n*** Delete File: %s\n*** End Patch"}`, name())
	}
	command := []string{
		`echo %d > '%s'`, `echo %d >> '%s'`, `: %d; rm -f '%s'`, `: %d; chmod 640 '%s'`, `sed -i s/mine/ours%d/ '%s'`, `: %d; mv '%s' t/moved`,
		`: %d; cp -a '%s' t/copied`, `: %d; ln -f '%s' t/twin`, `: %d; ln -sfn '%s' t/another`, `mkdir -p made/a%d && cp '%s' made/`, `: %d; rm -rf made '%s'`,
	}[r.IntN(11)]
	return fmt.Sprintf(`@call bash {"command":%q}`, fmt.Sprintf(command, n, name()))
}

// TestProgramsOfThree: tools, the shell and a person change files in turns, at random. When
// the session has gone back, everything of it is as it was, and what the person saved
// last is untouched. PROGRAMS says how many programs; SEED draws them.
func TestProgramsOfThree(t *testing.T) {
	programs := 8
	if n, err := strconv.Atoi(os.Getenv("PROGRAMS")); err == nil {
		programs = n
	}
	p := newPlace(t, "")
	h, db, _ := p.open("sandbox=none")
	for i := range programs {
		if p.program(h, db, fmt.Sprint("p", i), rand.New(rand.NewPCG(testbed.Seed(), uint64(i)))); t.Failed() {
			t.Fatalf("program %d of SEED=%d", i, testbed.Seed())
		}
	}
}

// program carries out one random program.
func (p *place) program(h *host.Host, db *store.DB, id string, r *rand.Rand) {
	t, dir := p.t, p.path(id+"/ws")
	plant(t, dir, p.path(id+"/outside"))
	p.write(id+"/ws/yours/a", "the person's")
	p.write(id+"/ws/t/both", "mine\n")
	before, far := lookAround(t, dir), lookAround(t, p.path(id+"/outside"))
	var script []string
	steps := 3 + r.IntN(6)
	for range steps {
		script = append(script, step(r), "Done.")
	}
	yours := make(map[string]sighting) // as the person left it
	person := func() {
		name := []string{"yours/a", "yours/b", "yours/c", "t/both"}[r.IntN(4)]
		text := fmt.Sprint("the person's ", r.IntN(1000))
		if name == "t/both" && r.IntN(3) > 0 {
			return
		}
		if _, err := os.Lstat(filepath.Dir(filepath.Join(dir, name))); err != nil {
			return // the session has removed it
		}
		p.write(id+"/ws/"+name, text)
		yours[name] = lookAround(t, dir)[name]
	}
	spec := p.spec(h, func(s *openmanus.Spec) { s.Workspace, s.Model = dir, p.script(id+"/s.txt", script...) })
	for i := range steps {
		was := lookAround(t, dir)
		if i == 0 {
			p.do(h, db, id, spec)
		} else {
			p.goOn(h, db, id, i+1)
		}
		for _, name := range differing(was, lookAround(t, dir)) {
			delete(yours, name) // the session was the last to change it
		}
		person()
	}
	to := p.load(db, id)
	first := int64(0)
	for ev, err := range db.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if _, said := ev.Body.(openmanus.UserSaid); said && first == 0 {
			first = ev.Seq
		}
	}
	if _, err := h.GoBack(t.Context(), id, act.Rewind{To: first, Files: true}, nil); err != nil {
		t.Fatalf("%v, after %d events", err, to.Seq)
	}
	after := lookAround(t, dir)
	for _, name := range differing(before, after) {
		if is, kept := yours[name]; kept {
			if is.File, is.Mode = after[name].File, after[name].Mode; is != after[name] {
				t.Errorf("the person's %s was %+v and is %+v", name, yours[name], after[name])
			}
			continue
		}
		if name != "t/both" && !strings.HasPrefix(name, "yours/") {
			t.Errorf("%s was %+v and is %+v\n%s", name, before[name], after[name], strings.Join(script, "\n"))
		}
	}
	for name, is := range yours {
		if after[name].Sum != is.Sum {
			t.Errorf("the person's %s is lost\n%s", name, strings.Join(script, "\n"))
		}
	}
	if len(differing(far, lookAround(t, p.path(id+"/outside")))) > 0 {
		t.Error("something outside changed")
	}
}
