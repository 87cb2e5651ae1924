//go:build linux

package attempts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// evil is what an attempt writes where programs outside take orders.
const evil = "EVIL"

// plants is an attempt to leave something behind: after the command, the names
// must be as they were.
func plants(name, script string, before map[string]string, names ...string) Attempt {
	return Attempt{Name: name, try: func(t *try) error {
		for file, text := range before {
			if err := t.put(file, text); err != nil {
				return err
			}
		}
		if _, err := t.sh(script); err != nil {
			return err
		}
		for _, name := range names {
			if err := t.clear(name, before); err != nil {
				return err
			}
		}
		for file, text := range before {
			if slices.Contains(unprotected, file) {
				continue
			}
			if data, err := os.ReadFile(filepath.Join(t.dir, file)); err != nil || string(data) != text {
				return reached("%s is now %q, %v", file, data, err)
			}
		}
		return t.untouched()
	}}
}

// clear fails if what is at name has something evil in it, or leads outside.
func (t *try) clear(name string, before map[string]string) error {
	return filepath.WalkDir(filepath.Join(t.dir, name), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it is not there, as it should be
		}
		rel, _ := filepath.Rel(t.dir, path) // it is below
		if _, was := before[rel]; was {
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 {
			return reached("it left the link %s", rel)
		}
		data, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(data), evil) {
			return reached("it left %s: %q", rel, data)
		}
		return nil
	})
}

// unprotected are files of a repository that a command may change, and so lose
// when the directory is put back in the middle of its exchange.
var unprotected = []string{".git/HEAD", ".git/objects/x", ".git/refs/x"}

const repository = "[core]\n\trepositoryformatversion = 0\n"

func persisting() []Attempt {
	git := map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/config": repository, ".git/hooks/pre-commit.sample": "sample", ".git/objects/x": "", ".git/refs/x": ""}
	return []Attempt{
		plants("a hook of git", "mkdir -p .git/hooks; echo EVIL > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; echo EVIL > .git/hooks/pre-commit.sample", git, ".git/hooks"),
		plants("git's configuration", "git config core.fsmonitor EVIL; echo '[core] fsmonitor = EVIL' >> .git/config; printf '[core]\\nfsmonitor=EVIL\\n' > c; mv c .git/config", git, ".git/config"),
		plants("the git directory, exchanged", "cp -r .git .git2; mv .git .git3; mv .git2 .git; echo EVIL > .git/hooks/pre-commit; echo '[core]\nfsmonitor=EVIL' >> .git/config", git, ".git"),
		plants("a new git directory", "git init -q; echo EVIL > .git/hooks/post-checkout; git config core.pager EVIL; git config alias.st '!EVIL'; printf '[include]\\npath=/EVIL\\n' >> .git/config", nil, ".git"),
		plants("a git directory in a directory", "mkdir -p a/b; cd a/b; git init -q; echo EVIL > .git/hooks/pre-push; git config core.sshCommand EVIL", nil, "a"),
		plants("a file .git that names a directory outside", `mkdir x; echo "gitdir: $OUT/EVIL" > x/.git; echo "gitdir: $OUT/EVIL" > .git`, nil, "x", ".git"),
		plants("the configuration of a worktree", "git config extensions.worktreeConfig true; printf '[core]\\nfsmonitor=EVIL\\n' > .git/config.worktree; mkdir -p .git/worktrees/w; printf '[core]\\nfsmonitor=EVIL\\n' > .git/worktrees/w/config.worktree", git, ".git/config.worktree", ".git/config"),
		plants("the configuration of a submodule", "printf '[core]\\nfsmonitor=EVIL\\n' > .git/modules/m/config; echo EVIL > .git/modules/m/hooks/post-checkout",
			map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/config": repository, ".git/modules/m/config": repository, ".git/modules/m/hooks/x.sample": "s"}, ".git/modules"),
		plants("a shell's start-up file that is there", "echo EVIL >> .bashrc; sed -i s/safe/EVIL/ .bashrc; rm -f .bashrc; echo EVIL > .bashrc; echo EVIL > n; mv n .bashrc", map[string]string{".bashrc": "safe\n"}),
		plants("shells' start-up files that are not there", "for f in .bashrc .bash_profile .profile .zshrc .zshenv .envrc .inputrc .gitconfig; do echo EVIL > $f; done", nil, ".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".envrc", ".inputrc", ".gitconfig"),
		plants("an editor's settings that are there", "echo EVIL > .vscode/tasks.json; echo EVIL > .vscode/new.json; rm -rf .vscode; mkdir .vscode; echo EVIL > .vscode/tasks.json", map[string]string{".vscode/tasks.json": "{}"}, ".vscode"),
		plants("editors' settings that are not there", "mkdir -p .vscode .idea .devcontainer; echo EVIL > .vscode/tasks.json; echo EVIL > .idea/workspace.xml; echo EVIL > .devcontainer/devcontainer.json; echo EVIL > .exrc; echo EVIL > .vimrc", nil, ".vscode", ".idea", ".devcontainer", ".exrc", ".vimrc"),
		plants("an agent's settings that are there", "echo EVIL > .claude/settings.json; echo EVIL > openmanus.toml", map[string]string{".claude/settings.json": "{}", "openmanus.toml": "# mine\n"}, ".claude"),
		plants("agents' settings that are not there", "mkdir -p .claude .codex .cursor .gemini .openmanus; echo EVIL > .claude/settings.json; echo EVIL > .codex/config.toml; echo EVIL > .cursor/mcp.json; echo EVIL > .gemini/settings.json; echo EVIL > .openmanus/x; echo EVIL > openmanus.toml; echo EVIL > .mcp.json",
			nil, ".claude", ".codex", ".cursor", ".gemini", ".openmanus", "openmanus.toml", ".mcp.json"),
		plants("settings that are a link", "mkdir real; echo EVIL > real/tasks.json; ln -s real .vscode; ln -s real/tasks.json .bashrc; ln -s real .git", nil, ".vscode", ".bashrc", ".git"),
		Attempt{Name: "programs with the set-user-ID bit", try: func(t *try) error {
			if _, err := t.py("for f in (lambda: (open('a','w').close(), os.chmod('a',0o4755)), lambda: os.close(os.open('b',os.O_CREAT|os.O_WRONLY,0o6755)), lambda: os.mknod('c',0o104755), lambda: (open('d','w').close(), os.fchmod(os.open('d',1),0o2755)), lambda: os.setxattr('a','security.capability',bytes.fromhex('0100000200040000000000000000000000000000'))):\n  try: f()\n  except OSError as e: print(e)"); err != nil {
				return err
			}
			return filepath.WalkDir(t.dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				if info, err := d.Info(); err == nil && info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
					return reached("it made %s with mode %v", path, info.Mode())
				}
				if n, err := unix.Getxattr(path, "security.capability", nil); err == nil && n > 0 {
					return reached("it made %s with capabilities", path)
				}
				return nil
			})
		}},
	}
}

// call is Python that makes system call n, by its numbers on amd64 and arm64.
func call(n [2]int, args string) string {
	number := n[0]
	if runtime.GOARCH == "arm64" {
		number = n[1]
	}
	return fmt.Sprintf("r=libc.syscall(%d,%s)\nprint('REACHED' if r>=0 else errno.errorcode.get(ctypes.get_errno()))", number, args)
}

func kernel() []Attempt {
	null := "None"
	return []Attempt{
		calls("a user namespace, by unshare", call([2]int{272, 97}, "0x10000000")),
		calls("a mount namespace, by unshare", call([2]int{272, 97}, "0x00020000")),
		calls("a user namespace, by clone", "r=libc.syscall("+fmt.Sprint(map[string]int{"amd64": 56, "arm64": 220}[runtime.GOARCH])+",0x10000011,None,None,None,None)\nif r==0: os._exit(0)\nprint('REACHED' if r>0 else errno.errorcode.get(ctypes.get_errno()))"),
		calls("a user namespace, by clone3", "b=(ctypes.c_uint64*11)(0x10000000,0,0,0,17)\nr=libc.syscall(435,b,88)\nif r==0: os._exit(0)\nprint('REACHED' if r>0 else errno.errorcode.get(ctypes.get_errno()))"),
		calls("another process's namespace", "import glob\nfor f in glob.glob('/proc/*/ns/*'):\n  try: fd=os.open(f,0)\n  except OSError: continue\n  if libc.setns(fd,0)==0: print('REACHED',f)"),
		calls("io_uring", call([2]int{425, 425}, "8,(ctypes.c_char*120)()")),
		calls("bpf", call([2]int{321, 280}, "0,(ctypes.c_uint32*32)(1,4,4,1),128")),
		calls("performance events", call([2]int{298, 241}, "(ctypes.c_uint32*32)(1,128),0,-1,-1,0")),
		calls("the kernel's keys", call([2]int{250, 219}, "0,-3,1")+"\n"+call([2]int{248, 217}, "b'user',b'x',b'y',1,-3")),
		calls("userfaultfd", call([2]int{323, 282}, "1")),
		calls("mounts", call([2]int{165, 40}, "b'none',b'/tmp',b'tmpfs',0,None")+"\n"+call([2]int{166, 39}, "b'/proc',2")+"\n"+call([2]int{430, 430}, "b'tmpfs',0")+"\n"+call([2]int{428, 428}, "-100,b'/',1")),
		calls("a root of its own", call([2]int{161, 51}, "b'.'")+"\n"+call([2]int{155, 41}, "b'.',b'.'")),
		calls("files by handle", call([2]int{304, 265}, "-100,(ctypes.c_char*128)(),0")+"\nif errno.errorcode.get(ctypes.get_errno()) in ('EINVAL','ESTALE','EBADF'): print('REACHED')"),
		calls("a terminal's input", "import fcntl\nfor f in ('/dev/tty','/dev/console','/dev/tty0'):\n  try: fcntl.ioctl(os.open(f,2),0x5412,b'x'); print('REACHED')\n  except OSError as e: print(e)\ntry: fcntl.ioctl(0,0x5412,b'x'); print('REACHED')\nexcept OSError as e: print('REACHED' if e.errno==errno.ENOTTY and 0 else e)"),
		calls("a terminal to write to", "for f in ('/dev/tty','/dev/console','/dev/tty1'):\n  try: os.write(os.open(f,1),b'\\x1b]52;c;RVZJTA==\\x07'); print('REACHED',f)\n  except OSError as e: print(e)"),
		calls("tracing its own supervisor", "import signal\nlibc.ptrace.restype=ctypes.c_long\nfor p in {1,os.getppid()}:\n  print('REACHED' if libc.ptrace(16,p,0,0)==0 or libc.ptrace(0x4206,p,0,0)==0 else ctypes.get_errno())"),
		calls("another process's memory", "b=ctypes.create_string_buffer(8)\nclass V(ctypes.Structure): _fields_=[('b',ctypes.c_void_p),('n',ctypes.c_size_t)]\nv=V(ctypes.addressof(b),8)\n"+call([2]int{310, 270}, "os.getppid(),ctypes.byref(v),1,ctypes.byref(v),1,0")),
		calls("modules, kexec, reboot, swap", call([2]int{175, 105}, null+",0,b''")+"\n"+call([2]int{313, 273}, "0,b'',0")+"\n"+call([2]int{167, 224}, "b'/nowhere',0")+"\n"+call([2]int{169, 142}, "0xfee1dead,672274793,0x89ABCDEF,0")),
		calls("the clock and the name of the machine", call([2]int{227, 112}, "0,(ctypes.c_long*2)(0,0)")+"\n"+call([2]int{170, 161}, "b'x',1")),
		calls("the kernel's log", call([2]int{103, 116}, "3,ctypes.create_string_buffer(100),100")),
		calls("devices", "import stat\nfor n,m,d in (('disk',stat.S_IFBLK,(254,0)),('mem',stat.S_IFCHR,(1,1)),('kmsg',stat.S_IFCHR,(1,11))):\n  try: os.mknod(n,m|0o666,os.makedev(*d)); print('REACHED',n)\n  except OSError as e: print(e)\nfor f in ('/dev/mem','/dev/kmsg','/dev/kvm','/dev/fuse','/dev/vda','/dev/sda','/dev/net/tun'):\n  try: os.open(f,2); print('REACHED',f)\n  except OSError as e: print(e)"),
		calls("capabilities", "class H(ctypes.Structure): _fields_=[('v',ctypes.c_uint32),('p',ctypes.c_int)]\nd=(ctypes.c_uint32*6)()\nh=H(0x20080522,0)\nlibc.capget(ctypes.byref(h),d)\nif any(d): print('REACHED',list(d))\nif libc.prctl(39,0,0,0,0)!=1: print('REACHED new privileges')"),
	}
}

func resources() []Attempt {
	return []Attempt{
		{Name: "more memory than there is to be had", try: tooMuchMemory},
		{Name: "a fork bomb", try: forkBomb},
		{Name: "a full disk", try: fullDisk},
		{Name: "an endless file", try: endlessFile},
		{Name: "a gigabyte of output without a line", try: endlessLine},
		survivor("a daemon", "(setsid sh -c 'exec sleep 1000' &) ; echo ready", false),
		survivor("a daemon that forked twice and forgot its environment", "env -i /usr/bin/setsid -f /bin/sh -c 'sleep 1000 & exec sleep 1000' 2>/dev/null; echo ready", false),
		survivor("a process that ignores SIGTERM", "trap '' TERM HUP INT; echo ready; while :; do sleep 1; done", true),
		survivor("a process without input and output", "(exec <&- >&- 2>&-; setsid sleep 1000 &); echo ready", false),
		survivor("a process that stops its supervisor", "kill -STOP $PPID 1; echo ready; sleep 1000", true),
		survivor("a process that kills its supervisor", "setsid sh -c 'trap \"\" TERM HUP; sleep 1000' & kill -9 $PPID 1; echo ready; sleep 1000", true),
		survivor("processes that are stopped", "(sleep 1000 & kill -STOP $!); echo ready", false),
	}
}

// tooMuchMemory takes memory in pieces, by several processes: of 256 MB no two
// of them may get 200.
func tooMuchMemory(t *try) error {
	t.options = func(o *sandbox.Options) { o.Memory = 256 << 20 }
	ws, err := t.open()
	if err != nil {
		return err
	}
	out := new(limited)
	err = ws.Run(t.ctx, &workspace.Cmd{Args: []string{"/usr/bin/python3", "-c", "import os,sys,time\nfor i in range(6): \n  if os.fork()==0: break\nprint('" + tried + "',flush=True)\nb=[]\nfor i in range(40):\n  b.append(bytearray(os.urandom(1<<20)*5)); time.sleep(0.02)\ntime.sleep(1)\nprint('REACHED',flush=True)\nos.wait()\n"}, Stdout: out, Stderr: out})
	if !strings.Contains(out.String(), tried) {
		return fmt.Errorf("the attempt could not be made: %w: %s", err, out)
	}
	if n := strings.Count(out.String(), "REACHED"); n > 1 {
		return reached("%d processes got 200 MB each, of 256 MB", n)
	}
	return nil
}

// forkBomb starts processes until it cannot.
func forkBomb(t *try) error {
	t.options = func(o *sandbox.Options) { o.Processes = 100 }
	if os.Getuid() != 0 && t.cage.Kind == sandbox.Landlock {
		// All processes of the user count there.
		t.options = func(o *sandbox.Options) { o.Processes = 100 + len(own()) }
	}
	out, err := t.py("n=0\nfor i in range(600):\n  try:\n    if os.fork()==0:\n      time.sleep(100); os._exit(0)\n    n+=1\n  except OSError: break\nprint('COUNT',n,'.')\nsys.stdout.flush()")
	if err != nil {
		return err
	}
	_, count, _ := strings.Cut(out, "COUNT")
	var n int
	if _, err := fmt.Sscan(count, &n); err != nil {
		return fmt.Errorf("the attempt could not be made: %w: %s", err, out)
	}
	if n > 150 {
		return reached("it started %d processes, of 100", n)
	}
	return nil
}

// fullDisk writes a gigabyte where there is room for 64 MB.
func fullDisk(t *try) error {
	dir, err := os.MkdirTemp("/dev/shm", "openmanus-attempt-")
	if err != nil {
		return err
	}
	t.clean = append(t.clean, func() { os.RemoveAll(dir) })
	t.dir = dir
	if err := t.give(dir); err != nil {
		return err
	}
	var room unix.Statfs_t
	if err := unix.Statfs(dir, &room); err != nil {
		return err
	}
	t.options = func(o *sandbox.Options) {
		o.Reserve = int64(room.Bavail)*int64(room.Bsize) - 64<<20
		o.Memory = 2 << 30
	}
	ws, err := t.open()
	if err != nil {
		return err
	}
	err = ws.Run(t.ctx, &workspace.Cmd{Args: []string{"sh", "-c", "i=0; while [ $i -lt 64 ]; do head -c 16000000 /dev/zero > f$i; sleep 0.05; i=$((i+1)); done"}})
	var sum int64
	entries, _ := os.ReadDir(dir) // it is there
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			sum += info.Size()
		}
	}
	if err == nil || sum > 700<<20 {
		return reached("it wrote %d MB, with room for 64", sum>>20)
	}
	return nil
}

// endlessFile makes files longer than they may be.
func endlessFile(t *try) error {
	t.options = func(o *sandbox.Options) { o.FileSize = 16 << 20 }
	if _, err := t.sh("trap '' XFSZ; head -c 64000000 /dev/zero > big; truncate -s 1T huge"); err != nil {
		return err
	}
	for _, name := range []string{"big", "huge"} {
		if info, err := os.Stat(filepath.Join(t.dir, name)); err == nil && info.Size() > 16<<20 {
			return reached("%s has %d bytes, of 16 MB", name, info.Size())
		}
	}
	return nil
}

// endlessLine prints a gigabyte, which must not lie in our memory.
func endlessLine(t *try) error {
	ws, err := t.open()
	if err != nil {
		return err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out := new(limited)
	if err := ws.Run(t.ctx, &workspace.Cmd{Args: []string{"head", "-c", "1073741824", "/dev/zero"}, Stdout: out}); err != nil || out.n != 1<<30 {
		return fmt.Errorf("the attempt could not be made: %w, %d bytes", err, out.n)
	}
	if runtime.ReadMemStats(&after); after.Sys > before.Sys+256<<20 {
		return reached("it made this process grow by %d MB", (after.Sys-before.Sys)>>20)
	}
	return nil
}

// own are the processes of this user.
func own() []string {
	names, _ := filepath.Glob("/proc/[0-9]*/task/*") // the pattern is right
	var mine []string
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			if st, ok := info.Sys().(*unixStat); ok && int(st.Uid) == os.Getuid() {
				mine = append(mine, name)
			}
		}
	}
	return mine
}

// survivor is an attempt to outlive the command. Its processes hold a pipe.
func survivor(name, script string, cancelled bool) Attempt {
	return Attempt{Name: name, try: func(t *try) error {
		pipe := filepath.Join(t.dir, "alive")
		if err := errors.Join(unix.Mkfifo(pipe, 0o666), t.give(pipe)); err != nil {
			return err
		}
		ws, err := t.open()
		if err != nil {
			return err
		}
		dead := make(chan error, 1)
		go func() {
			f, err := os.Open(pipe)
			if err == nil {
				_, err = f.Read(make([]byte, 1))
				f.Close()
			}
			dead <- err
		}()
		ctx, cancel := context.WithCancel(t.ctx)
		defer cancel()
		out := &signalled{word: "ready", seen: make(chan struct{})}
		ended := make(chan error, 1)
		go func() {
			ended <- ws.Run(ctx, &workspace.Cmd{Args: []string{"sh", "-c", "exec 9>alive; " + script}, Stdout: out, Stderr: out})
		}()
		if cancelled {
			select {
			case <-out.seen:
			case err := <-ended:
				return fmt.Errorf("the attempt could not be made: %w: %s", err, out)
			}
			cancel()
		}
		select {
		case <-ended:
		case <-t.ctx.Done():
			return reached("the call hangs")
		}
		select {
		case <-dead:
			return nil
		case <-t.ctx.Done():
			return reached("it lives on")
		}
	}}
}

type signalled struct {
	limited
	once sync.Once
	word string
	seen chan struct{}
}

func (s *signalled) Write(p []byte) (int, error) {
	n, err := s.limited.Write(p)
	if strings.Contains(s.String(), s.word) {
		s.once.Do(func() { close(s.seen) })
	}
	return n, err
}

func fileTools() []Attempt {
	return []Attempt{
		Attempt{Name: "a directory that turns into a link while a file in it is written", try: func(t *try) error {
			ws, err := t.open()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithCancel(t.ctx)
			out := &signalled{word: "ready", seen: make(chan struct{})}
			ended := make(chan error, 1)
			go func() {
				ended <- ws.Run(ctx, &workspace.Cmd{Args: []string{"sh", "-c", "mkdir real; ln -s ../outside link; echo ready; while :; do mv real d; mv d real; mv link d; mv d link; done 2>/dev/null"}, Stdout: out})
			}()
			<-out.seen
			for range 300 {
				_ = ws.WriteFile(t.ctx, "d/new", []byte("x")) // it may fail, and must not reach outside
				if data, err := fs.ReadFile(ws.FS(), "d/canary"); err == nil && string(data) == t.canary {
					cancel()
					<-ended
					return reached("it made us read outside")
				}
			}
			cancel()
			<-ended
			return t.untouched()
		}},
		fileTool("a link to the outside", `ln -s ../outside out; ln -s "$OUT/canary" c; ln -s /etc/passwd p`, "out/canary", "out/new", "c", "p"),
		fileTool("pipes, sockets and devices", "mkfifo pipe; ln -s pipe link; ln -s /dev/zero zero; ln -s /dev/stdin in; /usr/bin/python3 -c \"import socket;socket.socket(1).bind('sock')\"", "pipe", "link", "zero", "in", "sock"),
		fileTool("names with dots, roots and zeroes", "true", "../outside/canary", "/etc/passwd", "x/../../outside/canary", "\\\\host\\share", "a\x00b", "..", "."),
		Attempt{Name: "a hard link to a file outside", try: func(t *try) error {
			if err := os.Link(filepath.Join(t.outside, "canary"), filepath.Join(t.dir, "linked")); err != nil {
				return err
			}
			ws, err := t.open()
			if err != nil {
				return err
			}
			if err := ws.WriteFile(t.ctx, "linked", []byte("x")); err != nil {
				return err
			}
			return t.untouched()
		}},
		Attempt{Name: "protected files, by the file tools", try: func(t *try) error {
			if err := t.put(".git/config", repository); err != nil {
				return err
			}
			if _, err := t.sh("ln -s .git/hooks h; ln -s .bashrc b; mkdir -p .git/hooks"); err != nil {
				return err
			}
			for _, name := range []string{".git/hooks/pre-commit", ".git/config", "h/pre-commit", "b", ".bashrc", ".vscode/tasks.json", "openmanus.toml", "sub/.git/config"} {
				if err := t.ws.WriteFile(t.ctx, name, []byte(evil)); err == nil {
					return reached("they wrote %s", name)
				}
			}
			return nil
		}},
		Attempt{Name: "files of ours with names that can be guessed", try: func(t *try) error {
			if _, err := t.open(); err != nil {
				return err
			}
			dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), "openmanus-cage-*")) // the pattern is right
			if len(dirs) == 0 {
				return errors.New("the attempt could not be made: there is no private directory")
			}
			for _, dir := range dirs {
				if info, err := os.Lstat(dir); err == nil && (info.Mode().Perm() != 0o700 || len(filepath.Base(dir)) < len("openmanus-cage-")+6) {
					return reached("%s has the mode %v", dir, info.Mode())
				}
			}
			return nil
		}},
		Attempt{Name: "our own program, overwritten", try: func(t *try) error {
			exe, err := os.Executable()
			if err != nil {
				return err
			}
			before, err := os.Stat(exe)
			if err != nil {
				return err
			}
			out, err := t.py(fmt.Sprintf("for f in ('/proc/self/exe','/proc/%%d/exe'%%os.getppid(),'/proc/1/exe',%q):\n  try: fd=os.open(f,1); print('REACHED',f)\n  except OSError as e: print(e)", exe))
			if err != nil {
				return err
			}
			if after, err := os.Stat(exe); strings.Contains(out, "REACHED") || err != nil || !after.ModTime().Equal(before.ModTime()) {
				return reached("it can write it: %s", out)
			}
			return nil
		}},
	}
}

// fileTool is an attempt to lead the file tools astray.
func fileTool(name, script string, names ...string) Attempt {
	return Attempt{Name: name, try: func(t *try) error {
		if _, err := t.sh(script); err != nil {
			return err
		}
		for _, name := range names {
			if _, err := os.Lstat(filepath.Join(t.dir, name)); t.cage.Kind == sandbox.Landlock && name == "sock" && err != nil {
				continue // it could not be made there
			}
			done := make(chan error, 1)
			go func() {
				data, err := fs.ReadFile(t.ws.FS(), name)
				if err == nil {
					done <- reached("they read %q: %.40q", name, data)
					return
				}
				if err := t.ws.WriteFile(t.ctx, name, []byte("x")); err == nil && !strings.HasPrefix(name, `\`) {
					done <- reached("they wrote %q", name)
					return
				}
				done <- nil
			}()
			select {
			case err := <-done:
				if err != nil {
					return err
				}
			case <-t.ctx.Done():
				return reached("%q hangs them", name)
			}
		}
		return t.untouched()
	}}
}

// wayOut are attempts with the network "hosts", of which allowed.example alone
// is let through. A cage that cannot have that network refuses it.
func wayOut() []Attempt {
	asks := func(name, requests string) Attempt {
		return Attempt{Name: name, try: func(t *try) error {
			addr, came, err := t.listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			if t.cage.Proxy == nil {
				return errors.New("the attempt could not be made: there is no proxy")
			}
			t.options = func(o *sandbox.Options) { o.Network, o.Proxy = sandbox.Hosts, t.cage.Proxy }
			if _, err := t.open(); errors.Is(err, sandbox.ErrNone) {
				return nil // it refuses
			}
			port := addr.String()[strings.LastIndexByte(addr.String(), ':')+1:]
			script := "P='" + port + "'\ndef say(data,read=300):\n  s=socket.create_connection(('127.0.0.1',3128),5); s.settimeout(5); s.sendall(data if isinstance(data,bytes) else data.encode('latin1'))\n  r=s.recv(read); print(data,r); return r,s\nsay('GET http://'+'x.example/ HTTP/1.1\\r\\nHost: x.example\\r\\n\\r\\n')\n" + requests
			out, err := t.py(script)
			if err != nil {
				return err
			}
			if !strings.Contains(out, "HTTP/1.") {
				return fmt.Errorf("the attempt could not be made: the proxy does not answer: %s", out)
			}
			if strings.Contains(out, "REACHED") {
				return reached("%s", out)
			}
			return came()
		}}
	}
	each := func(hosts, request string) string {
		return "for h in (" + hosts + "):\n  try:\n    " + request + "\n  except OSError as e: print(e)\n"
	}
	connect := "r,s=say('CONNECT '+h+':'+P+' HTTP/1.1\\r\\nHost: '+h+':'+P+'\\r\\n\\r\\n')\n    if b' 200 ' in r: print('REACHED',h)"
	get := "r,s=say('GET http://'+h+':'+P+'/ HTTP/1.1\\r\\nHost: '+h+'\\r\\n\\r\\n')"
	return []Attempt{
		asks("a host that is not on the list", each("'attacker.example','127.0.0.1','localhost','allowed.example.attacker.example'", connect)),
		asks("a host with NUL, line ends, dots, escapes", each(`'attacker.example\0allowed.example','allowed.example\r\nX: y','127.0.0.1\0.allowed.example','127.0.0.1%2eallowed.example','127.0.0.1#allowed.example','allowed.example@127.0.0.1'`, connect)),
		asks("an address in other digits", each("'2130706433','0x7f000001','0177.0.0.1','127.1','[::ffff:127.0.0.1]','[::1]','0','127.0.0.1.'", connect+"\n    "+get)),
		asks("an allowed host at a private address", each("'allowed.example'", connect+"\n    "+get)),
		asks("a Host that differs from the address", each("'127.0.0.1'", "say('GET http://127.0.0.1:'+P+'/ HTTP/1.1\\r\\nHost: allowed.example\\r\\n\\r\\n')\n    say('GET / HTTP/1.1\\r\\nHost: 127.0.0.1:'+P+'\\r\\n\\r\\n')")),
		asks("SOCKS, by name and by address", "import struct\nfor a in (b'\\1\\x7f\\0\\0\\1',b'\\3\\x09localhost',b'\\3\\x1aattacker.example\\0allowed.ex',b'\\4'+b'\\0'*15+b'\\1'):\n  try:\n    r,s=say(b'\\5\\1\\0',2)\n    s.sendall(b'\\5\\1\\0'+a+struct.pack('>H',int(P)))\n    r=s.recv(10)\n    print(r)\n    if len(r)>1 and r[1]==0: print('REACHED',a)\n  except OSError as e: print(e)\n"),
		asks("without the proxy", "for k in list(os.environ):\n  if 'proxy' in k.lower(): del os.environ[k]\nfor h,p in (('127.0.0.1',int(P)),('8.8.8.8',53),('1.1.1.1',443)):\n  for k in (1,2):\n    try:\n      s=socket.socket(2,k); s.settimeout(1); s.connect((h,p)); s.send(b'x'); s.recv(10); print('REACHED',h)\n    except OSError as e: print(e)\n"),
	}
}
