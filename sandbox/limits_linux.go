package sandbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// The limits of a sandbox hold for all its commands together. A cgroup enforces
// them. Where none can be made, each process is limited instead, and the memory
// of all is added up from time to time; see base.watchLoop.
type limits struct {
	group   *cgroup // nil if none can be made
	starter *starter
	each    map[int]unix.Rlimit
}

// newLimits makes the limits. name is that of the cgroup. Without a cgroup root
// cannot be limited, since the kernel does not apply the limits of processes to
// it: that is an error.
func newLimits(name string, o Options) (*limits, error) {
	l := &limits{each: map[int]unix.Rlimit{
		unix.RLIMIT_CORE:  {},
		unix.RLIMIT_FSIZE: {Cur: uint64(o.FileSize), Max: uint64(o.FileSize)},
	}}
	var err error
	if l.group, err = newCgroup(name, o); err == nil {
		l.starter = newStarter(l.group)
		return l, nil
	}
	if os.Getuid() == 0 {
		return nil, fmt.Errorf("the commands of root can be limited only by a cgroup: %w", err)
	}
	l.each[unix.RLIMIT_DATA] = unix.Rlimit{Cur: uint64(o.Memory), Max: uint64(o.Memory)}
	l.each[unix.RLIMIT_NPROC] = unix.Rlimit{Cur: uint64(o.Processes), Max: uint64(o.Processes)}
	l.starter = newStarter(nil)
	return l, nil
}

// apply sets the limits of one process, which everything that it starts
// inherits. A limit that is tighter already stays.
func (l *limits) apply(pid int) error {
	for resource, limit := range l.each {
		var old unix.Rlimit
		if err := unix.Prlimit(pid, resource, nil, &old); err != nil {
			return fmt.Errorf("the limits of process %d: %w", pid, err)
		}
		limit.Max = min(limit.Max, old.Max)
		limit.Cur = min(limit.Cur, limit.Max)
		if err := unix.Prlimit(pid, resource, &limit, nil); err != nil {
			return fmt.Errorf("the limits of process %d: %w", pid, err)
		}
	}
	return nil
}

// Close ends the starter and removes the cgroup.
func (l *limits) Close() error { return errors.Join(l.starter.Close(), l.group.Close()) }

// describe says who enforces the limits, for people.
func (l *limits) describe() string {
	if l.group != nil {
		return "by a cgroup"
	}
	return "by the limits of each process, and by adding them up ten times a second"
}
