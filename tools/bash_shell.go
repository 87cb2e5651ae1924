package tools

import (
	"context"
	"crypto/rand"
	_ "embed"
	"io"
	"os"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus/workspace"
)

//go:embed bash.sh
var bashScript string

// bashRetell is how often a shell is told to give up a command.
const bashRetell = 300 * time.Millisecond

// bashBetween is how many bytes are kept of what background jobs print between
// two calls.
const bashBetween = 64 << 10

// A bashShell is a running bash, driven as bash.sh says.
type bashShell struct {
	patience time.Duration      // how long it has to give up a command
	lines    chan string        // for its input
	cancel   context.CancelFunc // kills it
	ended    chan struct{}      // closed when nothing of it is left
	err      error              // of its Run, once it ended

	mu      sync.Mutex
	split   procSplitter
	between procOutput
	records bashRecords
	call    *bashCallState // the one that runs
	last    *bashState     // from the shell's last breath
}

// A bashCallState is what is known of a call that runs.
type bashCallState struct {
	mark   string
	marked bool       // its output is complete
	state  *bashState // its record has come
	done   chan struct{}
}

// A bashEnd is how a call ended.
type bashEnd struct {
	state   *bashState // where the shell stands; nil if it did not say
	gaveUp  bool       // the context ended and the command was killed
	died    bool       // the shell ended
	err     error      // of its Run, if it died
	between string     // what background jobs printed before the call
}

// startBash starts a shell with the exported variables that another one had.
func startBash(ws workspace.Workspace, env string, patience time.Duration) (*bashShell, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	sh := &bashShell{patience: patience, lines: make(chan string, 64), cancel: cancel, ended: make(chan struct{})}
	sh.between.limit = bashBetween
	sh.split.rest = &sh.between
	if env != "" {
		sh.lines <- "+{ builtin eval " + bashQuote(env) + "; } >/dev/null 2>&1 </dev/null\n"
	}
	go sh.feed(w)
	go func() {
		sh.err = ws.Run(ctx, &workspace.Cmd{
			Args:   []string{"bash", "--noprofile", "--norc", "-c", bashScript},
			Env:    []string{"TERM=dumb", "BASH_ENV=", "ENV="},
			Stdin:  r,
			Stdout: writerFunc(sh.printed),
			Stderr: writerFunc(sh.recorded),
		})
		cancel()
		r.Close()
		close(sh.ended)
	}()
	return sh, nil
}

type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

// feed writes the shell's input until it ends.
func (sh *bashShell) feed(w io.WriteCloser) {
	defer w.Close()
	for {
		select {
		case line := <-sh.lines:
			if _, err := io.WriteString(w, line); err != nil {
				return // the shell has ended or will, and says why
			}
		case <-sh.ended:
			return
		}
	}
}

// send gives the shell a line, unless it is too busy ever to read it.
func (sh *bashShell) send(line string) {
	select {
	case sh.lines <- line:
	default:
	}
}

// kill ends the shell and waits until nothing of it is left.
func (sh *bashShell) kill() {
	sh.cancel()
	<-sh.ended
}

func (sh *bashShell) printed(p []byte) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.split.write(p) {
		sh.call.marked = true
		sh.call.check()
	}
}

func (sh *bashShell) recorded(p []byte) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	call, state, ok := sh.records.write(p)
	switch {
	case ok && call == "exit":
		sh.last = &state
	case ok && sh.call != nil && call == sh.call.mark && sh.call.state == nil:
		sh.call.state = &state
		sh.call.check()
	}
}

func (c *bashCallState) check() {
	if c.marked && c.state != nil {
		close(c.done)
	}
}

// expect makes ready for a call whose output goes to out, and which ends with
// the record and the mark of that name.
func (sh *bashShell) expect(mark string, out *procOutput) *bashCallState {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.call = &bashCallState{mark: mark, done: make(chan struct{})}
	sh.split.begin(mark, out)
	return sh.call
}

// run runs a command. Its output goes to out. It returns as soon as the shell
// is ready for another one, or has ended.
func (sh *bashShell) run(ctx context.Context, command, flags string, out *procOutput) bashEnd {
	var end bashEnd
	sh.mu.Lock()
	end.between = sh.between.text()
	sh.between = procOutput{limit: bashBetween}
	sh.mu.Unlock()
	tag, half1, half2 := rand.Text(), rand.Text(), rand.Text()
	call := sh.expect(half1+half2, out)
	sh.lines <- bashCall(command, tag, half1, half2, flags)
	select {
	case <-call.done:
	case <-sh.ended:
	case <-ctx.Done():
		end.gaveUp = true
		sh.giveUp(call, tag, bashCallEnd(half1, half2), out)
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.split.end()
	out.finish()
	sh.call = nil
	end.state = call.state
	select {
	case <-sh.ended:
		end.died, end.err = true, sh.err
		if sh.last != nil {
			end.state = sh.last
		}
	default:
	}
	return end
}

// giveUp makes the shell give up a call, and returns when everything that the
// call started is dead. If the shell does not obey, it ends the shell.
func (sh *bashShell) giveUp(call *bashCallState, tag, end string, out *procOutput) {
	patience := time.NewTimer(sh.patience)
	defer patience.Stop()
	retell := time.NewTicker(bashRetell)
	defer retell.Stop()
	fenced := false
	// The shell may lose a line in the moment that it is interrupted: hence an
	// empty one, and the end once more.
	sh.send("!" + tag + "\n+\n" + end)
	for {
		select {
		case <-call.done:
			if fenced {
				return
			}
			// The relay does one thing after the other: when this comes back, it
			// has done its killing.
			fenced = true
			half1, half2 := rand.Text(), rand.Text()
			call = sh.expect(half1+half2, out)
			end = bashCallEnd(half1, half2)
			sh.send(end)
		case <-sh.ended:
			return
		case <-patience.C:
			sh.kill()
			return
		case <-retell.C:
			sh.send("!" + tag + "\n+\n" + end)
		}
	}
}
