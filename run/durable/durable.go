// Package durable spreads sessions over workers with Temporal: see
// https://docs.temporal.io.
//
// A session that has something to do is a workflow. The workflow decides one thing, where
// the session goes on, and knows nothing but its name: one activity drives the session
// until it rests, on the worker that has its files, or on any other. Messages, replies and
// results are in the journal. So a history has some kilobytes whatever happens in the
// session, nothing large or secret is in it, and a new version of an agent never breaks the
// replay of an old one. A session that rests, such as one that waits for a person, has no
// workflow at all: who appends to it wakes it, and that begins another one.
//
// An activity says every few seconds that it lives. If it does not, another worker goes
// on. Whether it may is up to the lease of the session, which the journal checks with
// each append: so a worker that was only stopped or cut off records nothing any more.
package durable

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
)

// Options say where Temporal is.
type Options struct {
	Address   string // host:port of its frontend
	Namespace string // "": default
	Queue     string // the task queue; "": openmanus
	TLS       bool   // whether the connection is encrypted
	APIKey    string // "": none; it needs TLS

	Log *slog.Logger // nil discards
}

// A Route is what a client knows of a session that is to be driven.
type Route struct {
	Owner  string // sessions of one owner do not hold up those of others
	Worker string // the worker that has the files of the session; "": none, or not known
}

// A Client wakes sessions. It is a [run.Runtime] whose Wake returns when it is certain that
// a worker will drive the session. It is safe for concurrent use.
type Client struct {
	client client.Client
	queue  string
	route  func(ctx context.Context, session string) (Route, error)
}

// Dial connects to Temporal. The error names its address. route says of a session that is
// woken what is known of it.
func Dial(ctx context.Context, o Options, route func(ctx context.Context, session string) (Route, error)) (*Client, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Queue = cmp.Or(o.Queue, "openmanus")
	opts := client.Options{HostPort: o.Address, Namespace: o.Namespace, Logger: log.NewStructuredLogger(o.Log)}
	if o.TLS {
		opts.ConnectionOptions.TLS = new(tls.Config)
	}
	if o.APIKey != "" {
		if !o.TLS {
			return nil, errors.New("the key of Temporal is sent over an encrypted connection alone: set tls")
		}
		opts.Credentials = client.NewAPIKeyStaticCredentials(o.APIKey)
	}
	c, err := client.DialContext(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("cannot reach Temporal at %s: %w", o.Address, err)
	}
	return &Client{c, o.Queue, route}, nil
}

// Close closes the connection.
func (c *Client) Close() { c.client.Close() }

// wakeSignal says that the journal of a session has grown.
const wakeSignal = "wake"

// workflowID is that of the workflow of a session.
func workflowID(session string) string { return "session/" + session }

// Wake implements [run.Runtime]: it starts the workflow of a session, or tells the one that
// there is to look at the session again. While Temporal cannot be reached it tries again
// until ctx ends.
func (c *Client) Wake(ctx context.Context, session string) error {
	return c.try(ctx, session, func(o client.StartWorkflowOptions, in input) error {
		_, err := c.client.SignalWithStartWorkflow(ctx, o.ID, wakeSignal, nil, o, workflowName, in)
		return err
	})
}

// Ensure starts the workflow of a session if it has none. Any process may call it, at
// any time. While Temporal cannot be reached it tries again, until ctx ends.
func (c *Client) Ensure(ctx context.Context, session string) error {
	return c.try(ctx, session, func(o client.StartWorkflowOptions, in input) error {
		o.WorkflowIDConflictPolicy = enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
		_, err := c.client.ExecuteWorkflow(ctx, o, workflowName, in)
		return err
	})
}

// try calls do until it does not fail because of the connection.
func (c *Client) try(ctx context.Context, session string, do func(client.StartWorkflowOptions, input) error) error {
	r, err := c.route(ctx, session)
	if err != nil {
		return err
	}
	o := client.StartWorkflowOptions{
		ID: workflowID(session), TaskQueue: c.queue, StaticSummary: session,
		Priority: temporal.Priority{FairnessKey: fairness(r.Owner)},
	}
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := do(o, input{Session: session, Owner: r.Owner, Worker: r.Worker})
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || !passes(err) {
			return fmt.Errorf("wake session %s by Temporal: %w", session, err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// passes reports whether a request may succeed a little later.
func passes(err error) bool {
	var down *serviceerror.Unavailable
	var late *serviceerror.DeadlineExceeded
	var busy *serviceerror.ResourceExhausted
	return errors.As(err, &down) || errors.As(err, &late) || errors.As(err, &busy) || errors.Is(err, context.DeadlineExceeded)
}

// fairness returns the key of an owner, of which Temporal takes 64 bytes.
func fairness(owner string) string { return owner[:min(len(owner), 64)] }
