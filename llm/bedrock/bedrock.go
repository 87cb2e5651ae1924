// Package bedrock is the adapter for Amazon Bedrock: for Converse, which serves the
// models of all makers, and for Anthropic's Messages, which Claude understands there
// as well.
//
//	model := bedrock.New(bedrock.Options{Model: "us.anthropic.claude-sonnet-4-5-20250929-v1:0", Region: "us-east-1"})
//
// Requests are signed with the credentials that AWS' own tools use, from the
// environment, the shared files, or the machine. AWS' SDK finds them, signs, and
// decodes the framing of streams; requests and replies are encoded here.
//
// The adapter makes one attempt: wrap it in [llm.Retry]. The encoded messages of a
// conversation are kept in the request's [llm.Memo], and marked for the cache of the
// models that have one.
//
// In Converse, no tools are sent with a tool_choice of "none", and a schema goes
// into the instructions. An effort gives Claude a budget for thinking, and no
// temperature is sent then; with other models it is an error. For Messages see
// package anthropic.
package bedrock

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/bedrock/internal/converse"
	"github.com/openmanus-go/openmanus/llm/bedrock/internal/frame"
	"github.com/openmanus-go/openmanus/llm/internal/messages"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// Options say which model to ask, and where. Model is required, and Region or
// BaseURL.
type Options struct {
	Model   string // an id, an inference profile's, or an ARN
	Region  string // unless BaseURL names one
	BaseURL string // "": Amazon's own for the region
	Key     string // an API key of Bedrock's, sent as bearer token; "": requests are signed
	API     string // Converse, or Messages for Claude; "": Messages if the name is one of Claude's
	Output  int    // tokens that a reply may have where the request does not say, in Messages; 0: known from the name

	// Credentials sign the requests; nil: those that AWS' own tools would use.
	Credentials aws.CredentialsProvider

	// HTTPClient sends the requests; nil: a new one. It should have no Timeout,
	// which would end long replies. Redirects are never followed.
	HTTPClient *http.Client

	// Hint, if not nil, returns a sentence for errors of a kind, which only the
	// caller can write.
	Hint func(llm.Kind) string
}

// The interfaces.
const (
	Converse = "converse"
	Messages = "messages"
)

// A Model is an [llm.Model] on Bedrock. Body returns the exact bytes
// that are sent for a request, and Close closes the connections that are kept.
type Model struct{ adapter }

// adapter is embedded under a name that is not exported.
type adapter = wire.Adapter

// A sender sends requests with a signature or a key.
type sender struct {
	opts        Options
	place       *wire.Place
	client      *http.Client
	verb        string // the end of the address
	credentials wire.Once[aws.CredentialsProvider]
}

// New returns the model that opts describe. It connects to nothing; wrong
// options are reported by the first request.
func New(opts Options) *Model {
	opts.BaseURL = cmp.Or(opts.BaseURL, "https://bedrock-runtime."+opts.Region+".amazonaws.com")
	if !strings.Contains(opts.BaseURL, "://") {
		opts.BaseURL = "https://" + opts.BaseURL
	}
	opts.BaseURL = strings.TrimRight(opts.BaseURL, "/")
	shown, wrong := wire.BaseURL(opts.BaseURL, opts.Model, "https://bedrock-runtime.us-east-1.amazonaws.com")
	if r := region(shown.Host); r != "" {
		opts.Region = r
	}
	if opts.Region == "" && opts.Key == "" && wrong == nil {
		wrong = wire.Wrongf("no region is named for %s", opts.Model)
	}
	m := &sender{opts: opts, client: wire.Client(opts.HTTPClient),
		place: &wire.Place{Name: opts.Model + " at " + shown.Host, Hint: opts.Hint, Secrets: []string{opts.Key}}}
	if opts.Key == "" {
		m.place.Key = "the AWS credentials"
	}
	m.credentials.Get = m.find
	x := wire.Exchange{Model: opts.Model, Place: m.place, Wrong: wrong, Client: m.client, Send: m.send}
	m.speak(&x)
	return &Model{wire.New(x)}
}

// speak chooses the format of x.
func (m *sender) speak(x *wire.Exchange) {
	name := m.opts.Model
	claude := strings.Contains(name, "anthropic.claude")
	if m.opts.API == Messages || m.opts.API == "" && claude {
		encoder := messages.New(name, m.opts.Output, "")
		encoder.Host = messages.Bedrock
		m.verb, x.Format, x.Read = "invoke-with-response-stream", encoder, readMessages
		return
	}
	encoder := &converse.Encoder{Model: name, Caches: claude || strings.Contains(name, "amazon.nova"),
		Thinks: claude && regexp.MustCompile(`claude-3-7|claude-(opus|sonnet|haiku)-4`).MatchString(name)}
	m.verb, x.Format, x.Read = "converse-stream", encoder, converse.Read
}

// readMessages is a [wire.Reader] of Anthropic's events in Amazon's framing.
func readMessages(body io.Reader, model string, yield func(llm.Delta, error) bool, finished func()) (llm.Delta, bool, error) {
	return messages.ReadEvents(frame.Chunks(body), model, yield, finished)
}

// region returns the region of one of Amazon's hosts; "" for another host.
func region(host string) string {
	if m := regexp.MustCompile(`^bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.`).FindStringSubmatch(host); m != nil {
		return m[1]
	}
	return ""
}

// find returns the credentials, those that AWS' own tools would use unless the
// options have some.
func (m *sender) find(ctx context.Context) (aws.CredentialsProvider, error) {
	if m.opts.Credentials != nil {
		return m.opts.Credentials, nil
	}
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(m.opts.Region))
	if err != nil {
		return nil, err
	}
	return cfg.Credentials, nil
}

// send returns the response to body if it is one of success: see
// [wire.Place.Check].
func (m *sender) send(ctx context.Context, body wire.Segments) (*http.Response, error) {
	at := m.opts.BaseURL + "/model/" + strings.ReplaceAll(url.PathEscape(m.opts.Model), ":", "%3A") + "/" + m.verb
	r, err := wire.NewRequest(ctx, at, nil, body)
	if err != nil {
		return nil, err
	}
	if err := m.sign(ctx, r, body); err != nil {
		return nil, err
	}
	res, err := m.place.Do(m.client, r)
	if err != nil {
		return nil, err
	}
	if kind := res.Header.Get("Content-Type"); strings.HasPrefix(kind, "text/html") {
		res.Body.Close()
		return nil, wire.Elsewhere("the response is a web page, not a reply: is the base URL right?")
	}
	return res, nil
}

// sign adds the key or the signature to r.
func (m *sender) sign(ctx context.Context, r *http.Request, body wire.Segments) error {
	if m.opts.Key != "" {
		r.Header.Set("Authorization", "Bearer "+m.opts.Key)
		return nil
	}
	failed := func(err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &llm.Error{Kind: llm.Auth, Permanent: true, Err: fmt.Errorf(
			"there are no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or AWS_BEARER_TOKEN_BEDROCK (%w)", err)}
	}
	provider, err := m.credentials.Do(ctx)
	if err != nil {
		return failed(err)
	}
	if provider == nil {
		return failed(errors.New("none are configured"))
	}
	credentials, err := provider.Retrieve(ctx)
	if err != nil {
		return failed(err)
	}
	sum := sha256.New()
	for _, b := range body {
		sum.Write(b)
	}
	return v4.NewSigner().SignHTTP(ctx, credentials, r, hex.EncodeToString(sum.Sum(nil)), "bedrock", m.opts.Region, time.Now())
}
