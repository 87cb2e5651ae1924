package workspace

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// A Door lets a command that is running connect to servers of this machine that its
// cage keeps from it: to ports of the loopback interface, which a person has allowed.
// It is for one [Cmd], and for what that started. Its methods may be called from any
// goroutine. The zero value is ready for use.
type Door struct {
	mu    sync.Mutex
	begun chan struct{} // closed when the command has started, or could not
	in    Forwarder     // nil: the command is not running
}

// A Forwarder is a [Process] for which ports can be opened.
type Forwarder interface {
	// Forward has connections of the process to a port of its loopback interface
	// lead to the same port of this machine's, until stop is called. stop also ends
	// the connections that were made, and returns when nothing is left of them. An
	// error that matches [ErrTaken] means that a program in the cage has the port.
	Forward(ports []int) (stop func(), err error)
}

// ErrTaken says that a port cannot be opened because a program in the cage listens
// there itself.
var ErrTaken = errors.New("a program in the sandbox listens there itself")

// Opens reports whether the cage of w keeps commands from the loopback interface of
// this machine, and a [Door] can let them through.
func Opens(w Runner) bool {
	o, ok := w.(interface{ Opens() bool })
	return ok && o.Opens()
}

// Opens is explained at the function [Opens].
func (d *Dir) Opens() bool {
	o, ok := d.Cage.(interface{ Opens() bool })
	return ok && o.Opens()
}

// Open opens ports for the command until shut is called, which may come after the end
// of the command. Each port is one of 1 to 65535. It waits until the command has
// started.
func (d *Door) Open(ctx context.Context, ports ...int) (shut func(), err error) {
	in, err := d.forwarder(ctx)
	if err != nil {
		return nil, err
	}
	if in == nil {
		return nil, fmt.Errorf("ports %v: the command has ended, or has no cage that could open them", ports)
	}
	return in.Forward(ports)
}

// forwarder waits until the command has started. It returns nil if it has ended.
func (d *Door) forwarder(ctx context.Context) (Forwarder, error) {
	d.mu.Lock()
	if d.begun == nil {
		d.begun = make(chan struct{})
	}
	begun := d.begun
	d.mu.Unlock()
	select {
	case <-begun:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.in, nil
}

// pass has the door lead into p, or nowhere if p is no [Forwarder].
func (d *Door) pass(p Process) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.in, _ = p.(Forwarder)
	if d.begun == nil {
		d.begun = make(chan struct{})
	}
	select {
	case <-d.begun:
	default:
		close(d.begun)
	}
}
