package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMounts compares what bubblewrap is to mount with tables: whatever a
// command can read or write is in one of these lines.
func TestMounts(t *testing.T) {
	p := &private{dir: "/P"}
	const home = "/home/agent"
	for _, test := range []struct {
		name    string
		view    mountView
		network Network
		etc     []string
		want    string
	}{{
		name: "a workspace alone",
		view: mountView{ws: "/src/x", home: home},
		want: `
			--ro-bind /P/root /
			--ro-bind /P/etc /etc
			--proc /proc
			--dev /dev
			--size 268435456 --tmpfs /dev/shm
			--remount-ro /dev
			--remount-ro /proc
			--bind /P/tmp /tmp
			--bind /P/tmp /var/tmp
			--bind /P/home /home/agent
			--bind /src/x /src/x`,
	}, {
		name:    "everything",
		view:    mountView{ws: "/tmp/ws", home: home, read: []string{"/usr", "/opt/go", "/tmp/data"}, hide: []string{"/tmp/ws/me"}},
		network: Hosts,
		etc:     []string{"/etc/fonts"},
		want: `
			--ro-bind /P/root /
			--ro-bind /usr /usr
			--ro-bind /opt/go /opt/go
			--ro-bind /P/etc /etc
			--ro-bind /etc/fonts /etc/fonts
			--proc /proc
			--dev /dev
			--size 268435456 --tmpfs /dev/shm
			--remount-ro /dev
			--remount-ro /proc
			--bind /P/tmp /tmp
			--bind /P/tmp /var/tmp
			--bind /P/home /home/agent
			--ro-bind /tmp/data /tmp/data
			--bind /tmp/ws /tmp/ws
			--ro-bind /P/empty /tmp/ws/me
			--bind /P/proxy /run/openmanus
			--ro-bind /program /run/openmanus-forward`,
	}, {
		name:    "the network of this machine needs no mount",
		view:    mountView{ws: "/src", home: home},
		network: AllNetwork,
		want: `
			--ro-bind /P/root /
			--ro-bind /P/etc /etc
			--proc /proc
			--dev /dev
			--size 268435456 --tmpfs /dev/shm
			--remount-ro /dev
			--remount-ro /proc
			--bind /P/tmp /tmp
			--bind /P/tmp /var/tmp
			--bind /P/home /home/agent
			--bind /src /src`,
	}} {
		t.Run(test.name, func(t *testing.T) {
			got := bwrapArgs(test.view.mounts(p, test.network, "/program", test.etc))
			if want := strings.Fields(test.want); !slices.Equal(got, want) {
				t.Errorf("the arguments are\n%s\nwant\n%s", strings.Join(got, " "), strings.Join(want, " "))
			}
		})
	}
}

func TestContainerMounts(t *testing.T) {
	v := mountView{ws: "/src", home: "/home/agent", read: []string{"/data"}, hide: []string{"/src/me"}}
	list := v.containerMounts(&private{dir: "/P"}, Hosts, "/program")
	list = append(list, readOnlyAt([]string{"/src/.git/config"})...)
	list = append(list, v.again(list, "/workspace", "/home/me/link")...)
	const want = `/P/tmp /tmp rw
/P/tmp /var/tmp rw
/P/home /home/agent rw
/src /src rw
/P/etc/passwd /etc/passwd ro
/P/etc/group /etc/group ro
/program /run/openmanus-inside ro
/data /data ro
/P/empty /src/me ro
/P/proxy /run/openmanus rw
/src/.git/config /src/.git/config ro
/src /workspace rw
/P/empty /workspace/me ro
/src/.git/config /workspace/.git/config ro
/src /home/me/link rw
/P/empty /home/me/link/me ro
/src/.git/config /home/me/link/.git/config ro
`
	var got strings.Builder
	for _, m := range engineMounts(list) {
		mode := map[any]string{true: "ro", false: "rw"}[m["ReadOnly"]]
		got.WriteString(m["Source"].(string) + " " + m["Target"].(string) + " " + mode + "\n")
	}
	if got.String() != want {
		t.Errorf("the mounts are\n%swant\n%s", got.String(), want)
	}
	// A second path that overlaps the workspace, or is where something else is seen, is none.
	for _, dir := range []string{"", "/", "/src", "/src/sub", "/data/link", "/home", "/tmp", "/run", "/proc/self/cwd", "/workspace"} {
		if more := v.again(list, dir); len(more) > 0 {
			t.Errorf("%q: %+v", dir, more)
		}
	}
}

// TestMountPoints holds that each mount has its place, and that nothing is made
// in the workspace or over a file that is mounted itself.
func TestMountPoints(t *testing.T) {
	ws := t.TempDir()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := newPrivate(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := os.WriteFile(p.path("etc", "passwd"), []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := &base{private: p, view: &mountView{ws: ws, home: "/home/agent", read: []string{"/usr"}}}
	root := p.path("root")
	err = b.mkMountPoints(root, []mount{
		{readOnly, root, "/"}, {readOnly, "/usr", "/usr"}, {readOnly, "/usr/share", "/usr/share"}, {readOnly, file, "/run/program"},
		{procFS, "", "/proc"}, {tmpFS, "", "/dev/shm"}, {readWrite, p.path("tmp"), "/tmp"}, {readOnly, ws, "/tmp/data"},
		{readOnly, p.path("etc", "passwd"), "/etc/passwd"}, {readWrite, ws, ws}, {readOnly, p.path("empty"), filepath.Join(ws, "me")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"root/usr": "d", "root/usr/share": "", "root/run/program": "-", "root/proc": "d", "root/dev": "", "root/tmp": "d",
		"tmp/data": "d", "root/etc": "",
	} {
		got := ""
		if info, err := os.Lstat(p.path(path)); err == nil {
			got = info.Mode().String()[:1]
		}
		if got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if data, err := os.ReadFile(p.path("etc", "passwd")); err != nil || string(data) != "kept" {
		t.Errorf("the file that is mounted is now %q, %v", data, err)
	}
	if entries, err := os.ReadDir(ws); err != nil || len(entries) > 0 {
		t.Errorf("there is something in the workspace: %v, %v", entries, err)
	}
}
