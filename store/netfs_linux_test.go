package store

import (
	"strings"
	"testing"
)

const mounts = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
36 22 0:31 / /home/me/remote rw,nosuid,nodev,relatime shared:17 - fuse.sshfs me@host: rw,user_id=1000
37 22 0:32 / /mnt/with\040space rw - fuseblk /dev/sdb1 rw
38 22 0:33 / /broken rw
`

func TestMountType(t *testing.T) {
	for device, want := range map[string]string{"0:31": "fuse.sshfs", "0:32": "fuseblk", "254:0": "ext4", "0:33": "", "9:9": ""} {
		if got, err := mountType(strings.NewReader(mounts), device); got != want || err != nil {
			t.Errorf("device %s is %q, %v, want %q", device, got, err, want)
		}
	}
}
