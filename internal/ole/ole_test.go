package ole

import (
	"os"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func TestOpen(t *testing.T) {
	data, err := os.ReadFile("../../data/document/testdata/message.msg")
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"__substg1.0_0C1A001F": 22, "__substg1.0_1000001F": 10088, "__properties_version1.0": 32} {
		e := f.Root.Find(name)
		if e == nil {
			t.Fatal("there is no", name)
		}
		if b, err := e.Bytes(); err != nil || len(b) != want {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
	storage := f.Root.Find("__attach_version1.0_#00000000")
	if storage == nil || storage.IsStream || storage.Find("__substg1.0_37010102") == nil {
		t.Fatal("the storage is not there")
	}
	if b, err := storage.Find("__substg1.0_37010102").Bytes(); err != nil || len(b) != 5000 || b[4999] != 'x' {
		t.Error(len(b), err)
	}
	if _, err := storage.Bytes(); err == nil {
		t.Error("a storage has bytes")
	}
	for _, bad := range [][]byte{nil, data[:511], []byte(Signature + string(make([]byte, 600)))} {
		if _, err := Open(bad); err == nil {
			t.Errorf("%d bytes open", len(bad))
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, name := range []string{"message.msg", "sheet.xls"} {
		data, err := os.ReadFile("../../data/document/testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Open(data)
		if err != nil {
			return
		}
		total := 0
		var all func(e *Entry)
		all = func(e *Entry) {
			if e.IsStream {
				if b, _ := e.Bytes(); len(b) > len(data)+4096 {
					t.Errorf("%q has %d bytes of a file of %d", e.Name, len(b), len(data))
				}
			}
			for _, c := range e.Children {
				if total++; total > 1000 {
					return
				}
				all(c)
			}
		}
		all(file.Root)
	})
}
