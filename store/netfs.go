package store

import "strings"

// magics are the f_type values that Linux's statfs(2) returns for network file
// systems, and for FUSE, which may hide one.
var magics = map[uint32]string{
	0x6969:     "NFS",
	0x517b:     "SMB",
	0xff534d42: "CIFS",
	0xfe534d42: "SMB2",
	0x01021997: "9p",
	0x00c36400: "Ceph",
	0x5346414f: "AFS",
	0x6b414653: "AFS",
	0x73757245: "Coda",
	0x564c:     "NCP",
	0x0bd00bd0: "Lustre",
	0x47504653: "GPFS",
	0x19830326: "BeeGFS",
	0x786f4256: "a VirtualBox shared folder",
	0x65735546: fuse,
}

// fuse is the name of a file system that a user program serves. The mount table
// says which program.
const fuse = "FUSE"

// namedFS reports whether a file system of this type, as mount tables name it,
// is a network file system.
func namedFS(name string) bool {
	name = strings.ToLower(name)
	served, isFuse := strings.CutPrefix(name, "fuse.")
	if isFuse {
		name = served
	}
	switch name {
	case "smbfs", "smb3", "cifs", "smbnetfs", "afpfs", "afs", "webdav", "davfs", "davfs2", "ftp", "curlftpfs", "9p",
		"prl_fs", "vmhgfs", "vmhgfs-fuse", "vboxsf", "grpcfuse", "osxfs", "gvfsd-fuse",
		"rclone", "s3fs", "gcsfuse", "goofys", "blobfuse", "blobfuse2",
		"ceph", "ceph-fuse", "glusterfs", "lustre", "beegfs", "juicefs", "moosefs", "mfs", "hdfs":
		return true
	}
	return strings.HasPrefix(name, "nfs") || strings.Contains(name, "sshfs")
}
