package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// A hatch is a container that is being made.
type hatch struct {
	done chan struct{}
	box  *box
	err  error
}

// hatch begins to make a container.
func (c *container) hatch() *hatch {
	h := &hatch{done: make(chan struct{})}
	c.making.Go(func() {
		defer close(h.done)
		ctx, cancel := context.WithTimeout(context.Background(), engineTime)
		defer cancel()
		h.box, h.err = c.make(ctx)
	})
	return h
}

// take returns a container that is ready. From the second command on it has the
// next one made at once: who runs two runs more.
func (c *container) take() (*box, error) {
	c.ready.Lock()
	mine := c.next
	if mine == nil {
		mine = c.hatch()
		c.used = true
	}
	c.next = nil
	if c.used {
		c.next = c.hatch()
	}
	c.ready.Unlock()
	<-mine.done
	return mine.box, mine.err
}

// make makes a container, and waits until it is ready.
func (c *container) make(ctx context.Context) (*box, error) {
	id, err := c.engine.create(ctx, c.config)
	if err != nil {
		return nil, err
	}
	b := &box{engine: c.engine, id: id}
	if err := b.begin(ctx); err != nil {
		// What cannot be ended now, Close ends.
		return nil, errors.Join(err, c.engine.end(context.WithoutCancel(ctx), id))
	}
	return b, nil
}

// A box is a container whose first process waits for a command.
type box struct {
	engine *engine
	id     string
	conn   net.Conn
	from   *outputReader
	to     *frameWriter
}

func (b *box) begin(ctx context.Context) error {
	conn, r, err := b.engine.attach(ctx, b.id)
	if err != nil {
		return err
	}
	b.conn, b.from, b.to = conn, &outputReader{r: r}, &frameWriter{w: conn}
	if err = b.engine.call(ctx, "POST", "/containers/"+b.id+"/start", nil, nil); err == nil {
		err = b.greeted(ctx)
	}
	if err != nil {
		conn.Close()
	}
	return err
}

// greeted waits until the first process is ready.
func (b *box) greeted(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { b.conn.Close() })
	defer stop()
	kind, said, err := readFrame(b.from)
	switch {
	case err != nil:
		return fmt.Errorf("it does not start: %w: %s", err, b.from.said)
	case kind != frameReady:
		return fmt.Errorf("it does not start: %q", kind)
	case len(said) > 0:
		return errors.New(string(said))
	}
	return nil
}

// ask has the first process start a command.
func (b *box) ask(cmd insideCommand) error {
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
		return fmt.Errorf("the container says %q", kind)
	}
	return nil
}

// errGone says that a container was not there any more when it was needed.
var errGone = errors.New("the container has ended")
