package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// A preparation is a container that is being made.
type preparation struct {
	done     chan struct{} // closed when one of the next two is set
	instance *instance
	err      error
}

// preparation begins to make a container in the background, so that the next command finds
// it ready.
func (c *container) preparation() *preparation {
	h := &preparation{done: make(chan struct{})}
	c.making.Go(func() {
		defer close(h.done)
		ctx, cancel := context.WithTimeout(context.Background(), engineTime)
		defer cancel()
		h.instance, h.err = c.make(ctx, c.config)
	})
	return h
}

// nextInstance returns a container that is ready for a command. From the second
// command on it also begins to make the next one: a session that runs two
// commands runs more.
func (c *container) nextInstance() (*instance, error) {
	c.ready.Lock()
	mine := c.next
	if mine == nil {
		mine = c.preparation()
		c.used = true
	}
	c.next = nil
	if c.used {
		c.next = c.preparation()
	}
	c.ready.Unlock()
	<-mine.done
	return mine.instance, mine.err
}

// networkedInstance makes a container with a network, for one command.
func (c *container) networkedInstance() (*instance, error) {
	ctx, cancel := context.WithTimeout(context.Background(), engineTime)
	defer cancel()
	return c.make(ctx, c.networked())
}

// make makes a container and waits until it is ready.
func (c *container) make(ctx context.Context, config map[string]any) (*instance, error) {
	id, err := c.engine.create(ctx, config)
	if err != nil {
		return nil, err
	}
	b := &instance{engine: c.engine, id: id}
	if err := b.start(ctx); err != nil {
		// If it cannot be ended now, Close does it.
		return nil, errors.Join(err, c.engine.end(context.WithoutCancel(ctx), id))
	}
	return b, nil
}

// An instance is a container whose first process waits for a command. It runs
// one command and no second: what that leaves in the file system of the
// container, in its memory or among its processes cannot reach another command.
type instance struct {
	engine *engine
	id     string
	conn   net.Conn
	from   *outputReader
	to     *frameWriter
}

// start starts the container and connects to its first process.
func (b *instance) start(ctx context.Context) error {
	conn, r, err := b.engine.attach(ctx, b.id)
	if err != nil {
		return err
	}
	b.conn, b.from, b.to = conn, &outputReader{r: r}, &frameWriter{w: conn}
	if err = b.engine.call(ctx, "POST", "/containers/"+b.id+"/start", nil, nil); err == nil {
		err = b.waitReady(ctx)
	}
	if err != nil {
		conn.Close()
	}
	return err
}

// waitReady waits until the first process of the container reports that it is ready, or
// why it cannot start.
func (b *instance) waitReady(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { b.conn.Close() })
	defer stop()
	kind, said, err := readFrame(b.from)
	switch {
	case err != nil:
		return fmt.Errorf("the container does not start: %w: %s", err, b.from.said)
	case kind != frameReady:
		return fmt.Errorf("the container does not start: it sent a frame %q", kind)
	case len(said) > 0:
		return errors.New(string(said))
	}
	return nil
}

// run has the first process start a command, and returns when it runs. The error
// is a *refusalError if it could not be started, and matches errGone if the
// container was not there any more, in which case another container can be
// tried.
func (b *instance) run(cmd insideCommand) error {
	if err := b.to.sendJSON(frameCommand, cmd); err != nil {
		return errors.Join(errGone, err)
	}
	kind, said, err := readFrame(b.from)
	switch {
	case err != nil:
		return errors.Join(errGone, err)
	case kind == frameRefused:
		return refusal(said)
	case kind != frameStarted:
		return fmt.Errorf("the container sent a frame %q", kind)
	}
	return nil
}

// errGone says that a container ended before it was given a command.
var errGone = errors.New("the container has ended")
