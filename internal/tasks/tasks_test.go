package tasks_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/tools/txtar"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

// A task is a file testdata/NAME.txtar. The text before the first section says what the
// task is. These are its sections:
//
//	run          how it is given: see orders
//	setup        a script of bash that prepares the workspace, and runs in it; what it writes
//	             into the directory $SITE_FILES is on the site as well
//	work/PATH    a file of the workspace; a directory NAME.docx or NAME.xlsx becomes a zip file
//	site/PATH    a file of the site: see site
//	check        a script of bash that fails if the task was not done; it runs in the
//	             workspace, with $ANSWER, the answer, $SITE_LOG, what was sent to the site,
//	             and $BEFORE, the workspace as it was
//	model        what the model replies, in the syntax of llm/scripted: this section is
//	             the last, and all that follows belongs to it
//
// {{site}} stands for the address of the site everywhere but in setup and check, which
// have $SITE. $ROOT is the module.
type task struct {
	name    string
	files   map[string]string // without model
	model   string
	orders  map[string][]string // the lines of run, by their first word
	replies []string            // those lines that say what the person replies, in order
}

// words are the lines that a section run may have.
//
//	prompt TEXT          the task; several lines are one text
//	command NAME         run (the default) or flow
//	flag TEXT            a flag, such as --delegate=swe
//	config TEXT          a line of config.toml
//	needs PROGRAM        without this program the task is left out
//	allow REGEXP         the next question is whether a call may run, and the person allows it
//	site REGEXP          the same, and the person allows everything else on that site, too
//	answer REGEXP = TEXT the next question is one of the agent's, and the person answers
//	kill request N       kill -9, when the N-th request has arrived, and all that it tells is stored
//	kill file PATH       kill -9, when there is this file in the workspace
var words = []string{"prompt", "command", "flag", "config", "needs", "allow", "site", "answer", "kill"}

func readTask(t *testing.T, file string) *task {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, model, ok := bytes.Cut(data, []byte("\n-- model --\n"))
	if !ok {
		t.Fatalf("%s has no section model", file)
	}
	task := &task{
		name:   strings.TrimSuffix(filepath.Base(file), ".txtar"),
		files:  map[string]string{},
		model:  string(model),
		orders: map[string][]string{},
	}
	for _, f := range txtar.Parse(append(before, '\n')).Files {
		task.files[f.Name] = string(f.Data)
	}
	for line := range strings.Lines(task.files["run"]) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word != "" && !slices.Contains(words, word) {
			t.Fatalf("%s: run has no lines that begin with %q", file, word)
		}
		task.orders[word] = append(task.orders[word], rest)
		if word == "allow" || word == "site" || word == "answer" {
			task.replies = append(task.replies, strings.TrimSpace(line))
		}
	}
	return task
}

var (
	flagTask   = flag.String("task", "", "play this task only")
	flagUpdate = flag.Bool("update", false, "write testdata/budgets.txt")
	flagShow   = flag.Bool("show", false, "print the conversations")

	binary string // the program
	root   string // the module
)

func TestMain(m *testing.M) {
	flag.Parse()
	testbed.Main(testbed.Func(func() int { return build(m) }))
}

// build makes the program, and runs the tests.
func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tasks")
	if err == nil {
		binary = filepath.Join(dir, "openmanus")
		root, err = filepath.Abs("../..")
	}
	if b := os.Getenv("TASKS_BINARY"); b != "" {
		binary = b // such as an older one, to compare
	} else if err == nil {
		var out []byte
		out, err = exec.Command("go", "build", "-o", binary, "../../cmd/openmanus").CombinedOutput()
		os.Stderr.Write(out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	return m.Run()
}

// TestTasks plays the tasks, and compares what they needed with their budgets.
func TestTasks(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the tasks are for a machine with bubblewrap")
	}
	testbed.Need(t, "bwrap", testbed.Python)
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no tasks", err)
	}
	budgets := readBudgets(t)
	rows := make([]row, len(files))
	t.Run("play", func(t *testing.T) {
		for i, file := range files {
			task := readTask(t, file)
			rows[i] = row{name: task.name, left: "not played"}
			if *flagTask != "" && *flagTask != task.name {
				continue
			}
			t.Run(task.name, func(t *testing.T) {
				t.Parallel()
				for _, program := range task.orders["needs"] {
					if err := testbed.Runs(strings.ReplaceAll(program, "$ROOT", root)); err != nil {
						rows[i].left = program + " does not run"
						testbed.Lacks(t, err)
					}
				}
				begin := time.Now()
				used, questions := play(t, task)
				rows[i] = row{task.name, used, questions, time.Since(begin), ""}
				if over := budgets[task.name].exceeded(rows[i]); over != "" && !*flagUpdate {
					t.Errorf("%s: %s. If it has to be so, make tasks UPDATE=1 writes new budgets", task.name, over)
				}
			})
		}
	})
	fmt.Print(table(rows))
	if *flagUpdate && !t.Failed() {
		budgets.write(t, rows)
	}
}

// play does a task. It returns what the model was asked for, and how many questions the
// person answered.
func play(t *testing.T, task *task) (usage, int) {
	dir := filepath.Join(os.TempDir(), "task-"+task.name+"-"+rand.Text()) // hardly a number that a script looks for
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeAll(dir) })
	ws, conf := filepath.Join(dir, "work"), filepath.Join(dir, "config")
	visited := &site{t: t, files: map[string]string{}}
	web := httptest.NewServer(visited)
	t.Cleanup(web.Close)
	fill := strings.NewReplacer("{{site}}", web.URL).Replace

	e, err := newEndpoint([]byte(fill(task.model)))
	if err != nil {
		t.Fatal(err)
	}
	if *flagShow {
		e.show = func(format string, a ...any) { fmt.Printf(task.name+" "+format+"\n", a...) }
	}
	model := httptest.NewServer(e)
	t.Cleanup(model.Close)

	for name, text := range task.files {
		switch top, rest, _ := strings.Cut(name, "/"); top {
		case "work":
			write(t, filepath.Join(ws, rest), fill(text))
		case "site":
			visited.files["/"+rest] = fill(text)
		case "run", "setup", "check":
		default:
			t.Fatalf("there is no section %q", name)
		}
	}
	if err := os.MkdirAll(ws, 0o700); err != nil {
		t.Fatal(err)
	}
	pack(t, ws)
	vars := []string{"ROOT=" + root, "SITE=" + web.URL}
	script(t, ws, "setup", task.files["setup"], append(vars, "SITE_FILES="+filepath.Join(dir, "site")))
	visited.read(filepath.Join(dir, "site"))
	before := filepath.Join(dir, "before")
	if err := copyWork(before, ws); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(conf, "openmanus", "config.toml"), fill(strings.Join(task.orders["config"], "\n"))+`
[models."compat/tasks"]
window = 128000
output = 16000
vision = true
[browser]
sandbox = false
`)

	p := &person{
		t: t, e: e, ws: ws, kills: task.orders["kill"], replies: task.replies,
		env: append(os.Environ(), "XDG_CONFIG_HOME="+conf, "XDG_DATA_HOME="+filepath.Join(dir, "data"), "LANG=C.UTF-8",
			"TERM=dumb", "NO_COLOR=1"),
	}
	command := "run"
	if c := task.orders["command"]; c != nil {
		command = c[0]
	}
	args := append([]string{command, "--model", "compat/tasks", "--base-url", model.URL + "/v1"}, task.orders["flag"]...)
	p.openmanus(append(args, fill(strings.Join(task.orders["prompt"], "\n")))...)
	for p.last.Status != "finished" {
		switch {
		case p.last.Status == "killed":
			p.openmanus("sessions", "resume", "last")
		default:
			t.Fatalf("the task ended as %s %s: %s\n%s\n%s", p.last.Status, p.last.Reason, p.last.Error,
				strings.Join(e.problems, "\n"), p.screen())
		}
	}
	for _, k := range p.kills {
		t.Errorf("kill %s: it did not come to that", k)
	}
	for _, r := range p.replies {
		t.Errorf("%s: there was no such question", r)
	}
	p.replay()
	answer, log := filepath.Join(dir, "answer"), filepath.Join(dir, "site.log")
	write(t, answer, p.last.Answer)
	write(t, log, visited.sent())
	script(t, ws, "check", task.files["check"], append(vars, "ANSWER="+answer, "SITE_LOG="+log, "BEFORE="+before))
	if len(e.problems) > 0 {
		t.Errorf("the script did not expect this: %s", strings.Join(e.problems, "\n"))
	}
	return e.used, p.questions
}

// A result is what a run prints at its end.
type result struct{ Status, Reason, Answer, Error string }

// A person gives the task at a terminal, and answers what is asked there.
type person struct {
	t     *testing.T
	e     *endpoint
	ws    string
	env   []string
	last  result
	kills []string // that have not happened yet

	mu        sync.Mutex
	shown     bytes.Buffer // what the terminal shows
	read      int          // how much of it the person has answered
	replies   []string     // lines allow and answer that were not used yet
	questions int
}

func (p *person) screen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown.String()
}

// openmanus runs a command that prints a result, until it ends or is killed.
func (p *person) openmanus(args ...string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Minute)
	defer cancel()
	i := len(args) - 1 // what follows the flags
	cmd := exec.CommandContext(ctx, binary, slices.Concat(args[:i], []string{"--output", "json"}, args[i:])...)
	cmd.Dir, cmd.Env = p.ws, p.env
	front, tty, err := pty.Open()
	if err != nil {
		p.t.Fatal(err)
	}
	defer front.Close()
	pty.Setsize(front, &pty.Winsize{Rows: 50, Cols: 500})
	var stdout bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, &stdout, tty
	started := make(chan struct{})
	dead, stop := p.killer(ctx, func() {
		<-started
		cmd.Process.Kill()
	})
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	close(started)
	tty.Close()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		p.watch(front, cmd.Process)
	}()
	err = cmd.Wait()
	<-watched
	stop()
	if p.last = (result{Status: "killed"}); dead() {
		return
	}
	if jsonErr := json.Unmarshal(stdout.Bytes(), &p.last); jsonErr != nil {
		p.t.Fatalf("openmanus %q: %v, and prints no JSON: %v\n%s%s", args, err, jsonErr, stdout.String(), p.screen())
	}
}

// prompt is how the terminal asks for a line.
var prompt = regexp.MustCompile(`(or say what to do instead: |\n> )$`)

// watch reads what the terminal shows until the program has ended, and answers.
func (p *person) watch(front *os.File, program *os.Process) {
	buf := make([]byte, 4096)
	for {
		n, err := front.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		p.shown.Write(bytes.ReplaceAll(buf[:n], []byte("\r\n"), []byte("\n")))
		if asked := p.shown.String()[p.read:]; prompt.MatchString(asked) {
			p.read = p.shown.Len()
			reply, ok := p.reply(asked)
			if !ok {
				p.t.Errorf("nothing in run answers the question at the end of:\n%s", asked)
				program.Kill()
			}
			fmt.Fprintln(front, reply)
		}
		p.mu.Unlock()
	}
}

// reply returns what the person types after what the terminal shows.
func (p *person) reply(asked string) (line string, ok bool) {
	p.questions++
	if len(p.replies) == 0 {
		return "", false
	}
	word, rest, _ := strings.Cut(p.replies[0], " ")
	line = "yes"
	switch word {
	case "answer":
		rest, line, _ = strings.Cut(rest, " = ")
	case "site":
		line = "site"
	}
	if !regexp.MustCompile(rest).MatchString(asked) {
		return "", false
	}
	p.replies = p.replies[1:]
	return line, true
}

// killer calls kill, once, at the first of p.kills. The first function that it returns
// reports whether that happened; the second ends the watch.
func (p *person) killer(ctx context.Context, kill func()) (dead func() bool, stop func()) {
	if len(p.kills) == 0 {
		return func() bool { return false }, func() {}
	}
	var once sync.Once
	killed := make(chan struct{})
	killOnce := func() {
		once.Do(func() {
			close(killed)
			kill()
		})
	}
	dead = func() bool {
		select {
		case <-killed:
			p.kills = p.kills[1:]
			return true
		default:
			return false
		}
	}
	what, where, _ := strings.Cut(p.kills[0], " ")
	switch what {
	case "request":
		p.e.onArrival(func(n, results int) {
			if fmt.Sprint(n) != where {
				return
			}
			for p.stored(ctx) < results {
			}
			killOnce()
			<-ctx.Done() // it gets no reply
		})
		return dead, func() {}
	case "file":
		ctx, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for tick := time.NewTicker(5 * time.Millisecond); ; {
				if _, err := os.Stat(filepath.Join(p.ws, where)); err == nil {
					killOnce()
					return
				}
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
			}
		}()
		return dead, func() { cancel(); <-done }
	}
	p.t.Fatalf("kill %s: it is kill request N, or kill file PATH", p.kills[0])
	return nil, nil
}

// replay has the session replayed: what was done with real files, programs and pages is
// done again from the record.
func (p *person) replay() {
	p.t.Helper()
	if os.Getenv("TASKS_BINARY") != "" {
		return // it may be an older one
	}
	cmd := exec.CommandContext(p.t.Context(), binary, "sessions", "replay", "last", "--check")
	cmd.Dir, cmd.Env = p.ws, p.env
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Errorf("replay: %v\n%s", err, out)
	}
}

// stored returns how many results the newest session's journal has: the program asks a
// model while what it has done is still being stored.
func (p *person) stored(ctx context.Context) int {
	cmd := exec.CommandContext(ctx, binary, "sessions", "export", "last")
	cmd.Env = p.env
	out, err := cmd.Output()
	if err != nil {
		return 1 << 30 // the context has ended
	}
	return bytes.Count(out, []byte(`"type":"call_done"`))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	mode := fs.FileMode(0o600)
	if strings.HasPrefix(text, "#!") {
		mode = 0o700
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// script runs a script of bash in the workspace.
func script(t *testing.T, ws, name, text string, vars []string) {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		return
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-euxo", "pipefail", "-c", text)
	cmd.Dir = ws
	cmd.Env = append(os.Environ(), append(vars, "LANG=C.UTF-8")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s of the task: %v\n%s", name, err, out)
	}
}

// pack makes zip files of the directories that are documents.
func pack(t *testing.T, ws string) {
	t.Helper()
	for _, ext := range []string{"docx", "xlsx"} {
		dirs, _ := filepath.Glob(filepath.Join(ws, "*."+ext))
		for _, dir := range dirs {
			var b bytes.Buffer
			z := zip.NewWriter(&b)
			err := errors.Join(z.AddFS(os.DirFS(dir)), z.Close(), os.RemoveAll(dir), os.WriteFile(dir, b.Bytes(), 0o600))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// copyWork copies a workspace, without what tools put into it.
func copyWork(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".venv" || d.Name() == "node_modules" || d.Name() == ".git"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o600)
	})
}

// removeAll removes dir, also where directories in it cannot be written, as those of
// module caches.
func removeAll(dir string) {
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	os.RemoveAll(dir)
}

// A site serves files. A form that is sent to PATH is recorded, gives the visitor a
// cookie, and is answered with the file PATH.sent; files below /members/ are for
// visitors with the cookie. Files in a directory named download are offered as
// downloads.
type site struct {
	t     *testing.T
	files map[string]string

	mu  sync.Mutex
	log []string
}

// read adds the files of dir to the site; there may be none.
func (s *site) read(dir string) {
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				s.t.Fatal(err)
			}
			s.files[strings.TrimPrefix(path, dir)] = string(b)
		}
		return nil
	})
}

func (s *site) sent() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.log, "\n") + "\n"
}

// ServeHTTP serves the site.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if strings.HasSuffix(path, "/") {
		path += "index.html"
	}
	if r.Method == http.MethodPost {
		r.ParseForm()
		s.mu.Lock()
		s.log = append(s.log, r.URL.Path+" "+r.PostForm.Encode())
		s.mu.Unlock()
		http.SetCookie(w, &http.Cookie{Name: "member", Value: "yes", Path: "/"})
		path += ".sent"
	}
	if _, err := r.Cookie("member"); err != nil && strings.Contains(path, "/members/") {
		http.Error(w, "Only for members.", http.StatusForbidden)
		return
	}
	text, ok := s.files[path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	kind := map[string]string{".csv": "text/csv; charset=utf-8", ".txt": "text/plain; charset=utf-8"}[filepath.Ext(path)]
	if kind == "" {
		kind = "text/html; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	if strings.Contains(path, "/download/") {
		w.Header().Set("Content-Disposition", "attachment; filename="+filepath.Base(path))
	}
	fmt.Fprint(w, text)
}
