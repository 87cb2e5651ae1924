package wire

import (
	"context"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/openmanus-go/openmanus/llm"
)

// An Adapter is what all adapters are: it makes the body of a request, sends
// it, and reads what comes back. What embeds it is an [llm.Model]. It is safe
// for concurrent use if the functions of its [Exchange] are.
type Adapter struct{ x Exchange }

// An Exchange is what differs from one adapter to the next.
type Exchange struct {
	Model  string // as the provider calls it
	Place  *Place
	Wrong  error // in what was configured: what every request fails with
	Client *http.Client

	Format Format
	Send   func(context.Context, Segments) (*http.Response, error) // which returns a response of success
	Read   Reader
}

// New returns the adapter for x. It connects to nothing.
func New(x Exchange) Adapter { return Adapter{x} }

// String says which model it is and where, and never the key.
func (a Adapter) String() string { return a.x.Place.Name }

// Close closes the connections that are kept for later requests.
func (a Adapter) Close() error {
	a.x.Client.CloseIdleConnections()
	return nil
}

// Body returns the exact bytes that are sent for req.
func (a Adapter) Body(req *llm.Request) ([]byte, error) {
	body, err := a.encode(req)
	return body.Bytes(), err
}

func (a Adapter) encode(req *llm.Request) (Segments, error) {
	if a.x.Wrong != nil {
		return nil, a.x.Wrong
	}
	return Encode(req, a.x.Format)
}

// settled is how long we wait for what may follow the end of a reply (usage,
// [DONE], the end of the response), which the reply does not need.
const settled = 10 * time.Second

// Stream implements [llm.Model].
func (a Adapter) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		res, err := a.ask(inner, req)
		if err != nil {
			yield(llm.Delta{}, a.x.Place.Failure(ctx, err))
			return
		}
		defer res.Body.Close()
		timer := time.AfterFunc(settled, cancel)
		timer.Stop()
		defer timer.Stop()

		last, heard, err := a.x.Read(res.Body, a.x.Model, yield, func() { timer.Reset(settled) })
		switch {
		case !heard:
		case err != nil:
			yield(llm.Delta{}, a.x.Place.Failure(ctx, err))
		default:
			yield(last, nil)
			timer.Reset(time.Second / 4) // to the end, so that the connection can be used again
			io.CopyN(io.Discard, res.Body, 4096)
		}
	}
}

func (a Adapter) ask(ctx context.Context, req *llm.Request) (*http.Response, error) {
	body, err := a.encode(req)
	if err != nil {
		return nil, err
	}
	return a.x.Send(ctx, body)
}
