package host_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
)

// TestWhatWasSeenWhole: a file is replaced if its content was shown whole, by whichever
// tools, and not if a part of it was.
func TestWhatWasSeenWhole(t *testing.T) {
	var long strings.Builder
	for i := range 180 {
		fmt.Fprintf(&long, "line %d %s\n", i+1, strings.Repeat("x", 37))
	}
	const save = `@call file_saver {"file_path":"d/notes.md","content":"ours\n"}`
	view := func(from, to int) string {
		return fmt.Sprintf(`@call str_replace_editor {"command":"view","path":"d/notes.md","view_range":[%d,%d]}`, from, to)
	}
	bash := func(command string) string { return fmt.Sprintf(`@call bash {"command":%q}`, command) }
	p := newPlace(t, "")
	h, db, _ := p.open("sandbox=none")
	for i, c := range []struct {
		what, text string
		calls      []string
		says       string // the last result; "": the file is replaced
	}{
		{what: "nothing", text: long.String(), says: "has not seen what is in it"},
		{what: "cat", text: long.String(), calls: []string{bash("cat d/notes.md")}},
		{what: "cat -n", text: long.String(), calls: []string{bash("cat -n d/notes.md")}},
		{what: "cat of all", text: long.String(), calls: []string{bash("cd d && ls && cat *.md; echo done")}},
		{what: "later in the directory", text: long.String(), calls: []string{bash("cd d"), bash("cat ./notes.md")}},
		{what: "sed", text: long.String(), calls: []string{bash(`sed -n 'p' "d/notes.md"`)}},
		{what: "head", text: long.String(), calls: []string{bash("head -n 179 d/notes.md")}, says: "has not seen what is in it"},
		{what: "grep", text: "a\n" + long.String(), calls: []string{bash("grep a d/notes.md")}, says: "has not seen what is in it"},
		{what: "a part of the lines", text: long.String(), calls: []string{view(1, 179)}, says: "only a part"},
		{what: "two halves", text: long.String(), calls: []string{view(151, 180), view(1, 150)}},
		{what: "a long line cut", text: strings.Repeat("long ", 9000), calls: []string{`@call str_replace_editor {"command":"view","path":"d/notes.md"}`}, says: "only a part"},
		{what: "it comes with the refusal", text: "mine and short\n", says: "mine and short"},
		{what: "and then it was seen", text: "mine and short\n", calls: []string{save}},
		{what: "changed in between", text: "mine and short\n", calls: []string{bash("cat d/notes.md"), bash("echo more >> ./d/n*.md")}, says: "more"},
	} {
		for _, mode := range []string{openmanus.ApproveAll, openmanus.ApproveEdits} {
			if mode == openmanus.ApproveEdits && len(c.calls) > 0 && strings.Contains(c.calls[0], "bash") {
				continue // a person would be asked
			}
			id := fmt.Sprintf("%s%d", mode, i)
			p.write(id+"/ws/d/notes.md", c.text)
			p.do(h, db, id, p.spec(h, func(s *openmanus.Spec) {
				s.Approve, s.Workspace, s.Model = mode, p.path(id+"/ws"), p.script(id+"/s.txt", append(c.calls, save)...)
			}))
			said, now := results(t.Context(), db, id), p.read(id+"/ws/d/notes.md")
			if (c.says == "") != (now == "ours\n") || !strings.Contains(said[max(0, len(said)-700):], c.says) {
				t.Errorf("%s, %s: the file begins with %.20q\n%s", mode, c.what, now, said[max(0, len(said)-700):])
			}
		}
	}
}

// Where a person would be asked, nobody is about a file that was not seen: the refusal has
// what is in it, and the next call is asked about.
func TestRefusalBeforeAQuestion(t *testing.T) {
	const save = `@call file_saver {"file_path":"notes.md","content":"ours\n"}`
	p := newPlace(t, "")
	p.write("ws/notes.md", "mine\n")
	h, db, _ := p.open("sandbox=none")
	s := p.do(h, db, "s", p.spec(h, func(s *openmanus.Spec) { s.Approve, s.Model = openmanus.ApproveAsk, p.script("two.txt", save, save) }))
	if said := results(t.Context(), db, "s"); !strings.Contains(said, "This is in it now:\nmine") || s.Turn != 2 || len(s.Pending()) != 1 {
		t.Errorf("turn %d, %d questions:\n%s", s.Turn, len(s.Pending()), said)
	}
}

// TestEditsOfWhatAPersonChanged: an edit is made in what is there now, where it fits, and
// the model is told that the file is not as it was seen. Where it does not fit, or names a
// line, it is refused.
func TestEditsOfWhatAPersonChanged(t *testing.T) {
	const view = `@call str_replace_editor {"command":"view","path":"a.txt"}`
	p := newPlace(t, "")
	h, db, _ := p.open("sandbox=none")
	for i, c := range []struct{ what, now, call, want, says string }{
		{"str_replace", "new\none\ntwo\n", `str_replace_editor {"command":"str_replace","path":"a.txt","old_str":"two","new_str":"2"}`, "new\none\n2\n", "was changed since"},
		{"several", "new\none\ntwo\n", `str_replace_editor {"command":"str_replace","path":"a.txt","edits":[{"old_str":"one","new_str":"1"},{"old_str":"two","new_str":"2"}]}`, "new\n1\n2\n", "was changed since"},
		{"str_replace of what is gone", "new\none\n2\n", `str_replace_editor {"command":"str_replace","path":"a.txt","old_str":"two","new_str":"II"}`, "new\none\n2\n", "was changed since"},
		{"str_replace of what is there twice", "two\none\ntwo\n", `str_replace_editor {"command":"str_replace","path":"a.txt","old_str":"two","new_str":"II"}`, "two\none\ntwo\n", "was changed since"},
		{"insert", "new\none\ntwo\n", `str_replace_editor {"command":"insert","path":"a.txt","insert_line":1,"new_str":"x"}`, "new\none\ntwo\n", "This is in it now:\nnew\none"},
		{"insert at the top", "new\none\ntwo\n", `str_replace_editor {"command":"insert","path":"a.txt","insert_line":0,"new_str":"x"}`, "x\nnew\none\ntwo\n", "was changed since"},
		{"patch", "new\none\ntwo\n", `apply_patch {"input":"*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch"}`, "new\none\n2\n", "was changed since"},
		{"patch of what is gone", "new\none\n2\n", `apply_patch {"input":"*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+II\n*** End Patch"}`, "new\none\n2\n", "was changed since"},
		{"append", "new\none\ntwo\n", `file_saver {"file_path":"a.txt","content":"x\n","mode":"a"}`, "new\none\ntwo\nx\n", "was changed since"},
		{"nothing changed", "one\ntwo\n", `str_replace_editor {"command":"insert","path":"a.txt","insert_line":1,"new_str":"x"}`, "one\nx\ntwo\n", ""},
	} {
		id := fmt.Sprint(i)
		p.write(id+"/ws/a.txt", "one\ntwo\n")
		spec := p.spec(h, func(s *openmanus.Spec) {
			s.Workspace, s.Model = p.path(id+"/ws"), p.script(id+"/s.txt", view, "Seen.", "@call "+c.call, "Done.", "@call "+c.call)
		})
		p.do(h, db, id, spec)
		p.write(id+"/ws/a.txt", c.now)
		before := len(results(t.Context(), db, id))
		p.goOn(h, db, id, 2)
		said := results(t.Context(), db, id)[before:]
		if now := p.read(id + "/ws/a.txt"); now != c.want || !strings.Contains(said, c.says) || (c.says == "") == strings.Contains(said, "was changed since") {
			t.Errorf("%s: the file has %q\n%s", c.what, now, said)
		}
		before += len(said)
		p.goOn(h, db, id, 3)
		if said := results(t.Context(), db, id)[before:]; strings.Contains(said, "was changed since") && c.now != c.want {
			t.Errorf("%s: the session's own edit counts as somebody's:\n%s", c.what, said)
		}
	}
}
