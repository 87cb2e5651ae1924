package sandbox

import (
	"errors"
	"maps"
	"os"
	"slices"
)

// configure fills in what every container is created with: the body of POST
// /containers/create in the Docker Engine API. The container has the first
// process of this program as its entry point, standard input that ends with our
// connection, no capabilities, a root that is read-only, and no log. AutoRemove
// has the engine remove it when it ends; Ulimits and the limits of memory and
// processes stand in for those of the type limits.
func (c *container) configure() error {
	if err := c.fillPrivate(); err != nil {
		return err
	}
	c.env = append(slices.Clone(c.view.env), c.ownDirs(c.view.home, "/tmp")...)
	args := []string{insidePath}
	network := map[Network]string{NoNetwork: "none", Hosts: "none", AllNetwork: bridged}[c.o.Network]
	if c.o.Network == Hosts {
		args = append(args, string(Hosts))
	}
	program, err := c.ownProgram(true)
	if err != nil {
		return err
	}
	denied, err := c.guard.denied(c.private, c.o.Deny)
	if err != nil {
		return err
	}
	mounts := slices.Concat(c.view.containerMounts(c.private, c.o.Network, program), readOnlyAt(c.guard.mountPoints()), denied)
	mounts = append(mounts, c.view.again(mounts, c.o.WorkDir, c.o.also)...)
	if err := errors.Join(c.mkMountPoints("", mounts), c.giveAway()); err != nil {
		return err
	}
	runtime := ""
	if c.kind == GVisor {
		runtime = gvisorRuntime
	}
	c.config = map[string]any{
		"Image": c.o.Image, "Entrypoint": args, "Cmd": []string{},
		"User": c.user, "WorkingDir": "/", "Hostname": "openmanus",
		"AttachStdin": true, "AttachStdout": true, "AttachStderr": true, "OpenStdin": true, "StdinOnce": true,
		"Labels":      map[string]string{labelCage: c.private.dir, labelPlace: mountNamespace()},
		"Healthcheck": map[string]any{"Test": []string{"NONE"}},
		"HostConfig": map[string]any{
			"AutoRemove": true, "NetworkMode": network, "IpcMode": "private",
			"ReadonlyRootfs": true, "Privileged": false,
			"CapDrop": []string{"ALL"}, "SecurityOpt": []string{"no-new-privileges:true"}, "Runtime": runtime,
			"Memory": c.o.Memory, "MemorySwap": c.o.Memory, "NanoCpus": int64(c.o.CPUs * 1e9),
			"PidsLimit": c.o.Processes + 32, // some for the threads of the first process
			"ShmSize":   256 << 20, "LogConfig": map[string]any{"Type": "none"}, "Mounts": engineMounts(mounts),
			"Ulimits": []map[string]any{
				{"Name": "core", "Soft": 0, "Hard": 0}, {"Name": "fsize", "Soft": c.o.FileSize, "Hard": c.o.FileSize},
			},
		},
	}
	return nil
}

// bridged is the network of containers that connect to whatever the engine reaches.
const bridged = "bridge"

// networked returns config for a container with a network, although others have none.
func (c *container) networked() map[string]any {
	config := maps.Clone(c.config)
	host := maps.Clone(config["HostConfig"].(map[string]any))
	host["NetworkMode"] = bridged
	config["Entrypoint"], config["HostConfig"] = []string{insidePath}, host
	return config
}

// mountNamespace names the processes that can see our private directories: those
// of this machine in this mount namespace.
func mountNamespace() string {
	host, _ := os.Hostname()                      // an unknown name is the same for all of us
	mounts, _ := os.Readlink("/proc/self/ns/mnt") // likewise
	return host + " " + mounts
}

// giveAway gives the user that commands run as what is theirs in the private
// directory, and the proxy's socket, which no other user can reach.
func (c *container) giveAway() error {
	var errs []error
	if c.o.Network == Hosts {
		errs = append(errs, os.Chmod(c.private.path("proxy", proxyName), 0o666))
	}
	if os.Getuid() == 0 {
		for _, name := range []string{"home", "home/.gitconfig"} {
			errs = append(errs, os.Chown(c.private.path(name), c.view.uid, c.view.gid))
		}
	}
	return errors.Join(errs...)
}
