// Package filelock locks files between processes, where one reads, changes and writes what the
// others do, too.
package filelock
