package store

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestNetworkFileSystems(t *testing.T) {
	for magic, want := range map[uint32]string{
		0x6969: "NFS", 0x517b: "SMB", 0xff534d42: "CIFS", 0xfe534d42: "SMB2", 0x01021997: "9p", 0x00c36400: "Ceph",
		0x65735546: fuse, 0x47504653: "GPFS", 0x0bd00bd0: "Lustre",
		0xef53: "" /* ext4 */, 0x58465342: "" /* xfs */, 0x9123683e: "" /* btrfs */, 0x01021994: "" /* tmpfs */, 0x794c7630: "", /* overlay */
		0x2fc12fc1: "" /* zfs */, 0xf2f52010: "" /* f2fs */, 0xca451a4e: "", /* bcachefs */
	} {
		if got := magics[magic]; got != want {
			t.Errorf("%#x is %q, want %q", magic, got, want)
		}
	}
	for name, want := range map[string]bool{
		"nfs": true, "nfs4": true, "smbfs": true, "cifs": true, "afpfs": true, "webdav": true, "9p": true,
		"fuse.sshfs": true, "fuse.rclone": true, "fuse.s3fs": true, "FUSE.SSHFS": true, "macfuse_sshfs": true, "fuse.gvfsd-fuse": true,
		"apfs": false, "hfs": false, "ext4": false, "fuseblk": false, "fuse.fuse-overlayfs": false, "fuse.gocryptfs": false, "fuse": false, "": false,
	} {
		if got := namedFS(name); got != want {
			t.Errorf("%q is on a network: %t, want %t", name, got, want)
		}
	}
	if name, err := networkFS(t.TempDir()); name != "" || err != nil {
		t.Errorf("a temporary directory is on %q, %v", name, err)
	}
}

func TestFilePermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing on Windows")
	}
	dir := filepath.Join(t.TempDir(), "new", "data")
	db, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Put(t.Context(), []byte("a blob")); err != nil {
		t.Fatal(err)
	}
	lease, err := db.Lock(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	files := 0
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := os.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		} else {
			files++
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has the mode %o, want %o", path, got, want)
		}
		return nil
	})
	if err != nil || files < 5 { // database, log, index, blob, its second name, lock
		t.Errorf("%d files, %v", files, err)
	}
}

func TestRefusesDirectoryOthersMayWriteTo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing on Windows")
	}
	for _, mode := range []os.FileMode{0o777, 0o770, 0o702} {
		dir := t.TempDir()
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		mustFail(t, dir, "others may write to", "chmod 700 "+dir)
	}
}

func TestRefusesDirectoryOfAnotherUser(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("owners are not looked at on Windows")
	}
	dir := "/usr" // of root
	if os.Geteuid() == 0 {
		dir = t.TempDir()
		if err := os.Chown(dir, 12345, 12345); err != nil {
			t.Fatal(err)
		}
	}
	mustFail(t, dir, "belongs to user id", "another data directory")
}

func TestTightensDatabasePermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing on Windows")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "journal.db")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	db, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
}

// mustFail checks that a directory cannot be opened, and that the error contains
// all of these texts.
func mustFail(t *testing.T, dir string, says ...string) {
	t.Helper()
	db, err := Open(dir, nil)
	if err == nil {
		db.Close()
		t.Fatalf("%s could be opened", dir)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("the error is %q, and does not say %q", err, s)
		}
	}
}
