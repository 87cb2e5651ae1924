package store

import "strings"

// magicFS names the file systems that are not on this machine by the f_type
// that Linux gives them in statfs(2), and the one that hides others behind it.
func magicFS(magic uint32) string {
	switch magic {
	case 0x6969:
		return "NFS"
	case 0x517b:
		return "SMB"
	case 0xff534d42:
		return "CIFS"
	case 0xfe534d42:
		return "SMB2"
	case 0x01021997:
		return "9p"
	case 0x00c36400:
		return "Ceph"
	case 0x5346414f, 0x6b414653:
		return "AFS"
	case 0x73757245:
		return "Coda"
	case 0x564c:
		return "NCP"
	case 0x0bd00bd0:
		return "Lustre"
	case 0x47504653:
		return "GPFS"
	case 0x19830326:
		return "BeeGFS"
	case 0x786f4256:
		return "a folder shared by VirtualBox"
	case 0x65735546:
		return fuse
	}
	return ""
}

// fuse is what magicFS says of what a program serves: which one, the mount
// table knows.
const fuse = "FUSE"

// namedFS reports whether a file system of this type, as mount tables name it,
// is not on this machine.
func namedFS(name string) bool {
	name = strings.ToLower(name)
	served, isFuse := strings.CutPrefix(name, "fuse.")
	if isFuse {
		name = served
	}
	switch name {
	case "nfs", "nfs3", "nfs4", "smbfs", "smb3", "cifs", "afpfs", "afs", "webdav", "ftp", "9p", "prl_fs", "vmhgfs", "vboxsf",
		"sshfs", "macfuse_sshfs", "osxfuse_sshfs", "rclone", "s3fs", "gcsfuse", "goofys", "davfs", "davfs2", "curlftpfs", "ceph", "ceph-fuse",
		"glusterfs", "lustre", "beegfs", "juicefs", "moosefs", "mfs", "hdfs", "gvfsd-fuse", "grpcfuse", "osxfs", "blobfuse", "blobfuse2", "smbnetfs", "vmhgfs-fuse":
		return true
	}
	return strings.HasPrefix(name, "nfs") || strings.Contains(name, "sshfs")
}
