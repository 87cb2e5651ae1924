package sandbox

import (
	"testing"

	"golang.org/x/sys/unix"
)

// run is what the kernel does with a filter, and how many statements that
// takes.
func (b bpf) run(t *testing.T, number uint32, args ...uint32) (result uint32, steps int) {
	t.Helper()
	var a uint32
	for at := 0; ; at++ {
		s := b[at]
		steps++
		holds := false
		switch s.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			switch i := int(s.K) - dataArgs; {
			case s.K == dataNumber:
				a = number
			case s.K == dataArch:
				a = auditArch
			case i >= 0 && i%8 == 0 && i/8 < len(args):
				a = args[i/8]
			default:
				t.Fatalf("call %d: what is loaded from %d?", number, s.K)
			}
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= s.K
			continue
		case unix.BPF_RET | unix.BPF_K:
			return s.K, steps
		case unix.BPF_JMP | unix.BPF_JA:
			at += int(s.K)
			continue
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			holds = a == s.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			holds = a >= s.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			holds = a&s.K != 0
		default:
			t.Fatalf("statement %d is %+v", at, s)
		}
		if holds {
			at += int(s.Jt)
		} else {
			at += int(s.Jf)
		}
	}
}

// The filter allows, refuses and does not know what it is meant to, in a few
// steps for every call.
func TestFilter(t *testing.T) {
	for _, f := range []sysFilter{{inet: true, unix: true, ipc: true}, {names: true, metadata: true}, {inet: true, names: true, metadata: true}} {
		program := bpf(f.program())
		for n := range uint32(1024) {
			if _, steps := program.run(t, n, 0, 0, 0, 0, 0, 0); steps > 30 {
				t.Errorf("call %d takes %d steps", n, steps)
			}
		}
		for _, n := range commonCalls {
			if got, _ := program.run(t, uint32(n), 0, 0, 0, 0, 0, 0); got != allow && !f.names {
				t.Errorf("call %d: %#x, want it allowed", n, got)
			}
		}
		for _, n := range forbiddenCalls {
			if got, _ := program.run(t, uint32(n), 0, 0, 0, 0, 0, 0); got != deny {
				t.Errorf("call %d: %#x, want EPERM", n, got)
			}
		}
		node, write := uint32(allow), uint32(allow)
		if f.names {
			node, write = ask, ask
		}
		for _, c := range []struct {
			number uintptr
			arg    int
			value  uint32
			want   uint32
		}{
			{unix.SYS_CLONE, 0, unix.CLONE_NEWUSER | uint32(unix.SIGCHLD), deny},
			{unix.SYS_CLONE, 0, uint32(unix.SIGCHLD), allow},
			{unix.SYS_CLONE3, 0, 0, none},
			{unix.SYS_OPENAT2, 0, 0, none},
			{unix.SYS_IO_URING_SETUP, 0, 0, none},
			{unix.SYS_IOCTL, 1, unix.TIOCSTI, deny},
			{unix.SYS_IOCTL, 1, unix.TCGETS, allow},
			{unix.SYS_MKNODAT, 2, unix.S_IFCHR, deny},
			{unix.SYS_MKNODAT, 2, unix.S_IFIFO, node},
			{unix.SYS_OPENAT, 2, unix.O_RDONLY | unix.O_DIRECTORY, allow},
			{unix.SYS_OPENAT, 2, unix.O_WRONLY, write},
			{unix.SYS_OPENAT, 2, unix.O_RDWR, write},
			{unix.SYS_OPENAT, 2, unix.O_RDONLY | unix.O_TRUNC, write},
			{unix.SYS_OPENAT, 2, unix.O_RDONLY | unix.O_CREAT, write},
			{unix.SYS_RENAMEAT2, 0, 0, write},
			{unix.SYS_FCHMOD, 1, unix.S_ISUID | 0o755, deny},
			{unix.SYS_PERSONALITY, 0, 8, deny},
			{0x40000000 + unix.SYS_READ, 0, 0, none},
			{0xffffffff, 0, 0, none},
		} {
			args := make([]uint32, 6)
			args[c.arg] = c.value
			if got, _ := program.run(t, uint32(c.number), args...); got != c.want {
				t.Errorf("%+v: call %d with argument %d = %#x: %#x, want %#x", f, c.number, c.arg, c.value, got, c.want)
			}
		}
	}
}

// The filter for bwrap has the kernel ask about names, and about nothing else.
func TestNamesFilter(t *testing.T) {
	program := bpf(namesProgram())
	for n := range uint32(1024) {
		want := uint32(allow)
		switch uintptr(n) {
		case unix.SYS_MKDIRAT, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT, unix.SYS_SYMLINKAT,
			unix.SYS_MKNODAT, unix.SYS_TRUNCATE:
			want = ask
		}
		got, steps := program.run(t, n, 0, 0, 0, 0, 0, 0)
		if legacy := got == ask && want == allow && n < 200; got != want && !legacy || steps > 20 {
			t.Errorf("call %d: %#x after %d steps, want %#x", n, got, steps, want)
		}
	}
}
