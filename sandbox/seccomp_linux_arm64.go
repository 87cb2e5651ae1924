package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// archCalls are the system calls that this architecture has besides.
var archCalls = []uintptr{unix.SYS_FSTATAT}

// legacy: there are no older forms.
func (rules) legacy(func(*bpf), bool) {}

// legacyCall: there are none.
func legacyCall(int32) string { return "" }
