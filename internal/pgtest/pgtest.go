//go:build unix

package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// A Server is a PostgreSQL of a test, in a directory of its own, on a socket in it.
type Server struct {
	Dir  string
	t    testing.TB
	bin  string
	who  *syscall.Credential
	sync string // on, or off
}

// Start starts a server, which ends with the test. It does not wait for the disk. Without
// PostgreSQL on the machine the test is left out, and fails where CI is set.
func Start(t testing.TB) *Server { return start(t, "off") }

// StartDurable starts a server as Start does, one whose commits wait for the disk.
func StartDurable(t testing.TB) *Server { return start(t, "on") }

func start(t testing.TB, sync string) *Server {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(found) == 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("there is no PostgreSQL in /usr/lib/postgresql: install the package postgresql")
		}
		t.Skip("there is no PostgreSQL in /usr/lib/postgresql")
	}
	dir, err := os.MkdirTemp("/tmp", "pg") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &Server{Dir: dir, t: t, bin: filepath.Dir(found[len(found)-1]), sync: sync}
	if os.Geteuid() == 0 { // it does not run as root
		u, err := user.Lookup("postgres")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		s.who = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	s.run("initdb", "-D", s.data(), "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	t.Cleanup(func() { s.Stop("immediate") })
	s.Start()
	return s
}

func (s *Server) data() string { return filepath.Join(s.Dir, "data") }

// URL returns the address of a schema of the server, which it makes.
func (s *Server) URL(schema string) string {
	s.t.Helper()
	url := fmt.Sprintf("postgres://tester@/postgres?host=%s&search_path=%s", s.Dir, schema)
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), "CREATE SCHEMA IF NOT EXISTS "+schema); err != nil {
		s.t.Fatal(err)
	}
	return url
}

// Pooled starts a pgbouncer in front of the server, in which each transaction may have
// another connection, and returns a function that makes a database of a name and returns its
// address there.
func (s *Server) Pooled() func(name string) string {
	s.t.Helper()
	const program = "/usr/sbin/pgbouncer"
	if _, err := os.Stat(program); err != nil {
		if os.Getenv("CI") != "" {
			s.t.Fatal("there is no pgbouncer: install the package pgbouncer")
		}
		s.t.Skip("there is no pgbouncer")
	}
	ini := filepath.Join(s.Dir, "pgbouncer.ini")
	err := os.WriteFile(ini, fmt.Appendf(nil, `[databases]
* = host=%[1]s user=tester
[pgbouncer]
listen_port = 6432
unix_socket_dir = %[1]s
auth_type = any
pool_mode = transaction
default_pool_size = 8
max_client_conn = 1000
server_idle_timeout = 2
logfile = %[1]s/pgbouncer.log
`, s.Dir), 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(program, "-q", ini)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.who}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	direct := fmt.Sprintf("postgres://tester@/postgres?host=%s", s.Dir)
	return func(name string) string {
		s.t.Helper()
		conn, err := pgx.Connect(context.Background(), direct)
		if err == nil {
			_, err = conn.Exec(context.Background(), "CREATE DATABASE "+name)
			err = errors.Join(err, conn.Close(context.Background()))
		}
		if err != nil && !strings.Contains(err.Error(), "already exists") {
			s.t.Fatal(err)
		}
		return fmt.Sprintf("postgres://tester@/%s?host=%s&port=6432", name, s.Dir)
	}
}

// Start starts a server that was stopped.
func (s *Server) Start() {
	s.t.Helper()
	s.run("pg_ctl", "-D", s.data(), "-w", "-l", filepath.Join(s.Dir, "log"),
		"-o", "-c fsync="+s.sync+" -c listen_addresses='' -c max_connections=300 -k "+s.Dir, "start")
}

// Bench runs pgbench for some seconds with clients that each send a script over and over,
// and returns what it printed. args are more of its arguments.
func (s *Server) Bench(schema, script string, clients, seconds int, args ...string) string {
	s.t.Helper()
	file := filepath.Join(s.Dir, "script.sql")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		s.t.Fatal(err)
	}
	cmd := s.command("pgbench", append([]string{"-n", "-M", "prepared", "-h", s.Dir, "-U", "tester", "-f", file,
		"-c", strconv.Itoa(clients), "-j", "2", "-T", strconv.Itoa(seconds)}, append(args, "postgres")...)...)
	cmd.Env = append(os.Environ(), "PGOPTIONS=-c search_path="+schema)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("pgbench: %v: %s", err, out)
	}
	return string(out)
}

// CPU returns the processor time that the processes of the server take and have taken.
func (s *Server) CPU() (all time.Duration) {
	data, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return 0
	}
	main, _, _ := strings.Cut(string(data), "\n")
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if pid := filepath.Base(filepath.Dir(file)); len(fields) > 1 && (pid == main || fields[1] == main) {
			all += CPU(string(stat))
		}
	}
	return all
}

// CPU returns the processor time of a process, and of those of its children that have ended,
// from its /proc/PID/stat.
func CPU(stat string) (all time.Duration) {
	_, rest, _ := strings.Cut(stat, ") ")
	fields := strings.Fields(rest)
	for i := 11; i <= 14 && i < len(fields); i++ { // utime, stime, cutime, cstime
		ticks, _ := strconv.Atoi(fields[i])
		all += time.Duration(ticks) * time.Second / 100
	}
	return all
}

// Stop stops the server: smart, fast, or immediate, as after a power cut.
func (s *Server) Stop(mode string) {
	cmd := s.command("pg_ctl", "-D", s.data(), "-w", "-m", mode, "stop")
	if out, err := cmd.CombinedOutput(); err != nil && !strings.Contains(string(out), "PID file") {
		s.t.Errorf("stop PostgreSQL: %v: %s", err, out)
	}
}

func (s *Server) run(name string, args ...string) {
	s.t.Helper()
	var out bytes.Buffer
	cmd := s.command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 10 * time.Second // the server it leaves keeps nothing of ours
	if err := cmd.Run(); err != nil && err != exec.ErrWaitDelay {
		log, _ := os.ReadFile(filepath.Join(s.Dir, "log"))
		s.t.Fatalf("%s: %v: %s\n%s", name, err, &out, log)
	}
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.who}
	return cmd
}
