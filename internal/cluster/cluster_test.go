//go:build linux

package cluster_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/store/postgres"
	"github.com/openmanus-go/openmanus/store/s3"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// planScript is a plan of six steps of which each makes three lines of a file, and a last
// one that puts them together.
func planScript() string {
	var steps, replies strings.Builder
	for i := range 6 {
		fmt.Fprintf(&steps, `{"text": "Make part %d", "depends_on": []}, `, i)
		for n := range 3 {
			fmt.Fprintf(&replies, "-- %d --\n@when conversation contains : \"Make part %d\"\n@call bash {\"command\": \"sleep 1; echo part %d line %d >> part%d.txt\"}\n", n+1, i, i, n, i)
		}
		fmt.Fprintf(&replies, "-- 4 --\n@when conversation contains : \"Make part %d\"\nPart %d is made.\n", i, i)
	}
	return fmt.Sprintf(`-- 1 --
@when system contains planning assistant
@call planning {"command": "create", "plan_id": "p", "title": "Parts", "steps": [%s{"text": "Put them together"}]}
%s-- 1 --
@when conversation contains : "Put them together"
@call bash {"command": "cat part*.txt > all.txt; wc -l < all.txt"}
-- any --
Done.
`, &steps, &replies)
}

// A plan with parallel steps runs over three workers while one after another is killed, and
// so is each other part. The page is told one unbroken story, nothing that was acknowledged
// is lost, nothing is done twice, and the files of all steps come together.
func TestPlanOverWorkers(t *testing.T) {
	f := start(t, 2, 3, planScript())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	db := f.open()
	id := f.task(f.servers[0], "alice", "Make the parts.", map[string]any{"workspace": "w", "flow": map[string]any{"parallel": 6}})
	page := f.read(ctx, "alice", id)
	for n, w := range f.workers { // one after the other, and each other part
		f.moves(db, 10)
		w.kill()
		w.start()
		switch n {
		case 0:
			f.server.kill()
			f.server.start()
		case 1:
			f.pg.Stop("immediate")
			f.pg.Start()
		case 2:
			f.servers[0].kill()
			f.servers[0].start()
		}
	}
	begun := time.Now()
	f.waits("the plan", func() bool { return f.status(f.servers[1], "alice", id) == "finished" })
	t.Logf("finished %v after the last kill", time.Since(begun).Round(time.Second))
	j := f.journal(db, id)
	t.Logf("%d sessions, %d workers ran calls, %d calls in doubt", len(j.events), len(j.workers), j.inDoubt)
	if len(j.workers) < 2 {
		t.Errorf("calls ran on %v", j.workers)
	}
	if len(j.events) < 8 || j.finished != len(j.events) {
		t.Errorf("%d of %d sessions finished", j.finished, len(j.events))
	}
	f.waits("the page", func() bool {
		page.mu.Lock()
		defer page.mu.Unlock()
		return len(page.lines) == len(j.events[id])
	})
	if page.twice > 0 {
		t.Errorf("the page was told %d events twice", page.twice)
	}
	f.checkParts(f.newest("all.txt"), j.inDoubt)
	var list struct {
		Items []struct {
			Path string `json:"path"`
		} `json:"items"`
	}
	if err := f.call(f.servers[1], "alice", "GET", "/api/v1/sessions/"+id+"/files", nil, &list); err != nil || len(list.Items) < 7 {
		t.Errorf("a server has the files %+v, %v", list, err)
	}
}

// moves waits until so many events more are stored.
func (f *fleet) moves(db *postgres.DB, events int64) {
	f.t.Helper()
	count := func() (n int64) {
		for info, err := range db.Sessions(f.t.Context(), journal.ListOptions{}) {
			if err != nil {
				return -1 // the database was just restarted
			}
			n += info.Events
		}
		return n
	}
	before := int64(-1)
	f.waits("events", func() bool {
		n := count()
		if before < 0 {
			before = n
		}
		return n >= 0 && n >= before+events
	})
}

// newest returns the file of the workspace w that changed last, of all machines.
func (f *fleet) newest(name string) string {
	f.t.Helper()
	found, err := filepath.Glob(filepath.Join(f.dir, "machines", "worker*", "workspaces", "alice", "w", name))
	if err != nil || len(found) == 0 {
		f.t.Fatalf("no worker has the file: %v\n%s", err, f.logs())
	}
	newest := found[0]
	for _, file := range found {
		a, _ := os.Stat(file)
		b, _ := os.Stat(newest)
		if a.ModTime().After(b.ModTime()) {
			newest = file
		}
	}
	return newest
}

// checkParts checks that no line of all.txt is there twice, and that none is missing but
// those of calls in doubt.
func (f *fleet) checkParts(file string, inDoubt int) {
	f.t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		f.t.Fatal(err)
	}
	seen := map[string]int{}
	for line := range strings.Lines(string(data)) {
		seen[strings.TrimSpace(line)]++
	}
	for line, n := range seen {
		if n > 1 {
			f.t.Errorf("%q is there %d times", line, n)
		}
	}
	if len(seen) < 18-inDoubt {
		f.t.Errorf("all.txt has %d of 18 lines, and %d calls are in doubt:\n%s", len(seen), inDoubt, data)
	}
}

// linesScript is a task of so many calls, each of which adds a line to a file.
func linesScript(calls int) string {
	var b strings.Builder
	for n := range calls {
		fmt.Fprintf(&b, "-- %d --\n@call bash {\"command\": \"sleep 0.3; echo line %d >> lines.txt\"}\n", n+1, n)
	}
	b.WriteString("-- any --\nAll lines are written.\n")
	return b.String()
}

// Whatever part is killed or away, at any time and again and again: all sessions end,
// nothing that was acknowledged is lost, and nothing is done twice. CLUSTER_ROUNDS is how
// often, in place of 8.
func TestAnythingBreaks(t *testing.T) {
	f := start(t, 2, 3, linesScript(6))
	db := f.open()
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	var sessions, running []task
	kills := map[string]int{}
	begin := func() {
		for range 3 {
			s := f.servers[random.IntN(2)]
			f.waits("sessions to end", func() bool {
				running = slices.DeleteFunc(running, func(t task) bool { return f.status(s, t.user, t.id) == "finished" })
				return len(running) < 24
			})
			n := len(sessions)
			t := task{user: users[n%len(users)], workspace: fmt.Sprint("w", n)} // each may begin 1,000 within an hour
			f.waits("a server", func() bool { return f.call(s, t.user, "GET", "/readyz", nil, nil) == nil })
			t.id = f.task(s, t.user, "Write the lines.", map[string]any{"workspace": t.workspace})
			sessions, running = append(sessions, t), append(running, t)
		}
	}
	for range number("CLUSTER_ROUNDS", 8) {
		begin()
		f.moves(db, 1+random.Int64N(40))
		switch n := random.IntN(8); n {
		case 0, 1, 2:
			kills["worker"]++
			f.workers[n].kill()
			f.workers[n].start()
		case 3:
			kills["temporal"]++
			f.server.kill()
			f.server.start()
		case 4:
			kills["postgres"]++
			f.pg.Stop("immediate")
			f.pg.Start()
		case 5:
			kills["objects"]++
			failed := f.objects.Failed.Load()
			f.objects.Fail(1, 1)
			f.waits("requests that fail", func() bool { return f.objects.Failed.Load() > failed+3 })
			f.objects.Fail(0, 1)
		case 6, 7:
			kills["server"]++
			f.servers[n-6].kill()
			f.servers[n-6].start()
		}
	}
	begun := time.Now()
	inDoubt, events := 0, 0
	for n, s := range sessions {
		f.waits("session "+s.id, func() bool { return f.status(f.servers[n%2], s.user, s.id) == "finished" })
		j := f.journal(db, s.id)
		inDoubt += j.inDoubt
		events += len(j.events[s.id])
	}
	t.Logf("%v: %d sessions with %d events ended %v after the last kill, %d calls in doubt",
		kills, len(sessions), events, time.Since(begun).Round(time.Second), inDoubt)
	for _, s := range sessions {
		f.checkLines(s.user, s.workspace)
	}
}

// A task is a session of a user in a workspace.
type task struct{ user, workspace, id string }

// checkLines checks that no machine has a line of a workspace twice.
func (f *fleet) checkLines(user, workspace string) {
	f.t.Helper()
	found, _ := filepath.Glob(filepath.Join(f.dir, "machines", "worker*", "workspaces", user, workspace, "lines.txt"))
	if len(found) == 0 {
		f.t.Errorf("%s: no worker has lines.txt", workspace)
	}
	for _, file := range found {
		data, err := os.ReadFile(file)
		if err != nil {
			f.t.Fatal(err)
		}
		seen := map[string]bool{}
		for line := range strings.Lines(string(data)) {
			if seen[line] {
				f.t.Errorf("%s: %q is there twice:\n%s", file, line, data)
			}
			seen[line] = true
		}
	}
}

// A session that waits for a person costs nothing, and goes on when the person answers after
// everything was restarted.
func TestApprovalAfterRestart(t *testing.T) {
	f := start(t, 2, 2, "-- 1 --\n@call file_saver {\"file_path\": \"it\", \"content\": \"allowed\"}\n-- any --\nIt is done.\n")
	id := f.task(f.servers[0], "alice", "Do it.", map[string]any{"approve": "ask", "workspace": "w"})
	f.waits("the question", func() bool { return f.status(f.servers[1], "alice", id) == "waiting" })
	f.waits("Temporal to have nothing to do", func() bool {
		out, err := exec.Command(temporalBinary(t), "workflow", "count", "--address", f.temporal, "--query", "ExecutionStatus='Running'").CombinedOutput()
		return err == nil && strings.Contains(string(out), "Total: 0")
	})
	all := append(append([]*process{f.server}, f.servers...), f.workers...)
	for _, p := range all {
		p.kill()
	}
	f.pg.Stop("immediate")
	f.pg.Start()
	for _, p := range all {
		p.start()
	}
	f.waits("a server", func() bool { return f.call(f.servers[1], "alice", "GET", "/readyz", nil, nil) == nil })
	var session struct {
		Waiting []struct {
			Call string `json:"call"`
		} `json:"waiting"`
	}
	if err := f.call(f.servers[1], "alice", "GET", "/api/v1/sessions/"+id, nil, &session); err != nil || len(session.Waiting) != 1 {
		t.Fatalf("what waits: %+v, %v", session, err)
	}
	if err := f.call(f.servers[1], "alice", "POST", "/api/v1/sessions/"+id+"/rulings", map[string]any{"call": session.Waiting[0].Call, "allow": true}, nil); err != nil {
		t.Fatal(err)
	}
	f.waits("the session", func() bool { return f.status(f.servers[0], "alice", id) == "finished" })
	found, _ := filepath.Glob(filepath.Join(f.dir, "machines", "worker*", "workspaces", "alice", "w", "it"))
	if len(found) != 1 {
		t.Errorf("%v", found)
	}
}

// Workers are replaced one after the other, in good order, while sessions run: their calls
// are recorded with what they printed, or in doubt, and all sessions end elsewhere.
func TestRollingUpgrade(t *testing.T) {
	f := start(t, 1, 3, linesScript(8))
	db := f.open()
	var sessions []string
	for n := range 6 {
		sessions = append(sessions, f.task(f.servers[0], "alice", "Write the lines.", map[string]any{"workspace": fmt.Sprint("w", n)}))
	}
	for _, w := range f.workers {
		begun := time.Now()
		w.stop()
		t.Logf("a worker stopped in %v", time.Since(begun).Round(10*time.Millisecond))
		w.start()
	}
	workers, inDoubt := map[string]bool{}, 0
	for n, id := range sessions {
		f.waits("session "+id, func() bool { return f.status(f.servers[0], "alice", id) == "finished" })
		j := f.journal(db, id)
		inDoubt += j.inDoubt
		for w := range j.workers {
			workers[w] = true
		}
		f.checkLines("alice", fmt.Sprint("w", n))
	}
	t.Logf("%d calls in doubt", inDoubt)
	if inDoubt > len(sessions)*len(f.workers) {
		t.Errorf("more calls are in doubt than were running: %d", inDoubt)
	}
	if len(workers) < 2 {
		t.Errorf("calls ran on %d workers", len(workers))
	}
}

// A worker that was stopped, and wakes when its sessions are elsewhere, appends nothing.
func TestStoppedWorker(t *testing.T) {
	f := start(t, 1, 2, linesScript(10))
	db := f.open()
	id := f.task(f.servers[0], "alice", "Write the lines.", map[string]any{"workspace": "w"})
	var first string
	var at int64
	f.waits("the first lines", func() bool {
		n := 0
		for ev, err := range db.Events(t.Context(), id, 0) {
			if b, ok := ev.Body.(openmanus.CallStarted); ok && err == nil {
				first, at, n = b.Worker, ev.Seq, n+1
			}
		}
		return n > 2
	})
	w := f.workers[0]
	if data, _ := os.ReadFile(w.log.Name()); !strings.Contains(string(data), first) {
		w = f.workers[1]
	}
	signal(t, w.cmd, syscall.SIGSTOP)
	f.waits("the session", func() bool { return f.status(f.servers[0], "alice", id) == "finished" })
	before := len(f.journal(db, id).events[id])
	signal(t, w.cmd, syscall.SIGCONT)
	f.waits("the worker to wake", func() bool { // it takes another session
		other := f.task(f.servers[0], "alice", "Write the lines.", map[string]any{"workspace": fmt.Sprint("other", time.Now().UnixNano())})
		f.waits("another session", func() bool { return f.status(f.servers[0], "alice", other) == "finished" })
		return f.journal(db, other).workers[first]
	})
	j := f.journal(db, id)
	if n := len(j.events[id]); n != before {
		t.Errorf("%d events came after the worker woke: %+v", n-before, j.events[id][before:])
	}
	for _, ev := range j.events[id] {
		if b, ok := ev.Body.(openmanus.CallStarted); ok && b.Worker == first && ev.Seq > at+6 {
			t.Errorf("event %d: the worker that was stopped began a call", ev.Seq)
		}
	}
	f.checkLines("alice", "w")
}

// Users see nothing of each other, on any server.
func TestTwoUsers(t *testing.T) {
	f := start(t, 2, 2, "-- 1 --\n@call bash {\"command\": \"ls; echo mine > mine.txt; cat ../*/*.txt\"}\n-- any --\nIt is done.\n")
	ids := map[string]string{}
	for _, user := range []string{"alice", "bob"} {
		ids[user] = f.task(f.servers[0], user, "Do it for "+user+".", map[string]any{"workspace": "w"})
	}
	for user, id := range ids {
		f.waits("the session of "+user, func() bool { return f.status(f.servers[1], user, id) == "finished" })
	}
	for i, s := range f.servers {
		for _, path := range []string{"", "/events", "/files", "/approvals"} {
			err := f.call(s, "bob", "GET", "/api/v1/sessions/"+ids["alice"]+path, nil, nil)
			if err == nil || !strings.Contains(err.Error(), "404") {
				t.Errorf("server %d, %q: bob gets %v", i, path, err)
			}
		}
		var list struct {
			Items []struct {
				ID string `json:"id"`
			} `json:"items"`
		}
		if err := f.call(s, "bob", "GET", "/api/v1/sessions", nil, &list); err != nil || len(list.Items) != 1 || list.Items[0].ID != ids["bob"] {
			t.Errorf("server %d: bob sees %+v, %v", i, list, err)
		}
	}
	found, _ := filepath.Glob(filepath.Join(f.dir, "machines", "worker*", "workspaces", "*", "w", "mine.txt"))
	if len(found) != 2 {
		t.Errorf("each has a workspace: %v", found)
	}
}

// Files that a person uploads, and what they take back, reach the workers, and what workers
// wrote is at every server.
func TestFilesTravel(t *testing.T) {
	f := start(t, 2, 2, `-- 1 --
@call bash {"command": "cat given.txt; echo made > made.txt"}
-- 2 --
It is made.
-- 3 --
@call bash {"command": "cat given.txt made.txt"}
-- any --
It is read.
`)
	var session struct {
		ID string `json:"id"`
	}
	if err := f.call(f.servers[0], "alice", "POST", "/api/v1/sessions", map[string]any{"approve": "all", "workspace": "w"}, &session); err != nil {
		t.Fatal(err)
	}
	one := "/api/v1/sessions/" + session.ID
	say := func(s *process, text string) {
		t.Helper()
		if err := f.call(s, "alice", "POST", one+"/messages", map[string]any{"text": text}, nil); err != nil {
			t.Fatal(err)
		}
		f.waits("the answer", func() bool { return f.status(s, "alice", session.ID) == "finished" })
	}
	db := f.open()
	result := func(call string) string {
		s, err := openmanus.Load(t.Context(), db, session.ID)
		if err != nil {
			t.Fatal(err)
		}
		for ev, err := range db.Events(t.Context(), session.ID, 0) {
			if b, ok := ev.Body.(openmanus.CallDone); ok && err == nil && b.Call == call {
				return b.Parts.Text()
			}
		}
		t.Fatalf("there is no call %s; the session is %s", call, s.Status())
		return ""
	}
	if err := f.call(f.servers[0], "alice", "PUT", one+"/files/given.txt", "first", nil); err != nil {
		t.Fatal(err)
	}
	say(f.servers[1], "Make it.")
	if got := result("c0-1"); !strings.Contains(got, "first") {
		t.Errorf("the agent reads %q of what was uploaded", got)
	}
	if err := f.call(f.servers[1], "alice", "PUT", one+"/files/given.txt", "second", nil); err != nil {
		t.Fatal(err)
	}
	for _, w := range f.workers { // whichever goes on has neither file
		w.kill()
	}
	if err := os.RemoveAll(filepath.Join(f.dir, "machines", "worker0", "workspaces")); err != nil {
		t.Fatal(err)
	}
	f.workers[0].start()
	say(f.servers[0], "Read it.")
	if got := result("c2-1"); !strings.Contains(got, "second") || !strings.Contains(got, "made") {
		t.Errorf("the agent reads %q", got)
	}
}

// openmanus doctor --cluster says what is there, and what is away.
func TestDoctor(t *testing.T) {
	f := start(t, 0, 2, linesScript(1))
	play := func(code int, command string, wants ...string) {
		t.Helper()
		cmd := exec.Command(binary(t), strings.Fields(command)...)
		cmd.Env = append(os.Environ(), "HOME="+f.dir, "OPENMANUS_CONFIG="+filepath.Join(f.dir, "config.toml"), "XDG_DATA_HOME=", "XDG_CONFIG_HOME=")
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("exit code %d, want %d:\n%s", got, code, out)
		}
		for _, want := range wants {
			if !regexp.MustCompile("(?m)" + want).Match(out) {
				t.Errorf("it does not say %q:\n%s", want, out)
			}
		}
	}
	doctor := func(code int, wants ...string) { t.Helper(); play(code, "doctor --cluster", wants...) }
	db := f.open()
	f.waits("both workers", func() bool {
		c, err := db.Condition(t.Context())
		return err == nil && len(c.Serving) == 2
	})
	doctor(0, `^ok +store +the database answers`, `^ok +clock `, `^ok +lag `, `^ok +leases +0 sessions driven`, `^ok +blobs +the bucket answers`, `^ok +workers +2 workers: `)
	bucket, err := s3.Open(t.Context(), f.objects.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer bucket.Close()
	left := []byte("of a process that died")
	orphan := strings.TrimPrefix(string(openmanus.RefOf(left)), "sha256:") + "-left-over"
	f.objects.Behind.Store(int64(48 * time.Hour))
	err = bucket.Put(t.Context(), orphan, left)
	f.objects.Behind.Store(0)
	if err != nil {
		t.Fatal(err)
	}
	doctor(0, `^warn +blobs +the bucket has 1 old object of which no session knows, such as `+orphan, `sessions prune`)
	play(0, "sessions prune --dry-run", `^0 blobs and 1 object that no session needs would be deleted$`)
	play(0, "sessions prune --json", `"objects": ?1`)
	play(0, "sessions prune", `^0 blobs and 0 objects that no session needs deleted$`)
	doctor(0, `^ok +blobs +the bucket answers`)
	for _, w := range f.workers {
		w.stop()
	}
	doctor(1, `^missing +workers +Temporal answers, and no worker runs`)
	f.server.kill()
	doctor(1, `^missing +workers +cannot reach Temporal at 127`)
	f.pg.Stop("immediate")
	doctor(1, `^missing +store +the store postgres://`)
	f.pg.Start() // for its end
}

// Replies and output stream to the page at any server, and to each new subscriber. Two
// watch before the message is sent, and a third begins in the middle. The command waits
// until all three have seen what it printed.
func TestWordsStream(t *testing.T) {
	words := strings.Repeat("word after word, ", 40)
	f := start(t, 2, 2, "@pace 20ms\n-- 1 --\n"+words+"\n@call bash {\"command\": \"for i in 1 2 3 4 5; do echo printed $i; done; until [ -e go ]; do sleep 0.1; done\"}\n-- any --\nThe end.\n")
	var session struct {
		ID string `json:"id"`
	}
	if err := f.call(f.servers[0], "alice", "POST", "/api/v1/sessions", map[string]any{"approve": "all", "workspace": "w"}, &session); err != nil {
		t.Fatal(err)
	}
	path := "/api/v1/sessions/" + session.ID
	type shown struct{ typed, printed string }
	connected, typing, printed := make(chan struct{}, 3), make(chan struct{}, 1000), make(chan struct{}, 3)
	watch := func(s *process, done chan<- shown) {
		var got shown
		defer func() { done <- got }()
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+s.address()+path+"/events", nil)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Authorization", "Bearer "+tokenOf("alice"))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("the stream: %s", resp.Status)
			return
		}
		connected <- struct{}{}
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var ev openmanus.Event
			if err := json.Unmarshal([]byte(data), &ev); err != nil {
				continue // another kind of message
			}
			switch b := ev.Body.(type) {
			case openmanus.Typing:
				if b.Turn != 0 {
					continue
				}
				if b.Reset {
					got.typed = ""
				}
				got.typed += b.Parts.Text()
				select {
				case typing <- struct{}{}:
				default:
				}
			case openmanus.Output:
				before := strings.Contains(got.printed, "printed 5\n")
				if got.printed += b.Text; !before && strings.Contains(got.printed, "printed 5\n") {
					printed <- struct{}{}
				}
			case openmanus.ModelSaid:
				if b.Turn == 1 {
					return
				}
			}
		}
	}
	wait := func(what string, n int, c <-chan struct{}) {
		t.Helper()
		for range n {
			select {
			case <-c:
			case <-time.After(time.Minute):
				t.Fatalf("%s: not in time\n%s", what, f.logs())
			}
		}
	}
	first, late := make(chan shown, 2), make(chan shown, 1)
	go watch(f.servers[0], first)
	go watch(f.servers[1], first)
	wait("two connect", 2, connected)
	if err := f.call(f.servers[0], "alice", "POST", path+"/messages", map[string]any{"text": "Say it."}, nil); err != nil {
		t.Fatal(err)
	}
	wait("words are typed", 3, typing)
	go watch(f.servers[1], late)
	wait("all three see what is printed", 3, printed)
	dirs, err := filepath.Glob(filepath.Join(f.dir, "machines", "worker*", "workspaces", "alice", "w"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("the command runs nowhere: %v", err)
	}
	for _, dir := range dirs {
		if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []chan shown{first, first, late} {
		select {
		case got := <-c:
			if !strings.HasPrefix(strings.TrimSpace(words), strings.TrimSpace(got.typed)) || c == first && len(got.typed) < len(words)/2 {
				t.Errorf("it typed %q", got.typed)
			}
			if strings.Count(got.printed, "printed 1\n") != 1 || strings.Count(got.printed, "printed 3\n") != 1 {
				t.Errorf("it printed %q", got.printed)
			}
		case <-time.After(time.Minute):
			t.Fatalf("nobody saw the end\n%s", f.logs())
		}
	}
}
