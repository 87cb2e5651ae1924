package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A cgroup limits what all commands of a sandbox use together. A nil *cgroup
// limits nothing; its methods may be called.
type cgroup struct {
	dirs []string // the directories: one for each controller in version 1, one in version 2
	v2   *os.File // the open directory, in version 2 alone
}

// newCgroup makes a cgroup, of version 1 if its controllers are mounted, else of
// version 2. The error says why neither can be made.
func newCgroup(name string, o Options) (*cgroup, error) {
	mounts, err := cgroupMounts()
	if err != nil {
		return nil, err
	}
	if mounts["memory"] != "" && mounts["pids"] != "" {
		return newCgroup1(mounts, name, o)
	}
	if mounts[""] != "" {
		return newCgroup2(mounts[""], name, o)
	}
	return nil, errors.New("no cgroups are mounted")
}

// cgroupMounts returns the directory of this process's own cgroup for each
// controller of version 1, and that of version 2 under the key "".
func cgroupMounts() (map[string]string, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	infos, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parseCgroups(string(own), string(infos)), nil
}

// parseCgroups does so from the text of /proc/PID/cgroup (lines
// ID:CONTROLLERS:PATH) and of /proc/PID/mountinfo (see proc_pid_mountinfo(5)). A
// mount may show a part of the hierarchy alone, as in a container: then the
// paths are relative to that part.
func parseCgroups(own, infos string) map[string]string {
	type mount struct{ root, point string }
	mounts := make(map[string]mount)
	for line := range strings.Lines(infos) {
		before, after, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 5 || len(g) < 3 {
			continue
		}
		switch g[0] {
		case "cgroup2":
			mounts[""] = mount{f[3], f[4]}
		case "cgroup":
			for _, option := range strings.Split(g[2], ",") {
				mounts[option] = mount{f[3], f[4]}
			}
		}
	}
	dirs := make(map[string]string)
	for line := range strings.Lines(own) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) < 3 {
			continue
		}
		for _, controller := range strings.Split(f[1], ",") {
			m, ok := mounts[controller]
			if !ok {
				continue
			}
			path := f[2]
			if m.root != "/" {
				path = strings.TrimPrefix(path, m.root)
			}
			dirs[controller] = filepath.Join(m.point, path)
		}
	}
	return dirs
}

// newCgroup1 makes one cgroup below our own for each controller that limits
// something. One without a limit would only compete with other programs.
func newCgroup1(mounts map[string]string, name string, o Options) (*cgroup, error) {
	settings := map[string][]setting{
		"memory": {{"memory.limit_in_bytes", fmt.Sprint(o.Memory), false},
			{"memory.memsw.limit_in_bytes", fmt.Sprint(o.Memory), true}},
		// The thread that starts commands is in the cgroup too.
		"pids": {{"pids.max", fmt.Sprint(o.Processes + 1), false}},
	}
	if o.CPUs > 0 && mounts["cpu"] != "" {
		settings["cpu"] = []setting{{"cpu.cfs_quota_us", fmt.Sprint(int(o.CPUs * 100000)), false}}
	}
	c := new(cgroup)
	for controller, list := range settings {
		if err := c.add(filepath.Join(mounts[controller], name), list); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// A setting is what is written to a file of a cgroup. If it is optional, the
// kernel may not have the file.
type setting struct {
	file, value string
	optional    bool
}

// add makes the directory of a cgroup, with settings.
func (c *cgroup) add(dir string, settings []setting) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make the cgroup: %w", err)
	}
	c.dirs = append(c.dirs, dir)
	for _, s := range settings {
		err := write(filepath.Join(dir, s.file), s.value)
		if err != nil && !(s.optional && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return nil
}

// newCgroup2 makes a cgroup of version 2 below the nearest one above our own,
// ours included, that has the controllers and lets us: a cgroup with processes
// in it cannot have children with limits.
func newCgroup2(own, name string, o Options) (*cgroup, error) {
	var why error
	for dir := own; strings.HasPrefix(dir, "/sys/fs/cgroup"); dir = filepath.Dir(dir) {
		controllers, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
		if err != nil {
			return nil, err
		}
		have := " " + strings.TrimSpace(string(controllers)) + " "
		if !strings.Contains(have, " memory ") || !strings.Contains(have, " pids ") {
			continue
		}
		c, err := makeCgroup2(filepath.Join(dir, name), strings.Contains(have, " cpu "), o)
		if err == nil {
			return c, nil
		}
		why = errors.Join(why, err)
	}
	if why == nil {
		why = fmt.Errorf("above %s, no cgroup has the controllers memory and pids", own)
	}
	return nil, why
}

// makeCgroup2 makes the cgroup dir. cpu says whether it can limit processors.
func makeCgroup2(dir string, cpu bool, o Options) (*cgroup, error) {
	settings := []setting{{"memory.max", fmt.Sprint(o.Memory), false}, {"memory.swap.max", "0", true},
		{"pids.max", fmt.Sprint(o.Processes), false}}
	if cpu && o.CPUs > 0 {
		settings = append(settings, setting{"cpu.max", fmt.Sprintf("%d 100000", int(o.CPUs*100000)), false})
	}
	c := new(cgroup)
	err := c.add(dir, settings)
	if err == nil {
		c.v2, err = os.Open(dir)
	}
	if err == nil {
		err = c.probe()
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// probe starts a process in the cgroup. To be allowed to write there is not
// enough: the kernel also asks for rights to the cgroup that the process comes
// from.
func (c *cgroup) probe() error {
	attr := &os.ProcAttr{Sys: &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(c.v2.Fd())}}
	p, err := os.StartProcess("/bin/true", []string{"true"}, attr)
	if err != nil {
		return fmt.Errorf("no process can be started in the cgroup %s: %w", c.dirs[0], err)
	}
	_, err = p.Wait()
	return err
}

// prepare has the calling thread start its next process, with attr, in the
// cgroup. To move a process there afterwards takes the kernel as long as to make
// a sandbox.
//
// In version 1 no process can be started elsewhere, so the thread moves there
// itself, once; inside remembers that. Its memory counts for the cgroup of its
// process all the same, and since Linux 5.3 this process is not killed if the
// cgroup runs out of memory: the kernel looks at the first threads of processes.
func (c *cgroup) prepare(attr *syscall.SysProcAttr, inside *bool) error {
	switch {
	case c == nil || *inside:
		return nil
	case c.v2 != nil:
		attr.UseCgroupFD, attr.CgroupFD = true, int(c.v2.Fd())
		return nil
	}
	for _, dir := range c.dirs {
		if err := write(filepath.Join(dir, "tasks"), "0"); err != nil { // the calling thread
			return err
		}
	}
	*inside = true
	return nil
}

// Close removes the cgroup. Its last process may still be dying, so it tries for a moment.
// A nil cgroup has nothing to remove.
func (c *cgroup) Close() error {
	if c == nil {
		return nil
	}
	var errs []error
	if c.v2 != nil {
		errs = append(errs, c.v2.Close())
	}
	for _, dir := range c.dirs {
		errs = append(errs, removeCgroup(dir))
	}
	return errors.Join(errs...)
}

// removeCgroup removes a directory of a cgroup, and waits up to two seconds
// until it is empty.
func removeCgroup(dir string) error {
	for deadline := time.Now().Add(2 * time.Second); ; {
		err := unix.Rmdir(dir)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return &fs.PathError{Op: "rmdir", Path: dir, Err: err}
		}
		runtime.Gosched()
		time.Sleep(time.Millisecond) // the kernel does not tell when the cgroup is empty
	}
}

// cgroupsName is the file in a private directory that lists the cgroups of its
// sandbox. A process that sweeps may be in another cgroup, and would not find
// them.
const cgroupsName = "cgroups"

// record lists the cgroup in a private directory.
func (c *cgroup) record(private string) error {
	if c == nil {
		return nil
	}
	return os.WriteFile(filepath.Join(private, cgroupsName), []byte(strings.Join(c.dirs, "\n")), 0o600)
}

// removeCgroups removes the cgroups of a sandbox whose process was killed, and
// reports whether none is left.
func removeCgroups(private string) bool {
	list, err := os.ReadFile(filepath.Join(private, cgroupsName))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	gone := true
	for dir := range strings.Lines(string(list)) {
		dir = strings.TrimSpace(dir)
		if filepath.Base(dir) != filepath.Base(private) {
			continue
		}
		if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
			gone = false
		}
	}
	return gone
}

// write writes to a file that exists.
func write(file, text string) error { return os.WriteFile(file, []byte(text), 0) }

// owner returns the user id of a file's owner, or -1.
func owner(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
