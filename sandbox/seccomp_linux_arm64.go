package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// archCalls are the calls that this architecture has besides commonCalls.
var archCalls = []uintptr{unix.SYS_FSTATAT}

// legacy adds nothing: this architecture has no older forms.
func (rules) legacy(func(*bpf), bool) {}

// legacyCall returns "": there are no older forms.
func legacyCall(int32) string { return "" }
