package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"time"

	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/hostexec"
)

// maxSaid is how many bytes of what a hook says on standard error are kept.
const maxSaid = 4 << 10

// Programs is the [Runner] that starts processes and sends requests.
type Programs struct {
	// Lookup returns a variable of the environment.
	Lookup func(name string) (string, bool)

	// Check, if not nil, is called before a hook runs. It returns why it may not, such
	// as that its program has changed since the person approved it.
	Check func(h Hook, workspace string) error

	Client *http.Client // nil: one that follows no redirects
}

// Run implements [Runner].
func (p Programs) Run(ctx context.Context, h Hook, in Input) (Output, error) {
	if p.Check != nil {
		if err := p.Check(h, in.Workspace); err != nil {
			return Output{}, err
		}
	}
	if h.URL != "" {
		return p.post(ctx, h, in)
	}
	return p.start(ctx, h, in)
}

// environment returns the variables of a hook. They lead to no program or module that an
// agent can write, also where the hook starts in the workspace.
func (p Programs) environment(h Hook, in Input) []string {
	env := []string{"OPENMANUS_HOOK=" + h.Name, "OPENMANUS_SESSION=" + in.Session, "OPENMANUS_WORKSPACE=" + in.Workspace}
	if h.Claude {
		env = append(env, "CLAUDE_PROJECT_DIR="+in.Workspace)
	}
	for _, name := range append(hostexec.Usual(), h.Env...) {
		if v, ok := p.Lookup(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return hostexec.Outside(in.Workspace).Environ(env)
}

// start runs the command of a hook in a shell. All its processes end with it.
func (p Programs) start(ctx context.Context, h Hook, in Input) (Output, error) {
	cmd := shell(ctx, h.Run)
	cmd.Dir, cmd.Env = h.Dir, p.environment(h, in)
	if h.Claude {
		cmd.Dir = in.Workspace
	}
	inner, tooMuch := context.WithCancel(ctx)
	defer tooMuch()
	out, said := &bounded{limit: MaxOutput, full: tooMuch}, &bounded{limit: maxSaid}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in.JSON), out, said
	apart(cmd)
	if err := cmd.Start(); err != nil {
		return Output{}, fmt.Errorf("it did not start: %w", err)
	}
	ended := make(chan struct{})
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		select {
		case <-inner.Done():
		case <-ended:
		}
		killAll(cmd) // also what it left running in the background
	}()
	cmd.WaitDelay = time.Second // for pipes that others hold
	err := cmd.Wait()
	close(ended)
	<-killed
	o := Output{Text: out.b.Bytes(), Said: said.b.String()}
	var exit *exec.ExitError
	switch {
	case out.over:
		return Output{}, errTooMuch
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return o, nil
	case errors.As(err, &exit) && exit.ExitCode() == 2:
		return Output{Said: o.Said, Denied: true}, nil
	case errors.As(err, &exit) && exit.ExitCode() == 127:
		return o, errors.New("its program was not found (exit code 127)")
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return o, fmt.Errorf("it ended with the exit code %d", exit.ExitCode())
	case errors.As(err, &exit):
		return o, fmt.Errorf("it was killed (%s)", exit.ProcessState)
	}
	return o, err
}

// post sends the event to the address of a hook.
func (p Programs) post(ctx context.Context, h Hook, in Input) (Output, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(in.JSON))
	if err != nil {
		return Output{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	client := p.Client
	if client == nil {
		t := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
		defer t.CloseIdleConnections()
		client = &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	resp, err := client.Do(req)
	if err != nil {
		return Output{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, MaxOutput+1))
	switch {
	case resp.StatusCode/100 != 2:
		return Output{Said: clip.Text(string(data), maxSaid)}, fmt.Errorf("it answered with the status %d", resp.StatusCode)
	case err != nil:
		return Output{}, fmt.Errorf("its answer broke off: %w", err)
	case len(data) > MaxOutput:
		return Output{}, errTooMuch
	}
	return Output{Text: data}, nil
}

// A bounded keeps the beginning of what is written, and calls full when there is more.
type bounded struct {
	b     bytes.Buffer
	limit int
	over  bool
	full  func()
}

func (w *bounded) Write(p []byte) (int, error) {
	keep := min(len(p), w.limit-w.b.Len())
	w.b.Write(p[:keep])
	if keep < len(p) && !w.over {
		w.over = true
		if w.full != nil {
			w.full()
		}
	}
	return len(p), nil
}
