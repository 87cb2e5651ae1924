package wire

import (
	"context"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
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

// An Endpoint is where most adapters post their requests, and with which
// credentials.
type Endpoint struct {
	Model   string
	BaseURL string      // as it was configured; errors show its host
	Example string      // a right base URL, for the error of a wrong one
	URL     string      // where requests go
	Header  http.Header // goes along with every request; not nil
	Secrets []string    // the credentials in Header; "" is none
	Client  *http.Client
	Hint    func(llm.Kind) string

	// Bearer, if not nil, returns the bearer token of a request. Errors call
	// what it stands for SignIn.
	Bearer func(context.Context) (string, error)
	SignIn string
}

// Post returns the adapter that posts requests in the format f to e, and reads
// the responses with read.
func Post(e Endpoint, f Format, read Reader) Adapter {
	shown, wrong := BaseURL(e.BaseURL, e.Model, e.Example)
	place := &Place{Name: e.Model + " at " + shown.Host, Hint: e.Hint, Secrets: e.Secrets,
		NoKey: strings.Join(e.Secrets, "") == "" && e.Bearer == nil}
	if e.Bearer != nil {
		place.Key = e.SignIn
	}
	client := Client(e.Client)
	send := func(ctx context.Context, body Segments) (*http.Response, error) {
		header := e.Header.Clone()
		if err := Bearer(ctx, header, e.Bearer); err != nil {
			return nil, err
		}
		return place.Post(ctx, client, e.URL, header, body)
	}
	return New(Exchange{Model: e.Model, Place: place, Wrong: wrong, Client: client, Format: f, Send: send, Read: read})
}

// Credentials returns the header that goes along with the requests of a user
// who sets own, with credentials besides, and the values of both that no error
// may show. What own sets stays.
func Credentials(own http.Header, besides map[string]string) (header http.Header, secrets []string) {
	header = http.Header{}
	for name, value := range besides {
		header.Set(name, value)
	}
	for name, values := range own {
		header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	for _, values := range header {
		for _, v := range values {
			secrets = append(secrets, strings.TrimPrefix(v, "Bearer "))
		}
	}
	return header, secrets
}

// BearerKey returns the credentials of a key that is sent as bearer token; none
// if it is "".
func BearerKey(key string) map[string]string {
	if key == "" {
		return nil
	}
	return map[string]string{"Authorization": "Bearer " + key}
}

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
