package host_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

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
		g := p.program(fmt.Sprint("p", i), testbed.Seed(), uint64(i))
		g.plant()
		release := h.Hold(g.id, p.path(g.id+"/ws")) // else each leaves a shell, and descriptors, of which there are no 10,000
		yours := make(map[string]string)
		g.run(h, db, func(name, text string) {
			p.write(g.id+"/ws/"+name, text) // in place
			all := lookAround(t, p.path(g.id+"/ws"))
			for other, is := range all {
				if is.File == all[name].File && is.Mode.IsRegular() {
					yours[other] = "" // a name that the session gave it, and which has the text too
				}
			}
			yours[name] = text
		})
		if g.goBack(h, db, yours); t.Failed() {
			t.Fatalf("program %d of SEED=%d:\n%s", i, testbed.Seed(), strings.Join(g.script, "\n"))
		}
		if err := errors.Join(release(), os.RemoveAll(p.path(g.id))); err != nil {
			t.Fatal(err)
		}
	}
}

// A program is a random one of tools, the shell and a person, in a tree of its own.
type program struct {
	*place
	id          string
	script      []string
	r           *rand.Rand
	before, far map[string]sighting
}

// program returns the program that two numbers draw.
func (p *place) program(id string, seed, n uint64) *program {
	g := &program{place: p, id: id, r: rand.New(rand.NewPCG(seed, n))}
	for range 3 + g.r.IntN(6) {
		g.script = append(g.script, step(g.r), "Done.")
	}
	return g
}

// plant makes the tree.
func (g *program) plant() {
	plant(g.t, g.path(g.id+"/ws"), g.path(g.id+"/outside"))
	g.write(g.id+"/ws/yours/a", "the person's")
	g.write(g.id+"/ws/t/both", "mine\n")
	g.before, g.far = lookAround(g.t, g.path(g.id+"/ws")), lookAround(g.t, g.path(g.id+"/outside"))
}

// run carries out the program. save is called with what the person saves.
func (g *program) run(h *host.Host, db *store.DB, save func(name, text string)) {
	dir := g.path(g.id + "/ws")
	spec := g.spec(h, func(s *openmanus.Spec) { s.Workspace, s.Model = dir, g.place.script(g.id+"/s.txt", g.script...) })
	for i := range len(g.script) / 2 {
		if i == 0 {
			g.do(h, db, g.id, spec)
		} else {
			g.goOn(h, db, g.id, i+1)
		}
		name, text := []string{"yours/a", "yours/b", "yours/c", "t/both"}[g.r.IntN(4)], fmt.Sprintf("the person's %d\n", g.r.IntN(1000))
		if name != "t/both" || g.r.IntN(3) == 0 {
			save(name, text)
		}
	}
}

// begun returns the event of the first message, and the last one. They are 0 if the session
// was not opened.
func (g *program) begun(db *store.DB) (first, last int64) {
	for ev, err := range db.Events(g.t.Context(), g.id, 0) {
		if err != nil && !errors.Is(err, openmanus.ErrNoSession) {
			g.t.Fatal(err)
		}
		if _, said := ev.Body.(openmanus.UserSaid); said && first == 0 {
			first = ev.Seq
		}
		last = ev.Seq
	}
	return first, last
}

// told returns the results of the calls, and what was recorded of the workspace around them.
func (g *program) told(db *store.DB) string {
	var b strings.Builder
	for ev := range db.Events(g.t.Context(), g.id, 0) {
		switch e := ev.Body.(type) {
		case openmanus.Snapped, openmanus.Rewound:
			fmt.Fprintf(&b, "%d %s %+v\n", ev.Seq, ev.Time.Format(time.StampMicro), e)
		case openmanus.CallDone:
			fmt.Fprintf(&b, "%d %s %q %+v %+v\n", ev.Seq, ev.Time.Format(time.StampMicro), e.Parts.Text(), e.Files, e.Meanwhile)
		}
	}
	return b.String()
}

// goBack takes the session back to its beginning, and checks that the tree is as it was but
// for what the person saved.
func (g *program) goBack(h *host.Host, db *store.DB, yours map[string]string) {
	t := g.t
	if first, last := g.begun(db); last > first {
		did, err := h.GoBack(t.Context(), g.id, act.Rewind{To: first, Files: true}, nil)
		if err != nil {
			t.Errorf("%v, after %d events", err, last)
		}
		defer func() {
			if t.Failed() {
				t.Logf("kept: %+v\n%s", did.Kept, g.told(db))
			}
		}()
	}
	after := lookAround(t, g.path(g.id+"/ws"))
	for _, name := range differing(g.before, after) {
		if _, saved := yours[name]; !saved {
			t.Errorf("%s was %+v and is %+v", name, g.before[name], after[name])
		}
	}
	for name, is := range after {
		if _, was := g.before[name]; !was && is.Mode.IsDir() {
			t.Errorf("the directory %s is left", name)
		}
	}
	for name, text := range yours {
		if text == "" {
			continue
		}
		if now := g.read(g.id + "/ws/" + name); !strings.Contains(now, text) || now != text && strings.HasPrefix(name, "yours/") {
			t.Errorf("the person's %s was %q and is %q", name, text, now)
		}
	}
	if names := differing(g.far, lookAround(t, g.path(g.id+"/outside"))); len(names) > 0 {
		t.Errorf("%q outside changed", names)
	}
}
