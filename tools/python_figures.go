package tools

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/workspace"
)

// importsFigures finds code that cannot run without Matplotlib: an import that stands
// in no block, in which code might try it.
var importsFigures = regexp.MustCompile(`(?m)^(?:import|from)[ \t]+(?:matplotlib|pylab)\b`)

// findFigures is code that prints the interpreter, the directory that its packages
// belong to, and whether Matplotlib is one of them. It imports nothing large.
const findFigures = `import sys, importlib.util as u
print(sys.executable); print(sys.prefix); print("there" if u.find_spec("matplotlib") else "missing")`

// findTime is how long findFigures may take. Code is run all the same if it takes longer.
const findTime = 10 * time.Second

// A Figureless is an interpreter without Matplotlib.
type Figureless struct {
	Executable string // as it names itself
	Prefix     string // the directory of the installation or of the virtual environment
}

// ensureFigures makes sure that the code of a call, if it imports Matplotlib, finds it
// in the interpreter that would run it. The error is that of p.Matplotlib. Nothing of
// the code has run then, so it can run from the beginning when there is an answer.
func (p *Python) ensureFigures(
	ctx context.Context, call openmanus.Call, in pythonInput, program []string,
) error {
	if p.Matplotlib == nil || p.figures.Load() || in.Outside || !importsFigures.MatchString(in.Code) {
		return nil
	}
	i, missing := p.figureless(ctx, program)
	if !missing {
		return ctx.Err()
	}
	return p.Matplotlib(ctx, call, i)
}

// figureless reports whether program is an interpreter without Matplotlib. A
// module that cannot be looked up does not count as missing: then the code
// itself says what is wrong.
func (p *Python) figureless(ctx context.Context, program []string) (i Figureless, missing bool) {
	ctx, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	var out bytes.Buffer
	args := append(append([]string{}, program...), "-c", findFigures)
	err := p.ws.Run(ctx, &workspace.Cmd{Args: args, Env: pythonEnv(), Stdout: &out, Stderr: io.Discard})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if err != nil || len(lines) != 3 {
		return i, false
	}
	switch strings.TrimSpace(lines[2]) {
	case "there":
		p.figures.Store(true)
	case "missing":
		return Figureless{strings.TrimSpace(lines[0]), strings.TrimSpace(lines[1])}, true
	}
	return i, false
}
