package browser

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/chromedp"
)

const (
	startTime = 60 * time.Second // for a browser to start, on a busy machine
	closeTime = 20 * time.Second // for it to end by itself
)

// A process is a browser that was started here.
type process struct {
	cmd    *exec.Cmd
	stderr *tail
	dir    string        // removed when it ends
	exited chan struct{} // closed when it has exited
	tr     *chromedp.PipeConn
}

// launch starts a browser that speaks the protocol over a pipe: unlike a port, no
// other process of the user can connect to it. The caller calls end.
func launch(o *Options) (*process, error) {
	path, err := o.program()
	if err != nil {
		return nil, err
	}
	if !o.NoSandbox && (o.root || !canSandbox()) {
		return nil, errNoSandbox
	}
	p := &process{stderr: &tail{max: 16 << 10}, exited: make(chan struct{})}
	if p.dir, err = o.makeDir(); err != nil {
		return nil, err
	}
	profile := o.Profile
	profile = cmp.Or(profile, p.dir+"/profile")
	p.cmd = o.outside().Command(context.Background(), path, append(o.arguments(profile), "about:blank")...)
	p.cmd.Dir = p.dir // what starts it may be a script, and it looks for files where it starts
	p.cmd.Stderr = p.stderr
	p.cmd.WaitDelay = 2 * time.Second
	pipe, err := newPipe(p.cmd)
	if err == nil {
		err = p.cmd.Start()
		pipe.closeTheirs()
	}
	if err != nil {
		if pipe != nil {
			pipe.closeOurs()
		}
		err = fmt.Errorf("the browser %s does not start: %w", path, err)
		return nil, errors.Join(err, os.RemoveAll(p.dir))
	}
	p.tr = chromedp.NewPipeConn(pipe.r, pipe.w)
	go func() {
		p.cmd.Wait() // only that it ended matters, not how
		close(p.exited)
	}()
	return p, nil
}

// makeDir makes a directory for a browser, which has its cookies. Commands of the agent
// do not see it.
func (o *Options) makeDir() (string, error) {
	parent, err := o.outside().Dir()
	if err == nil {
		parent, err = os.MkdirTemp(parent, "openmanus-browser-")
	}
	if err != nil {
		return "", fmt.Errorf("a directory for the browser: %w", err)
	}
	return parent, nil
}

// errNoSandbox is the error of a start as root without [Options].NoSandbox.
var errNoSandbox = refuse("Chromium cannot use its own sandbox when it runs as root: run openmanus as" +
	" another user, or set [browser] sandbox = false where a page may act as root, such as in a container of" +
	" its own")

// errNoNamespaces is the error of a start where the system does not let Chromium make
// its sandbox.
var errNoNamespaces = refuse("Chromium cannot make its own sandbox, because this system allows it no user" +
	" namespaces: install the Chromium of the system's packages, whose helper makes the sandbox (on Debian" +
	" chromium-sandbox), or allow them (sysctl kernel.unprivileged_userns_clone=1, on Ubuntu" +
	" kernel.apparmor_restrict_unprivileged_userns=0), or set [browser] sandbox = false where a page may do" +
	" what openmanus may, such as in a container of its own")

// end waits until the process has exited after it was asked to, kills whatever is
// left of it when closeTime has passed, and removes its directory. The process has
// children, which may outlive it by a moment.
func (p *process) end(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	select {
	case <-p.exited:
	case <-wait.Done():
	}
	killGroup(p.cmd)
	<-p.exited
	p.tr.Close() // an error means that the browser closed its end first
	return removeAll(p.dir)
}

// removeAll removes a directory into which dying processes may still write. It
// tries for ten seconds.
func removeAll(dir string) (err error) {
	for range 500 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("the browser's directory: %w", err)
}

// failure explains err, with which a start failed, by the last line of what the
// browser printed.
func (p *process) failure(err error) error {
	printed := strings.TrimSpace(p.stderr.String())
	last := printed[strings.LastIndexByte(printed, '\n')+1:]
	switch {
	case strings.Contains(printed, "No usable sandbox"): // and how to do without one
		return errNoNamespaces
	case strings.Contains(printed, "no-sandbox"):
		return fmt.Errorf("%w (it printed: %s)", errNoSandbox, last)
	case printed != "":
		return fmt.Errorf("the browser did not start: %w; it printed: %s", err, last)
	}
	return fmt.Errorf("the browser did not start: %w", err)
}

//go:embed data/arguments.txt
var fixedArguments string

// arguments returns the arguments of the program.
func (o *Options) arguments(profile string) []string {
	args := []string{"--user-data-dir=" + profile, fmt.Sprintf("--window-size=%d,%d", o.Width, o.Height)}
	for line := range strings.Lines(fixedArguments) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "--") {
			args = append(args, line)
		}
	}
	if !o.Window {
		args = append(args, "--headless", "--hide-scrollbars", "--mute-audio", "--disable-gpu")
	}
	if o.proxy != "" {
		// By default Chromium connects to loopback addresses without the proxy.
		args = append(args, "--proxy-server="+o.proxy, "--proxy-bypass-list=<-loopback>")
	}
	if o.NoSandbox {
		args = append(args, "--no-sandbox", "--test-type") // the latter hides a warning that covers the page
	}
	if o.DisableSecurity {
		args = append(args, "--disable-web-security", "--allow-running-insecure-content",
			"--ignore-certificate-errors")
	}
	return append(args, o.Args...)
}

// A tail is a writer that keeps the last max bytes. It is safe for concurrent
// use.
type tail struct {
	max int
	mu  sync.Mutex
	buf bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(p)
	if over := t.buf.Len() - t.max; over > 0 {
		t.buf.Next(over)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}

// A pipe connects us to a browser in both directions: our two ends, and the two
// that the browser inherits.
type pipe struct {
	r, w           *os.File
	theirR, theirW *os.File
}

// newPipe makes the pipe and arranges for cmd to inherit the browser's ends.
func newPipe(cmd *exec.Cmd) (*pipe, error) {
	p := new(pipe)
	var err error
	if p.theirR, p.w, err = os.Pipe(); err != nil {
		return nil, err
	}
	if p.r, p.theirW, err = os.Pipe(); err != nil {
		p.theirR.Close()
		p.w.Close()
		return nil, err
	}
	if err := p.give(cmd); err != nil {
		p.closeTheirs()
		p.closeOurs()
		return nil, err
	}
	return p, nil
}

func (p *pipe) closeTheirs() { p.theirR.Close(); p.theirW.Close() }
func (p *pipe) closeOurs()   { p.r.Close(); p.w.Close() }
