//go:build !unix && !windows

package store

func syncDir(string) error { return nil }
