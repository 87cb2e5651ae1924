package sandbox

import (
	"os"
	"testing"
	"unsafe"
)

// Where a container forbids process_vm_readv, memory is read as a file: as much as there is.
func TestMemoryFile(t *testing.T) {
	text, got := []byte("a name of a file"), make([]byte, 16)
	n, err := memoryFile(os.Getpid(), uint64(uintptr(unsafe.Pointer(&text[0]))), got)
	if err != nil || string(got[:n]) != string(text) {
		t.Errorf("%q, %v, want %q", got[:max(n, 0)], err, text)
	}
	if _, err := memoryFile(os.Getpid(), 0, got); err == nil {
		t.Error("the page at 0 can be read")
	}
	if _, err := memoryFile(1<<30, 0, got); err == nil {
		t.Error("a process that does not exist has memory")
	}
}
