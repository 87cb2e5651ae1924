package sandbox

import (
	"errors"
	"os"
	"slices"
)

// describe writes down what every container is like.
func (c *container) describe() error {
	if err := c.furnish(); err != nil {
		return err
	}
	c.env = append(slices.Clone(c.view.env), "HOME="+c.view.home, "TMPDIR=/tmp")
	args := []string{insidePath}
	network := map[Network]string{NoNetwork: "none", Hosts: "none", AllNetwork: "bridge"}[c.o.Network]
	if c.o.Network == Hosts {
		c.env = append(c.env, proxyEnv()...)
		args = append(args, string(Hosts))
	}
	mounts, err := c.mounts()
	if err != nil {
		return err
	}
	runtime := ""
	if c.kind == GVisor {
		runtime = gvisorRuntime
	}
	c.config = map[string]any{
		"Image": c.o.Image, "Entrypoint": args, "Cmd": []string{}, "User": c.user, "WorkingDir": "/", "Hostname": "openmanus",
		"AttachStdin": true, "AttachStdout": true, "AttachStderr": true, "OpenStdin": true, "StdinOnce": true,
		"Labels":      map[string]string{labelCage: c.private.dir, labelPlace: place()},
		"Healthcheck": map[string]any{"Test": []string{"NONE"}},
		"HostConfig": map[string]any{
			"AutoRemove": true, "NetworkMode": network, "IpcMode": "private", "ReadonlyRootfs": true, "Privileged": false,
			"CapDrop": []string{"ALL"}, "SecurityOpt": []string{"no-new-privileges:true"}, "Runtime": runtime,
			"Memory": c.o.Memory, "MemorySwap": c.o.Memory, "NanoCpus": int64(c.o.CPUs * 1e9),
			"PidsLimit": c.o.Processes + 32, // the first process has threads
			"ShmSize":   256 << 20, "LogConfig": map[string]any{"Type": "none"}, "Mounts": mounts,
			"Ulimits": []map[string]any{
				{"Name": "core", "Soft": 0, "Hard": 0}, {"Name": "fsize", "Soft": c.o.FileSize, "Hard": c.o.FileSize},
			},
		},
	}
	return nil
}

// place is what can see our private directories: processes of this machine in
// this mount namespace.
func place() string {
	host, _ := os.Hostname()                      // what is not known is nobody else's either
	mounts, _ := os.Readlink("/proc/self/ns/mnt") // likewise
	return host + " " + mounts
}

// mounts are the workspace, private directories, and what else is to be seen.
func (c *container) mounts() ([]map[string]any, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	v, at := c.view, c.private.at
	var list []map[string]any
	var places []string
	mount := func(from, to string, readOnly bool) {
		list = append(list, map[string]any{"Type": "bind", "Source": from, "Target": to, "ReadOnly": readOnly})
		places = append(places, to)
	}
	mount(at("tmp"), "/tmp", false)
	mount(at("tmp"), "/var/tmp", false)
	mount(at("home"), v.home, false)
	mount(v.ws, v.ws, false)
	if dir := c.o.WorkDir; dir != "" && !within(dir, v.ws) && !within(v.ws, dir) {
		mount(v.ws, dir, false)
	}
	for _, name := range []string{"/etc/passwd", "/etc/group"} {
		mount(at(name), name, true)
	}
	mount(exe, insidePath, true)
	for _, dir := range v.read {
		mount(dir, dir, true)
	}
	for _, dir := range v.hide {
		mount(at("empty"), dir, true)
	}
	if c.o.Network == Hosts {
		if err := os.Chmod(at("proxy", proxyName), 0o666); err != nil { // nobody else comes as far
			return nil, err
		}
		mount(at("proxy"), proxyDir, false)
	}
	protected := c.guard.mounts()
	for _, name := range protected {
		mount(name, name, true)
	}
	return list, c.lay(places)
}

// lay makes the places to mount on that lie in private directories, or the
// engine would, as root, and hands the directories to whom commands run as.
func (c *container) lay(places []string) error {
	for _, place := range places {
		at := c.private.holds(c.view, place)
		if at == "" || within("/etc", place) || within(c.view.ws, place) && place != c.view.ws { // what is in the workspace comes with it
			continue
		}
		var err error
		if info, statErr := os.Stat(place); statErr == nil && !info.IsDir() {
			err = touch(at)
		} else {
			err = os.MkdirAll(at, 0o755)
		}
		if err != nil {
			return err
		}
	}
	if err := os.Chmod(c.private.at("tmp"), 0o1777); err != nil || os.Getuid() != 0 {
		return err
	}
	return errors.Join(os.Chown(c.private.at("home"), c.view.uid, c.view.gid), os.Chown(c.private.at("home", ".gitconfig"), c.view.uid, c.view.gid))
}
