package sandbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// limits are how a cage limits what its commands use: by a cgroup, or where
// there is none by limits of each process and by looking at them all together
// from time to time.
type limits struct {
	group   *cgroup // nil if there is none
	starter *starter
	each    map[int]unix.Rlimit
}

// newLimits makes the limits of a cage with that name. The limits of processes
// do not hold for root.
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
		return nil, fmt.Errorf("what commands of root use can be limited only with a cgroup: %w", err)
	}
	l.each[unix.RLIMIT_DATA] = unix.Rlimit{Cur: uint64(o.Memory), Max: uint64(o.Memory)}
	l.each[unix.RLIMIT_NPROC] = unix.Rlimit{Cur: uint64(o.Processes), Max: uint64(o.Processes)}
	l.starter = newStarter(nil)
	return l, nil
}

// impose gives a process the limits of each, which all that it starts inherit.
// A limit that is tighter already stays.
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

// Close removes the cgroup.
func (l *limits) Close() error { return errors.Join(l.starter.Close(), l.group.Close()) }

// words says how commands are limited.
func (l *limits) describe() string {
	if l.group != nil {
		return "by a cgroup"
	}
	return "by the limits of each process, and by adding them up ten times a second"
}
