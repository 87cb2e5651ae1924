package tools

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/workspace"
)

// A plainPython runs every interpreter without the packages that are installed for it.
type plainPython struct{ workspace.Workspace }

func (w plainPython) Run(ctx context.Context, cmd *workspace.Cmd) error {
	c := *cmd
	c.Args = append([]string{cmd.Args[0], "-S"}, cmd.Args[1:]...)
	return w.Workspace.Run(ctx, &c)
}

// TestPythonAsksForMatplotlib: code that imports it at the top does not begin before
// there is an answer, and other code is not held up.
func TestPythonAsksForMatplotlib(t *testing.T) {
	ws := newProcWorkspace(t)
	p := newPython(t, plainPython{ws})
	asked := []Figureless{}
	no := errors.New("the user does not want it")
	p.Matplotlib = func(_ context.Context, _ openmanus.Call, i Figureless) error {
		asked = append(asked, i)
		return no
	}
	for _, c := range []struct {
		code string
		asks bool
	}{
		{"print('began')\nimport matplotlib.pyplot as plt", true},
		{"print('began')\nfrom matplotlib import pyplot", true},
		{"try:\n    import matplotlib\nexcept ImportError:\n    print('began')", false},
		{"print('began') # import matplotlib", false},
		{"print('began')\nimport json", false},
	} {
		n := len(asked)
		res, err := runProc(t, p, map[string]any{"code": c.code}, nil)
		if began := strings.Contains(res.Parts.Text(), "began"); began == c.asks || errors.Is(err, no) != c.asks || len(asked)-n > 1 {
			t.Errorf("%s: %q, %v, asked %d", c.code, res.Parts.Text(), err, len(asked)-n)
		}
	}
	if len(asked) != 2 || asked[0].Executable != systemPython || asked[0].Prefix != "/usr" {
		t.Errorf("it names the interpreter: %+v", asked)
	}

	// It comes: the code runs, and nobody is asked any more.
	p = newPython(t, ws)
	if err := os.WriteFile(filepath.Join(ws.Dir(), "matplotlib.py"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.Matplotlib = func(context.Context, openmanus.Call, Figureless) error {
		t.Error("asked about what is there")
		return nil
	}
	for range 2 {
		if text := python(t, p, "import matplotlib\nprint('ran')", false); text != "ran" {
			t.Errorf("%q", text)
		}
	}
	if !p.figures.Load() {
		t.Error("it looks again at each call")
	}
}

// TestNoAnswerAboutMatplotlib: an interpreter that cannot say what it has is left to say
// what is wrong itself.
func TestNoAnswerAboutMatplotlib(t *testing.T) {
	p := NewPython(newProcWorkspace(t))
	p.Interpreter = []string{"/no/such/python"}
	p.Matplotlib = func(context.Context, openmanus.Call, Figureless) error { return io.ErrUnexpectedEOF }
	if _, err := runProc(t, p, map[string]any{"code": "import matplotlib"}, nil); err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}
