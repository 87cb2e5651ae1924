// Package xattr reads and sets the extended attributes of files that a copy of the file
// should have, too: what users set, access control lists, and capabilities.
package xattr
