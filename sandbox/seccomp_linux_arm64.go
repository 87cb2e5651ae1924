package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// archCalls are the calls that this architecture has besides commonCalls.
var archCalls = []uintptr{unix.SYS_FSTATAT}

// This architecture has no older forms of calls.

func (rules) legacy(func(*bpf), sysFilter) {}

func (rules) legacyNames() {}

func (*brokered) legacy(uint64) error { return unix.ENOSYS }
