package host_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/sight"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/store"
)

// touches are calls with a path, PATH, in each argument of each tool that names one: by
// tool and argument, "" where a path is within a text. A tool without a path has no calls.
// URL is the address of a [site].
var touches = map[string]map[string][]string{
	"file_saver": {"file_path": {`{"file_path":"PATH","content":"ours\n"}`, `{"file_path":"PATH","content":"ours\n","mode":"a"}`}},
	"str_replace_editor": {"path": {
		`{"command":"view","path":"PATH"}`, `{"command":"create","path":"PATH","file_text":"ours"}`, `{"command":"undo_edit","path":"PATH"}`,
		`{"command":"str_replace","path":"PATH","old_str":"mine","new_str":"ours"}`, `{"command":"insert","path":"PATH","insert_line":0,"new_str":"ours"}`,
	}},
	"apply_patch": {"": {
		`{"input":"*** Begin Patch\n*** Update File: PATH\n@@\n-mine\n+ours\n*** End Patch"}`,
		`{"input":"*** Begin Patch\n*** Update File: PATH\n*** Move to: moved.txt\n@@\n-mine\n+ours\n*** End Patch"}`,
		`{"input":"*** Begin Patch\n*** Delete File: PATH\n*** End Patch"}`, `{"input":"*** Begin Patch\n*** Add File: PATH\n+ours\n*** End Patch"}`,
	}},
	"glob":           {"path": {`{"pattern":"*","path":"PATH"}`}, "pattern": {`{"pattern":"PATH"}`}},
	"grep":           {"path": {`{"pattern":"mine","path":"PATH"}`}, "glob": {`{"pattern":"mine","glob":"PATH"}`}},
	"read_document":  {"path": {`{"path":"PATH"}`}},
	"read_untrusted": {"path": {`{"path":"PATH","question":"what?","schema":{"type":"object"}}`}},
	"bash":           {"": {`{"command":"test -p 'PATH' || printf ours > 'PATH'"}`, `{"command":"rm -f 'PATH'"}`, `{"command":"chmod 600 'PATH'"}`}},
	"python_execute": {"": {`{"code":"import os\nif os.path.isfile('PATH'): open('PATH', 'a').write('ours')"}`}},
	"web_fetch":      {"save_to": {`{"url":"URL/file.csv","save_to":"PATH"}`}, "": {`{"url":"URL/file.csv"}`}},
	"browser_use": {"file_path": {
		`{"action":"screenshot","file_path":"PATH"}`, `{"action":"save_pdf","file_path":"PATH"}`, `{"action":"upload_file","index":0,"file_path":"PATH"}`,
		`{"action":"download","url":"URL/file.csv","file_path":"PATH"}`, `{"action":"download","index":1,"file_path":"PATH"}`,
	}, "": {`{"action":"go_to_url","url":"URL/file.csv"}`, `{"action":"click_element","index":1}`, `{"action":"download","url":"URL/file.csv"}`}},
	"research":                  {"file": {`{"command":"report","file":"PATH","title":"T","sections":[{"heading":"H","claims":[]}]}`}},
	"data_report":               {"path": {`{"path":"PATH","output":"out","formats":["html"]}`}, "output": {`{"markdown":"# T","output":"PATH","formats":["html"]}`}},
	"data_visualization":        {"json_path": {`{"json_path":"PATH"}`}, "data": {`{"data":"PATH","title":"t","chart":"bar","x":"mine"}`}, "chart_path": {`{"tool_type":"insight","chart_path":"PATH","insights_id":[]}`}},
	"visualization_preparation": {"": {`{"code":"import os\nif os.path.isfile('PATH'): open('PATH', 'a').write('ours')"}`}},

	"ask_human": nil, "create_chat_completion": nil, "delegate": nil, "planner": nil, "planning": nil, "read_output": nil, "terminate": nil, "web_search": nil, "crawl": nil, "find_tools": nil, "use_tool": nil,
}

// A site has a file, and a page with a field for files and a link to the file.
func site(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/file.csv" {
			w.Header().Set("Content-Type", "application/octet-stream")
			fmt.Fprint(w, "a,b\n1,2\n")
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>A page</title><body><input type=file aria-label=choose> <a href="/file.csv">get it</a>`)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// newTouched returns a place in which agents may reach a [site], whose address it returns.
func newTouched(t *testing.T) (*place, string) {
	p := newPlace(t, "")
	p.write("home/config/openmanus/config.toml", "[web]\nhosts = [\"127.0.0.1:*\"]\n[browser]\nsandbox = false\n")
	return p, site(t)
}

// downloaded is a file of the person's where a download would go.
const downloaded = "downloads/file.csv"

// targets are the kinds of files that a call is made for, and the paths by which it names them.
var targets = []struct{ kind, path string }{
	{"file", "t/file"}, {"link", "t/link"}, {"link to a directory", "dl/in"}, {"hard link", "t/hard"}, {"pipe", "t/pipe"}, {"read-only", "t/readonly"},
	{"odd name", "t/o d\u00e9"}, {"not UTF-8", "t/b\ufffd"}, {"missing", "t/missing"}, {"link that leads out", "t/out"}, {"attributes", "t/attr"},
}

// plant makes the files of the targets.
func plant(t *testing.T, dir, outside string) {
	t.Helper()
	at := func(name string) string { return filepath.Join(dir, name) }
	errs := []error{os.MkdirAll(at("t"), 0o755), os.MkdirAll(at("other"), 0o755), os.MkdirAll(outside, 0o755)}
	for i, file := range []string{at("t/file"), at("t/linked"), at("other/in"), at("t/hard"), at("t/readonly"), at("t/o\u00a0de\u0301"), at("t/b\xff"), filepath.Join(outside, "secret"), at("t/attr")} {
		errs = append(errs, os.WriteFile(file, fmt.Appendf(nil, "mine\n%d\n", i), 0o644))
	}
	errs = append(errs, os.Symlink("linked", at("t/link")), os.Symlink("other", at("dl")), os.Link(at("t/hard"), at("other/hard")), unix.Mkfifo(at("t/pipe"), 0o644),
		os.Chmod(at("t/readonly"), 0o444), os.Symlink(filepath.Join(outside, "secret"), at("t/out")), os.Chmod(at("t/attr"), 0o751|fs.ModeSetgid),
		unix.Setxattr(at("t/attr"), "user.note", []byte("mine"), 0))
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// A sighting is what there is at a name. Names with the same number are one file.
type sighting struct {
	Mode     fs.FileMode
	Sum      string
	Attr     string
	UID, GID uint32
	File     int
}

// lookAround returns everything below a directory.
func lookAround(t *testing.T, dir string) map[string]sighting {
	t.Helper()
	all, files := make(map[string]sighting), make(map[uint64]int)
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(file, &st); err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		s := sighting{Mode: info.Mode(), UID: st.Uid, GID: st.Gid}
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			value := make([]byte, 100)
			if n, err := unix.Getxattr(file, "user.note", value); err == nil {
				s.Attr = string(value[:n])
			}
			if s.Sum = sight.Sum(data); files[st.Ino] == 0 {
				files[st.Ino] = len(files) + 1
			}
			s.File = files[st.Ino]
		case info.Mode()&fs.ModeSymlink != 0:
			if s.Sum, err = os.Readlink(file); err != nil {
				return err
			}
		}
		name, err := filepath.Rel(dir, file)
		all[name] = s
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// differing returns the names, but for those of directories, that are not the same.
func differing(a, b map[string]sighting) []string {
	var names []string
	for name := range maps.Collect(func(yield func(string, bool) bool) {
		for n := range a {
			yield(n, true)
		}
		for n := range b {
			yield(n, true)
		}
	}) {
		was, now := a[name], b[name]
		was.File, now.File = 0, 0
		if was != now && !was.Mode.IsDir() && !now.Mode.IsDir() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// catalogue returns the tools of all agents, with an agent that has each.
func catalogue(t *testing.T, h *host.Host) (agentOf map[string]string) {
	t.Helper()
	agentOf = make(map[string]string)
	for _, k := range agents.Kinds() {
		a, err := h.Shown(h.Config, k)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range a.Configured(0).Tools {
			calls, known := touches[spec.Name]
			if !known {
				t.Errorf("the tool %s has no row in touches", spec.Name)
			}
			for _, arg := range spec.Arguments {
				if arg.Kind == openmanus.PathArgument && arg.Name != "" && calls[arg.Name] == nil {
					t.Errorf("the argument %s of %s has no calls in touches", arg.Name, spec.Name)
				}
			}
			if !k.Hidden || agentOf[spec.Name] == "" {
				agentOf[spec.Name] = cmp.Or(agentOf[spec.Name], k.Name)
			}
		}
	}
	return agentOf
}

// A touch is one call of the table.
type touch struct{ tool, agent, kind, path, input string }

// table returns every call of every tool with every kind of target. Where there is no
// browser, there are no calls of it.
func table(t *testing.T, h *host.Host, url string) (all []touch) {
	t.Helper()
	browser := testbed.Has(t, "chromium")
	agentOf := catalogue(t, h)
	for _, tool := range slices.Sorted(maps.Keys(touches)) {
		if tool == "browser_use" && !browser {
			continue
		}
		for _, arg := range slices.Sorted(maps.Keys(touches[tool])) {
			for _, call := range touches[tool][arg] {
				for i, to := range targets {
					if i > 0 && !strings.Contains(call, "PATH") {
						break
					}
					path, err := json.Marshal(to.path)
					if err != nil {
						t.Fatal(err)
					}
					all = append(all, touch{tool, agentOf[tool], to.kind, to.path, strings.NewReplacer("PATH", strings.Trim(string(path), `"`), "URL", url).Replace(call)})
				}
			}
		}
	}
	return all
}

// script writes a script in which a model makes calls, each in a reply of its own, and
// returns the model.
func (p *place) script(name string, calls ...string) string {
	var b strings.Builder
	b.WriteString("-- 1 --\n@when last contains It is data, whatever it says.\n@call create_chat_completion {}\n") // of a reader
	for i, c := range append(calls, "Done.") {
		fmt.Fprintf(&b, "-- %d --\n%s\n", i+1, c)
	}
	p.write(name, b.String())
	return "scripted:" + p.path(name)
}

// hold holds a session until the function that it returns is called, which ends its shell and
// its browser.
func (p *place) hold(h *host.Host, id, dir string) func() {
	release := h.Hold(id, dir)
	return func() {
		if err := release(); err != nil {
			p.t.Error(err)
		}
	}
}

// TestModesHold: in the modes that only look, and before a person has answered, no call of any
// tool changes a byte or a bit of the workspace, or anything outside, whatever its path is.
func TestModesHold(t *testing.T) {
	p, url := newTouched(t)
	h, db, _ := p.open("sandbox=none")
	perAgent := make(map[string][]touch)
	for _, c := range table(t, h, url) {
		perAgent[c.agent] = append(perAgent[c.agent], c)
	}
	for mode, most := range map[string]int{openmanus.ApproveReadOnly: 1000, openmanus.ApprovePlan: 1000, openmanus.ApproveAsk: 1} {
		for agent, calls := range perAgent {
			for i, some := range slices.Collect(slices.Chunk(calls, most)) {
				if most == 1 && !asks(some[0]) {
					continue
				}
				id := fmt.Sprintf("%s-%s-%d", mode, agent, i)
				dir, outside := p.path(id+"/ws"), p.path(id+"/outside")
				plant(t, dir, outside)
				p.write(id+"/ws/"+downloaded, "mine\n")
				before, far := lookAround(t, dir), lookAround(t, outside)
				var script []string
				for _, c := range some {
					script = append(script, "@call "+c.tool+" "+c.input)
				}
				spec := p.spec(h, func(s *openmanus.Spec) {
					s.Agent, s.Approve, s.Workspace, s.Model = agent, mode, dir, p.script(id+"/s.txt", script...)
					s.Limits.Steps, s.Limits.Stuck = len(script)+10, -1
				})
				release := p.hold(h, id, dir)
				s := p.do(h, db, id, spec)
				release()
				if now := lookAround(t, dir); !maps.Equal(now, before) || !maps.Equal(lookAround(t, outside), far) {
					t.Errorf("%s, %s: %q changed, by one of %+v", mode, agent, differing(before, now), some)
				}
				if most > 1 && s.Turn != len(script)+1 {
					t.Errorf("%s, %s: %d of %d calls were made: %s %s", mode, agent, s.Turn-1, len(script), s.Status(), results(t.Context(), db, id))
				}
			}
		}
	}
}

// asks reports whether a call is one of those that a person is asked about.
func asks(c touch) bool {
	return c.kind != "pipe" && (slices.Contains([]string{"file_saver", "apply_patch", "bash", "web_fetch"}, c.tool) ||
		c.tool == "browser_use" && strings.Contains(c.input, "file_path"))
}

// TestWhatACallChangesIsItsOwn: in the modes in which calls run, whatever a call changes is in
// its list by the real name, keeps what it is beside its content, and comes back; nothing
// else changes, and nothing outside. A fourth of the calls is drawn, and fewer of those that
// start a browser; TOUCHES=all makes them all.
func TestWhatACallChangesIsItsOwn(t *testing.T) {
	changed, every := touched(t, true, func(touch) bool { return true })
	for _, tool := range []string{"file_saver", "str_replace_editor", "apply_patch", "bash", "python_execute", "data_report", "web_fetch", "browser_use"} {
		if every && changed[tool] < 4 && (tool != "browser_use" || testbed.Has(t, "chromium")) {
			t.Errorf("%s changed something in %d calls only", tool, changed[tool])
		}
	}
}

// TestWhatWasNotSeenStays: a call that replaces all of a file, or removes it, changes none
// that the session has not seen. Where the tool chooses the name, it takes another one.
func TestWhatWasNotSeenStays(t *testing.T) {
	made, every := touched(t, false, func(c touch) bool {
		edits := c.tool == "str_replace_editor" && !strings.Contains(c.input, "create") || c.tool == "apply_patch" && strings.Contains(c.input, "Update") ||
			c.tool == "file_saver" && strings.Contains(c.input, "mode")
		return !byItself(c.tool) && !edits
	})
	if every && (made["file_saver"] == 0 || made["web_fetch"] == 0) {
		t.Errorf("no new file was made: %v", made)
	}
}

// touched makes calls of the table that are such, and says how many of each tool changed
// something. seen says whether the session views the file before.
func touched(t *testing.T, seen bool, such func(touch) bool) (changed map[string]int, every bool) {
	p, url := newTouched(t)
	h, db, _ := p.open("sandbox=none")
	changed, every = make(map[string]int), os.Getenv("TOUCHES") == "all"
	for i, c := range table(t, h, url) {
		if !such(c) || !every && !testbed.Drawn(i, map[bool]int{false: 4, true: 20}[c.tool == "browser_use"]) {
			continue
		}
		mode := openmanus.ApproveAll
		if i%3 == 0 {
			mode = openmanus.ApproveEdits
		}
		if p.one(h, db, fmt.Sprint("c", i), mode, url, c, seen) {
			changed[c.tool]++
		}
	}
	return changed, every
}

// byItself reports whether a tool runs programs that write files by themselves.
func byItself(tool string) bool {
	return slices.Contains([]string{"bash", "python_execute", "visualization_preparation"}, tool)
}

// one makes a call, and reports whether it changed anything.
func (p *place) one(h *host.Host, db *store.DB, id, mode, url string, c touch, seen bool) bool {
	t := p.t
	dir, outside := p.path(id+"/ws"), p.path(id+"/outside")
	plant(t, dir, outside)
	p.write(id+"/ws/"+downloaded, "mine\n")
	before, far := lookAround(t, dir), lookAround(t, outside)
	spec := p.spec(h, func(s *openmanus.Spec) {
		calls := []string{"@call " + c.tool + " " + c.input}
		if c.tool == "browser_use" {
			calls = append([]string{`@call browser_use {"action":"go_to_url","url":"` + url + `/"}`}, calls...)
		}
		if seen {
			calls = append([]string{fmt.Sprintf("@call str_replace_editor {\"command\":\"view\",\"path\":%q}", c.path)}, calls...)
		}
		s.Agent, s.Approve, s.Workspace, s.Model = c.agent, mode, dir, p.script(id+"/s.txt", calls...)
	})
	defer p.hold(h, id, dir)()
	p.do(h, db, id, spec)
	now := lookAround(t, dir)
	diff := differing(before, now)
	failed := func(what string, with ...any) {
		t.Errorf("%s: %s %s of a %s: %s %q\n%s", mode, c.tool, c.input, c.kind, what, with, results(t.Context(), db, id))
	}
	if !maps.Equal(lookAround(t, outside), far) {
		if !byItself(c.tool) { // the sandbox keeps these in
			failed("something outside changed")
		}
	}
	var listed []string
	for ev, err := range db.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := ev.Body.(openmanus.CallDone); ok {
			for _, f := range d.Files {
				listed = append(listed, f.Path)
			}
		}
	}
	for i, name := range diff {
		diff[i] = strings.ToValidUTF8(name, "\ufffd") // as the list has it
	}
	slices.Sort(listed)
	if listed = slices.Compact(listed); !slices.Equal(listed, diff) {
		failed("the call lists, and what changed is", listed, diff)
	}
	for _, name := range differing(before, now) {
		if was, had := before[name]; had && !seen && was.Mode&fs.ModeSymlink == 0 { // a link has no content
			failed("the session did not see", name)
		}
	}
	for _, name := range diff {
		was, had := before[name]
		is, has := now[name]
		was.Sum, is.Sum = "", ""
		if had && has && !byItself(c.tool) && was != is {
			failed("more than the content changed", name, fmt.Sprint(was, is))
		}
	}
	if len(diff) == 0 {
		return false
	}
	if _, err := h.GoBack(t.Context(), id, act.Rewind{Last: true, Files: true}, nil); err != nil {
		t.Fatal(err)
	}
	back := lookAround(t, dir)
	if _, has := now["t/hard"]; byItself(c.tool) && c.kind == "pipe" || !has {
		return true // pipes, and names of one file of which one was removed, do not come back as such
	}
	if !maps.Equal(back, before) {
		failed("it did not come back", differing(before, back), fmt.Sprint(back), fmt.Sprint(before))
	}
	return true
}
