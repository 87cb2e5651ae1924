package wholefile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "file")
	for _, text := range []string{"first", "second"} {
		if err := Write(path, 0o640, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o640 {
		t.Error(info.Mode(), err)
	}
	if err := WriteJSON(path, map[string]int{"a": 1}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "{\n  \"a\": 1\n}\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// An error leaves the file as it was, and nothing beside it.
func TestFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("was"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := Fill(path, 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		return errors.Join(err, broken)
	})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := WriteJSON(path, func() {}); err == nil {
		t.Error("a function was written")
	}
	if err := Write(filepath.Join(path, "below"), 0o600, nil); err == nil {
		t.Error("a file is a directory")
	}
	all, err := os.ReadDir(dir)
	if got, rerr := os.ReadFile(path); err != nil || rerr != nil || string(got) != "was" || len(all) != 1 {
		t.Errorf("%q, %v, %d files, %v", got, rerr, len(all), err)
	}
}
