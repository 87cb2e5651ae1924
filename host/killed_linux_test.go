//go:build linux && amd64

package host_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/testbed"
)

// killedEnv has the order for a process that a test kills, as JSON.
const killedEnv = "HOST_TEST_KILLED"

// An order names a program, in a place that has its tree.
type order struct {
	Dir  string
	Seed uint64
	N    uint64
}

// TestBeKilled is what the process does that is to be killed: a program, after which the
// session goes back. It does nothing without an order.
func TestBeKilled(t *testing.T) {
	var o order
	if text := os.Getenv(killedEnv); text == "" {
		return
	} else if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	p := placeAt(t, o.Dir)
	h, db, _ := p.open("sandbox=none")
	g := p.program("p", o.Seed, o.N)
	g.run(h, db, func(name, text string) { // by one rename, after which the test knows of it
		p.write("saved", text)
		if err := os.MkdirAll(filepath.Dir(p.path("p/ws/"+name)), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(p.path("saves"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err == nil {
			err = errors.Join(os.Rename(p.path("saved"), p.path("p/ws/"+name)), json.NewEncoder(f).Encode([]string{name, text}), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	first, _ := g.begun(db)
	if _, err := h.GoBack(t.Context(), "p", act.Rewind{To: first, Files: true}, nil); err != nil {
		t.Fatal(err)
	}
}

// TestKilledAtAnyWrite: a process that carries out a program, and then goes back, is killed
// before one of the system calls by which it or its commands write into the workspace or
// the store. Another process goes back, at once or after it went on: everything of the
// session is as it was, and what the person saved is untouched. KILLED=N kills N programs
// before each of their writes; without it, one is killed before some of them.
func TestKilledAtAnyWrite(t *testing.T) {
	programs, every := 1, false
	if n, err := strconv.Atoi(os.Getenv("KILLED")); err == nil {
		programs, every = n, true
	}
	kills := 0
	for n := range uint64(programs) {
		writes := killed(t, n, 0)
		for at := 1; at <= writes && !t.Failed(); at++ {
			if every || testbed.Drawn(at, max(1, writes/8)) {
				killed(t, n, at)
				kills++
			}
		}
	}
	if t.Logf("%d programs, %d kills", programs, kills); kills < 4*programs {
		t.Error("these kills are too few to say anything")
	}
}

// killed carries out a program in a process that is killed before a write, or not at all if
// that is 0, and looks at what another process makes of it. It returns how many writes
// there were.
func killed(t *testing.T, n uint64, at int) (writes int) {
	t.Run(fmt.Sprintf("program %d killed at %d", n, at), func(t *testing.T) {
		p := newPlace(t, "")
		g := p.program("p", testbed.Seed(), n)
		g.plant()
		l := play(t, order{p.dir, testbed.Seed(), n}, at)
		writes = l.count
		yours := make(map[string]string)
		if data, err := os.ReadFile(p.path("saves")); err == nil {
			for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
				var save [2]string
				if err := json.Unmarshal(lines.Bytes(), &save); err != nil {
					t.Fatal(err)
				}
				yours[save[0]] = save[1]
			}
		}
		h, db, _ := p.open("sandbox=none")
		if first, last := g.begun(db); at%2 == 1 && last > first {
			p.wake(h, db, "p")
		}
		if g.goBack(h, db, yours); t.Failed() {
			t.Logf("SEED=%d, before %s\n%s", testbed.Seed(), l.last, strings.Join(g.script, "\n"))
		}
	})
	return writes
}

// play starts a process that plays, and kills it before the write number at.
func play(t *testing.T, o order, at int) *listener {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestBeKilled$")
	cmd.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + filepath.Join(o.Dir, "home"), killedEnv + "=" + string(text)}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	l := &listener{below: []string{o.Dir + "/p/", o.Dir + "/data"}}
	if err := l.start(cmd); errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EBUSY) {
		testbed.Lacks(t, fmt.Errorf("the kernel does not tell of system calls here: %w", err))
	} else if err != nil {
		t.Fatal(err)
	}
	l.serve(func() bool {
		if l.count == at {
			_ = cmd.Process.Kill()
		}
		return at > 0 && l.count >= at // and what it has started
	})
	if err := cmd.Wait(); err != nil && (at == 0 || l.count < at) {
		t.Fatalf("%v:\n%s", err, out.String())
	}
	return l
}

// A listener hears of each system call that changes files before the process makes it, or
// one that the process started.
type listener struct {
	fd    int
	below []string // only what is below these directories counts
	count int
	last  string // the call that was counted last
}

// A place where a call says which file it changes: by the descriptor of its directory in one
// argument, or the working directory if that is -1, and the path in another, or no path if
// that is -1.
type naming struct{ dir, path int }

var changing = map[int32]naming{
	unix.SYS_OPEN: {-1, 0}, unix.SYS_OPENAT: {0, 1}, unix.SYS_CREAT: {-1, 0}, unix.SYS_MKNOD: {-1, 0}, unix.SYS_MKNODAT: {0, 1},
	unix.SYS_RENAME: {-1, 1}, unix.SYS_RENAMEAT: {2, 3}, unix.SYS_RENAMEAT2: {2, 3}, unix.SYS_LINK: {-1, 1}, unix.SYS_LINKAT: {2, 3},
	unix.SYS_SYMLINK: {-1, 1}, unix.SYS_SYMLINKAT: {1, 2}, unix.SYS_UNLINK: {-1, 0}, unix.SYS_UNLINKAT: {0, 1}, unix.SYS_RMDIR: {-1, 0},
	unix.SYS_MKDIR: {-1, 0}, unix.SYS_MKDIRAT: {0, 1}, unix.SYS_CHMOD: {-1, 0}, unix.SYS_FCHMODAT: {0, 1}, unix.SYS_FCHMODAT2: {0, 1},
	unix.SYS_CHOWN: {-1, 0}, unix.SYS_LCHOWN: {-1, 0}, unix.SYS_FCHOWNAT: {0, 1}, unix.SYS_UTIMENSAT: {0, 1}, unix.SYS_TRUNCATE: {-1, 0},
	unix.SYS_SETXATTR: {-1, 0}, unix.SYS_LSETXATTR: {-1, 0}, unix.SYS_FSETXATTR: {0, -1}, unix.SYS_FCHMOD: {0, -1}, unix.SYS_FCHOWN: {0, -1},
	unix.SYS_WRITE: {0, -1}, unix.SYS_WRITEV: {0, -1}, unix.SYS_PWRITE64: {0, -1}, unix.SYS_PWRITEV: {0, -1}, unix.SYS_FTRUNCATE: {0, -1},
	unix.SYS_FALLOCATE: {0, -1}, unix.SYS_COPY_FILE_RANGE: {2, -1}, unix.SYS_SENDFILE: {0, -1}, unix.SYS_SPLICE: {2, -1},
}

// filter returns a program that asks the listener about these calls, and about opening if a
// file may be made or emptied.
func filter() []unix.SockFilter {
	const ask, allow, making = unix.SECCOMP_RET_USER_NOTIF, unix.SECCOMP_RET_ALLOW, unix.O_CREAT | unix.O_TRUNC
	p := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}}
	for nr := range changing {
		flags := map[int32]uint32{unix.SYS_OPEN: 16 + 8, unix.SYS_OPENAT: 16 + 2*8}[nr]
		if flags == 0 {
			p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: uint32(nr)},
				unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: ask})
			continue
		}
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 4, K: uint32(nr)},
			unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: flags},
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: 1, K: making},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: ask}, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: allow})
	}
	return append(p, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: allow})
}

// start starts cmd on a thread that has the filter, and that ends with this.
func (l *listener) start(cmd *exec.Cmd) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() { // the first thread does not end
			other := make(chan error)
			go func() { other <- l.start(cmd) }()
			err := <-other
			runtime.UnlockOSThread()
			done <- err
			return
		}
		p := filter()
		prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			done <- err
			return
		}
		const waitKillable = 1 << 5 // SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV: a signal does not repeat a call
		fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
			unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|waitKillable, uintptr(unsafe.Pointer(&prog)))
		if errno != 0 {
			done <- errno
			return
		}
		l.fd = int(fd)
		done <- cmd.Start()
	}()
	return <-done
}

// A told is struct seccomp_notif of linux/seccomp.h, and an answer struct seccomp_notif_resp.
type told struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type answer struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

// serve lets calls go on until no process is left. end is called after a call was
// counted, and the process that made it is killed if it returns true.
func (l *listener) serve(end func() bool) {
	const receive, send, goOn = 0xc0502100, 0xc0182101, 1
	defer unix.Close(l.fd)
	ended := false
	for fds := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}}; ; {
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) || fds[0].Revents&unix.POLLHUP != 0 {
			return
		}
		var n told
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), receive, uintptr(unsafe.Pointer(&n))); errno != 0 {
			continue // it was interrupted, or is dead
		}
		if file := l.file(&n); file != "" && !ended {
			l.count, l.last = l.count+1, fmt.Sprintf("system call %d for %s", n.nr, file)
			ended = end()
		}
		a := answer{id: n.id, flags: goOn}
		if ended {
			_ = unix.Kill(int(n.pid), unix.SIGKILL)
			a = answer{id: n.id, errno: -int32(unix.EIO)} // it would be made before the process dies
		}
		for {
			if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), send, uintptr(unsafe.Pointer(&a))); errno != unix.EINTR {
				break
			}
		}
	}
}

// file returns which file a call changes, or "" if that does not count.
func (l *listener) file(n *told) string {
	where, proc := changing[n.nr], fmt.Sprintf("/proc/%d/", n.pid)
	at, path := proc+"cwd", ""
	if where.dir >= 0 && int32(n.args[where.dir]) != unix.AT_FDCWD {
		at = proc + "fd/" + strconv.Itoa(int(int32(n.args[where.dir])))
	}
	if where.path >= 0 {
		mem, err := os.Open(proc + "mem")
		if err != nil {
			return ""
		}
		defer mem.Close()
		data := make([]byte, 4096)
		some, _ := mem.ReadAt(data, int64(n.args[where.path]))
		before, _, _ := bytes.Cut(data[:some], []byte{0})
		path = string(before)
	}
	if !filepath.IsAbs(path) {
		dir, err := os.Readlink(at)
		if err != nil {
			return ""
		}
		path = filepath.Join(dir, path)
	}
	for _, dir := range l.below {
		if strings.HasPrefix(path, dir) {
			return path
		}
	}
	return ""
}
