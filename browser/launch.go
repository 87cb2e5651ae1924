package browser

import (
	"bytes"
	"context"
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
	said   *tail // its standard error
	tmp    string
	exited chan struct{}
	tr     *chromedp.PipeConn
}

// launch starts a browser that talks through a pipe.
func launch(o *Options) (*process, error) {
	path, err := o.named()
	if err != nil {
		return nil, err
	}
	if !o.NoSandbox && (o.root || !canSandbox()) {
		return nil, errNoSandbox
	}
	p := &process{said: &tail{max: 16 << 10}, exited: make(chan struct{})}
	if p.tmp, err = os.MkdirTemp("", "openmanus-browser-"); err != nil {
		return nil, fmt.Errorf("a directory for the browser: %w", err)
	}
	profile := o.Profile
	if profile == "" {
		profile = p.tmp + "/profile"
	}
	p.cmd = exec.Command(path, append(o.arguments(profile), "about:blank")...)
	p.cmd.Env = environment(os.Environ())
	p.cmd.Stderr = p.said
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
		return nil, errors.Join(fmt.Errorf("the browser %s does not start: %w", path, err), os.RemoveAll(p.tmp))
	}
	p.tr = chromedp.NewPipeConn(pipe.r, pipe.w)
	go func() {
		p.cmd.Wait() // how it ended is of no interest: that it ended is
		close(p.exited)
	}()
	return p, nil
}

// errNoSandbox says why a browser was not started.
var errNoSandbox = refuse("Chromium has no sandbox of its own when it is run by root: run openmanus as another user, or, where a page may do what it likes as root, such as in a container of its own, set [browser] sandbox = false")

// end ends the process, after it was asked to, and removes what it left.
func (p *process) end(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	select {
	case <-p.exited:
	case <-wait.Done():
	}
	killGroup(p.cmd)
	<-p.exited
	p.tr.Close() // it is closed already if the browser closed its end
	return removeAll(p.tmp)
}

// removeAll removes a directory into which processes that are dying may still
// write.
func removeAll(dir string) (err error) {
	for range 500 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("the browser's directory: %w", err)
}

// failure is what a browser that did not come up says of it.
func (p *process) failure(err error) error {
	said := strings.TrimSpace(p.said.String())
	if strings.Contains(said, "no-sandbox") || strings.Contains(said, "No usable sandbox") {
		return fmt.Errorf("%w (it says: %s)", errNoSandbox, lastLine(said))
	}
	if said != "" {
		return fmt.Errorf("the browser did not start: %w; it says: %s", err, lastLine(said))
	}
	return fmt.Errorf("the browser did not start: %w", err)
}

func lastLine(s string) string { return s[strings.LastIndexByte(s, '\n')+1:] }

// arguments are those of the program.
func (o *Options) arguments(profile string) []string {
	args := []string{
		"--remote-debugging-pipe", "--user-data-dir=" + profile,
		"--no-first-run", "--no-default-browser-check", "--disable-default-apps", "--disable-component-update",
		"--disable-background-networking", "--disable-sync", "--disable-breakpad", "--metrics-recording-only",
		"--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
		"--disable-hang-monitor", "--disable-prompt-on-repost", "--disable-popup-blocking", "--disable-dev-shm-usage",
		"--disable-client-side-phishing-detection", "--disable-search-engine-choice-screen", "--disable-infobars",
		"--password-store=basic", "--use-mock-keychain", "--force-color-profile=srgb",
		"--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider,AcceptCHFrame,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,LensOverlay,DownloadBubble,DeferRendererTasksAfterInput",
		// What does not go through a proxy is not spoken at all.
		"--disable-quic", "--dns-prefetch-disable",
		"--webrtc-ip-handling-policy=disable_non_proxied_udp", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp", // as it is called now, and was
		fmt.Sprintf("--window-size=%d,%d", o.Width, o.Height),
	}
	if !o.Window {
		args = append(args, "--headless", "--hide-scrollbars", "--mute-audio", "--disable-gpu")
	}
	if o.Proxy != "" {
		args = append(args, "--proxy-server="+o.Proxy, "--proxy-bypass-list=<-loopback>") // Chromium itself would leave out this machine
	}
	if o.NoSandbox {
		args = append(args, "--no-sandbox", "--test-type") // the latter hides a warning that covers the page
	}
	if o.DisableSecurity {
		args = append(args, "--disable-web-security", "--allow-running-insecure-content", "--ignore-certificate-errors")
	}
	return append(args, o.Args...)
}

// environment is that of the browser: no keys, and no proxy that was not
// asked for.
func environment(all []string) []string {
	var kept []string
	for _, v := range all {
		name, _, _ := strings.Cut(strings.ToUpper(v), "=")
		secret := false
		for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "_PROXY"} {
			secret = secret || strings.Contains(name, word)
		}
		if !secret {
			kept = append(kept, v)
		}
	}
	return kept
}

// A tail keeps the end of what is written to it.
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

// pipe is a browser's standing connection: what we read and write, and the
// ends that it has of it.
type pipe struct {
	r, w           *os.File
	theirR, theirW *os.File
}

// newPipe makes the pipe of a browser that cmd is about to start.
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
