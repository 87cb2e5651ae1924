package wire

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/llm"
)

// An Adapter is the part that all adapters have in common: it encodes a request,
// sends it, and reads the response. A type that embeds it is an [llm.Model]. It is
// safe for concurrent use if the functions of its [Exchange] are.
type Adapter struct{ x Exchange }

// An Exchange is the part that differs between adapters.
type Exchange struct {
	Model  string // the provider's name for the model
	Place  *Place
	Wrong  error // a mistake in the configuration, with which every request fails
	Client *http.Client

	Format Format
	Send   func(context.Context, Segments) (*http.Response, error) // the response is one of success: see [Place.Check]
	Read   Reader
}

// New returns the adapter for x. It connects to nothing.
func New(x Exchange) Adapter { return Adapter{x} }

// An Endpoint is the address that most adapters post their requests to, with the
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

	// Bearer, if not nil, returns the bearer token of a request. It is called
	// for each. SignIn is what errors call the credentials behind it.
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

// Credentials returns a header with the credentials besides and with own, the
// header that the user of an adapter sets, and all their values, which no error
// may show. Own overrides besides. The header is a copy.
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

// String returns the model and its host, without a key.
func (a Adapter) String() string { return a.x.Place.Name }

// Close closes the idle connections.
func (a Adapter) Close() error {
	a.x.Client.CloseIdleConnections()
	return nil
}

// Body returns the exact bytes that are sent for req.
func (a Adapter) Body(req *llm.Request) ([]byte, error) {
	body, err := a.encode(req)
	return body.Bytes(), err
}

// encode returns the body of req, or the mistake in the configuration.
func (a Adapter) encode(req *llm.Request) (Segments, error) {
	if a.x.Wrong != nil {
		return nil, a.x.Wrong
	}
	return Encode(req, a.x.Format)
}

// settled bounds the wait for events that may follow the end of a reply (usage,
// [DONE], the end of the response). A reply is complete without them.
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

// ask sends req, and returns the response if it is one of success.
func (a Adapter) ask(ctx context.Context, req *llm.Request) (*http.Response, error) {
	body, err := a.encode(req)
	if err != nil {
		return nil, err
	}
	res, err := a.x.Send(ctx, body)
	var e *llm.Error
	if errors.As(err, &e) && len(body) > 0 {
		if e.Field = refusedField(e, e.Err.Error(), e.Field, body[len(body)-1]); e.Field != "" {
			e.Permanent = true // the same request would be refused again
		}
	}
	return res, err
}
