//go:build !unix

package host_test

import "os"

func mkfifo(path string) error { return os.Mkdir(path, 0o700) }
