//go:build linux

// Package cluster_test plays a fleet on one machine: PostgreSQL, an object store, Temporal,
// servers, and workers each of which has files of its own, and breaks what it can.
package cluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/pgtest"
	"github.com/openmanus-go/openmanus/internal/s3test"
	"github.com/openmanus-go/openmanus/store/postgres"
	"github.com/openmanus-go/openmanus/store/s3"
)

// A fleet is the parts of one.
type fleet struct {
	t        *testing.T
	dir      string
	pg       *pgtest.Server
	store    string // the URL of the database
	objects  *s3test.Server
	temporal string // the address
	server   *process
	workers  []*process
	servers  []*process
}

// A process is a part of the fleet, which dies with all that it started, as a machine does.
type process struct {
	name string
	f    *fleet
	args []string
	own  bool // it has a data directory and workspaces of its own
	log  *os.File

	mu    sync.Mutex
	cmd   *exec.Cmd     // nil: it was killed
	ended chan struct{} // closed when cmd has ended
}

// needsCluster leaves the test out where nobody asked for it: make cluster does.
func needsCluster(t *testing.T) {
	if os.Getenv("CLUSTER") == "" {
		t.Skip("make cluster runs this")
	}
}

// start starts all parts: so many servers and workers, with a script for the model.
func start(t *testing.T, servers, workers int, script string) *fleet {
	t.Helper()
	needsCluster(t)
	f := &fleet{t: t, dir: t.TempDir(), pg: pgtest.Start(t), objects: s3test.Start(t), temporal: free(t)}
	f.store = f.pg.URL("fleet")
	if err := os.Mkdir(filepath.Join(f.dir, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	f.write("script", script)
	f.write("config.toml", fmt.Sprintf(`data_dir = %q
[run]
model = "scripted:%s/script"
max_steps = -1
budget_tokens = -1
max_cost = -1
timeout = -1
[sandbox]
kind = "none"
[store]
url = %q
[blobs]
url = %q
[temporal]
address = %q
%s`, filepath.Join(f.dir, "data"), f.dir, f.store, f.objects.URL, f.temporal, usersConfig()))
	f.startTemporal()
	for i := range servers {
		f.servers = append(f.servers, f.run(fmt.Sprint("server", i), true, binary(t), "serve", "--addr", free(t)))
	}
	for i := range workers {
		f.workers = append(f.workers, f.run(fmt.Sprint("worker", i), true, binary(t), "worker"))
	}
	for _, s := range f.servers {
		f.waits(s.name, func() bool { return f.call(s, "alice", "GET", "/readyz", nil, nil) == nil })
	}
	return f
}

// startTemporal starts Temporal with what deploy/compose.yaml sets: fairness between users,
// and one partition, since Temporal is fair only within each.
func (f *fleet) startTemporal() {
	f.t.Helper()
	f.server = f.run("temporal", false, temporalBinary(f.t), "server", "start-dev", "--headless", "--ip", "127.0.0.1",
		"--port", f.temporal[strings.LastIndexByte(f.temporal, ':')+1:], "--db-filename", filepath.Join(f.dir, "temporal.db"), "--log-level", "error",
		"--dynamic-config-value", "matching.useNewMatcher=true", "--dynamic-config-value", "matching.enableFairness=true",
		"--dynamic-config-value", "matching.numTaskqueueReadPartitions=1", "--dynamic-config-value", "matching.numTaskqueueWritePartitions=1")
	f.waits("Temporal", func() bool {
		c, err := net.Dial("tcp", f.temporal)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

func binary(t *testing.T) string         { return built(t, "../../bin/openmanus-cluster") }
func temporalBinary(t *testing.T) string { return built(t, "../../bin/temporal/temporal") }

func built(t *testing.T, name string) string {
	path, err := filepath.Abs(name)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("%v: make cluster makes it", err)
	}
	return path
}

// free returns an address of this machine at which nothing listens.
func free(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (f *fleet) write(name, content string) {
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// waits waits for a condition.
func (f *fleet) waits(what string, is func() bool) {
	f.t.Helper()
	for end := time.Now().Add(3 * time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("%s: not in time\n%s", what, f.logs())
		}
	}
}

// logs returns the ends of the logs of all processes, without requests.
func (f *fleet) logs() string {
	var b strings.Builder
	files, _ := filepath.Glob(filepath.Join(f.dir, "*.log"))
	for _, file := range files {
		data, _ := os.ReadFile(file)
		var lines []string
		for line := range strings.Lines(string(data)) {
			if !strings.Contains(line, "msg=request ") {
				lines = append(lines, line)
			}
		}
		fmt.Fprintf(&b, "== %s\n%s\n", filepath.Base(file), strings.Join(lines[max(0, len(lines)-25):], ""))
	}
	return b.String()
}

// run starts a process, which ends with the test.
func (f *fleet) run(name string, own bool, args ...string) *process {
	f.t.Helper()
	log, err := os.OpenFile(filepath.Join(f.dir, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		f.t.Fatal(err)
	}
	p := &process{name: name, f: f, args: args, own: own, log: log}
	p.start()
	f.t.Cleanup(func() { p.kill(); log.Close() })
	return p
}

// start starts the process in namespaces of its own: with its end, all that it started ends.
// If it is one that has files, the data directory is its own.
func (p *process) start() {
	f := p.f
	unshare := []string{"--mount", "--pid", "--fork", "--kill-child", "--mount-proc"}
	if os.Geteuid() != 0 {
		unshare = append(unshare, "--map-root-user")
	}
	script := `exec "$@"`
	if p.own {
		own := filepath.Join(f.dir, "machines", p.name)
		if err := os.MkdirAll(own, 0o755); err != nil {
			f.t.Fatal(err)
		}
		script = fmt.Sprintf("mount --bind %q %q && exec \"$@\"", own, filepath.Join(f.dir, "data"))
	}
	cmd := exec.Command("unshare", append(append(unshare, "sh", "-c", script, "sh"), p.args...)...)
	cmd.Env = append(os.Environ(), "HOME="+f.dir, "OPENMANUS_CONFIG="+filepath.Join(f.dir, "config.toml"), "XDG_DATA_HOME=", "XDG_CONFIG_HOME=")
	cmd.Dir, cmd.Stdout, cmd.Stderr = f.dir, p.log, p.log
	if err := cmd.Start(); err != nil {
		f.t.Error(err)
		return
	}
	p.mu.Lock()
	p.cmd, p.ended = cmd, make(chan struct{})
	ended := p.ended
	p.mu.Unlock()
	go func() { // what manages services starts one again that ends by itself
		_ = cmd.Wait()
		close(ended)
		p.mu.Lock()
		again := p.cmd == cmd
		p.mu.Unlock()
		if again {
			time.Sleep(200 * time.Millisecond) // as systemd does
			p.start()
		}
	}()
}

// leave takes the process from what starts it again.
func (p *process) leave() (cmd *exec.Cmd, ended chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	cmd, ended, p.cmd = p.cmd, p.ended, nil
	return cmd, ended
}

// kill ends the process at once.
func (p *process) kill() {
	if cmd, ended := p.leave(); cmd != nil {
		_ = cmd.Process.Kill()
		<-ended
	}
}

// stop ends the process in good order.
func (p *process) stop() {
	cmd, ended := p.leave()
	signal(p.f.t, cmd, syscall.SIGTERM)
	<-ended
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		p.f.t.Errorf("%s: exit code %d", p.name, code)
	}
}

// signal sends a signal to the process in the namespaces of cmd.
func signal(t *testing.T, cmd *exec.Cmd, sig syscall.Signal) {
	if err := syscall.Kill(inner(t, cmd), sig); err != nil {
		t.Errorf("signal %v: %v", sig, err)
	}
}

// inner returns the number of the process in the namespaces of cmd.
func inner(t *testing.T, cmd *exec.Cmd) (pid int) {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", cmd.Process.Pid, cmd.Process.Pid))
	if err == nil {
		_, err = fmt.Sscan(string(data), &pid)
	}
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// address is where a server listens.
func (p *process) address() string { return p.args[len(p.args)-1] }

var users = []string{"alice", "bob", "carol", "dave"}

// tokenOf returns the token of a user.
func tokenOf(user string) string { return "the-long-token-of-" + user }

func usersConfig() string {
	var b strings.Builder
	for _, u := range users {
		fmt.Fprintf(&b, "[users.%s]\ntoken = %q\napprove = \"all\"\n", u, tokenOf(u))
	}
	return b.String()
}

// call sends a request to a server, with in as JSON, and decodes the answer into out.
func (f *fleet) call(s *process, user, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.address()+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+tokenOf(user))
	req.Header.Set("Content-Type", "application/json")
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, data)
	}
	if out != nil {
		return json.Unmarshal(data, out)
	}
	return nil
}

// task begins a session with a task, and returns its id. more is what else the session has.
func (f *fleet) task(s *process, user, text string, more map[string]any) string {
	f.t.Helper()
	var session struct {
		ID string `json:"id"`
	}
	in := map[string]any{"approve": "all"}
	for k, v := range more {
		in[k] = v
	}
	if err := f.call(s, user, "POST", "/api/v1/sessions", in, &session); err != nil {
		f.t.Fatal(err)
	}
	if err := f.call(s, user, "POST", "/api/v1/sessions/"+session.ID+"/messages", map[string]any{"text": text}, nil); err != nil {
		f.t.Fatal(err)
	}
	return session.ID
}

// status returns how a session stands.
func (f *fleet) status(s *process, user, id string) string {
	var session struct {
		Status string `json:"status"`
	}
	if err := f.call(s, user, "GET", "/api/v1/sessions/"+id, nil, &session); err != nil {
		return err.Error()
	}
	return session.Status
}

// open opens the store of the fleet.
func (f *fleet) open() *postgres.DB {
	f.t.Helper()
	b, err := s3.Open(f.t.Context(), f.objects.URL, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	db, err := postgres.Open(f.t.Context(), f.store, &postgres.Options{Objects: b})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { db.Close(); b.Close() })
	return db
}

// A reader reads the events of a session from a server, over and over, as a page does, and
// notes what it was told.
type reader struct {
	mu    sync.Mutex
	lines map[int64]string
	twice int
}

// read follows a session at servers, one after the other when one breaks off, until ctx ends.
func (f *fleet) read(ctx context.Context, user, id string) *reader {
	r := &reader{lines: make(map[int64]string)}
	var last int64
	go func() {
		for n := 0; ctx.Err() == nil; n++ {
			r.once(ctx, f, f.servers[n%len(f.servers)], user, id, &last)
			time.Sleep(50 * time.Millisecond) // as a page does
		}
	}()
	return r
}

func (r *reader) once(ctx context.Context, f *fleet, s *process, user, id string, last *int64) {
	req, err := http.NewRequestWithContext(ctx, "GET", fmt.Sprintf("http://%s/api/v1/sessions/%s/events?after=%d", s.address(), id, *last), nil)
	if err != nil {
		return
	}
	req.Header.Set("Authorization", "Bearer "+tokenOf(user))
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	var rest []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := resp.Body.Read(buf)
		rest = append(rest, buf[:n]...)
		for {
			block, after, ok := bytes.Cut(rest, []byte("\n\n"))
			if !ok {
				break
			}
			rest = after
			var seq int64
			for line := range bytes.Lines(block) {
				if v, ok := bytes.CutPrefix(line, []byte("id: ")); ok {
					fmt.Sscan(string(v), &seq)
				}
			}
			if seq == 0 {
				continue
			}
			r.mu.Lock()
			if seq <= *last {
				r.twice++
			} else {
				*last = seq
			}
			r.lines[seq] = string(block)
			r.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// A journalOf is what the journals of a session and those below it say.
type journalOf struct {
	events   map[string][]openmanus.Event
	workers  map[string]bool // those that ran calls
	inDoubt  int
	twice    []string // calls that began more than once although they change something
	finished int
}

// journal reads the journals of a session and those below it, and checks them: numbers
// without gaps, one result for each call, none that runs twice.
func (f *fleet) journal(db *postgres.DB, id string) journalOf {
	f.t.Helper()
	j := journalOf{events: make(map[string][]openmanus.Event), workers: make(map[string]bool)}
	var read func(id string)
	read = func(id string) {
		started := map[string]int{}
		done := map[string]bool{}
		for ev, err := range db.Events(f.t.Context(), id, 0) {
			if err != nil {
				f.t.Fatalf("session %s: %v", id, err)
			}
			if ev.Seq != int64(len(j.events[id]))+1 {
				f.t.Errorf("session %s: event %d follows %d", id, ev.Seq, len(j.events[id]))
			}
			j.events[id] = append(j.events[id], ev)
			switch b := ev.Body.(type) {
			case openmanus.CallStarted:
				j.workers[b.Worker] = true
				started[b.Call]++
			case openmanus.CallDone:
				if done[b.Call] {
					f.t.Errorf("session %s: call %s has two results", id, b.Call)
				}
				done[b.Call] = true
				if b.IsError && strings.Contains(b.Parts.Text(), openmanus.InDoubt) {
					j.inDoubt++
				}
			case openmanus.ChildOpened:
				read(b.Child)
			}
		}
		s, err := openmanus.Load(f.t.Context(), db, id)
		if err != nil {
			f.t.Fatal(err)
		}
		if s.Outcome.Status == openmanus.Finished {
			j.finished++
		}
		for call, n := range started {
			if c := s.Call(call); n > 1 && c != nil && !c.Hints.ReadOnly && !c.Hints.Idempotent {
				j.twice = append(j.twice, id+" "+call)
			}
		}
	}
	read(id)
	if len(j.twice) > 0 {
		f.t.Errorf("these calls began twice: %v", j.twice)
	}
	return j
}
