package bedrock_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/openmanus-go/openmanus/internal/leaktest"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/bedrock"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func open(client *http.Client) llm.Model {
	framed := *client
	framed.Transport = framing{client.Transport}
	return bedrock.New(bedrock.Options{Model: "us.anthropic.claude-sonnet-4-5-20250929-v1:0", Region: "us-east-1", BaseURL: "http://model.test",
		HTTPClient: &framed, Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "a-secret-of-the-test", "")})
}

func TestConformance(t *testing.T) { llmtest.Run(t, os.DirFS("testdata/converse"), open) }

func TestFaults(t *testing.T) {
	table, err := os.ReadFile("testdata/faults.txtar")
	if err != nil {
		t.Fatal(err)
	}
	llmtest.RunFaults(t, table, open)
}

// framing puts events that are written as text into Amazon's binary framing,
// each as soon as it is whole, and what is cut off as half a frame.
type framing struct{ http.RoundTripper }

func (f framing) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := f.RoundTripper.RoundTrip(r)
	if err != nil || !strings.HasPrefix(res.Header.Get("Content-Type"), "application/vnd.amazon.eventstream") {
		return res, err
	}
	res.Body = &frames{body: res.Body, lines: bufio.NewReader(res.Body)}
	return res, nil
}

func (f framing) CloseIdleConnections() {
	if c, ok := f.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

type frames struct {
	body  io.ReadCloser
	lines *bufio.Reader
	ready bytes.Buffer
	err   error
}

func (f *frames) Close() error { return f.body.Close() }

func (f *frames) Read(p []byte) (int, error) {
	var kind, data string
	for f.ready.Len() == 0 {
		if f.err != nil {
			return 0, f.err
		}
		line, err := f.lines.ReadString('\n')
		f.err = err
		if v, ok := strings.CutPrefix(line, "event: "); ok {
			kind = strings.TrimSpace(v)
		} else if v, ok := strings.CutPrefix(line, "data: "); ok {
			data = strings.TrimSuffix(v, "\n")
		}
		if whole := strings.TrimSpace(line) == ""; data != "" && (whole || err != nil) {
			f.frame(kind, data, whole)
			kind, data = "", ""
		}
	}
	return f.ready.Read(p)
}

func (f *frames) frame(kind, data string, whole bool) {
	m := eventstream.Message{Payload: []byte(data)}
	header := func(name, value string) { m.Headers.Set(name, eventstream.StringValue(value)) }
	if exception, ok := strings.CutPrefix(kind, "exception "); ok {
		header(":message-type", "exception")
		header(":exception-type", exception)
	} else {
		header(":message-type", "event")
		header(":event-type", kind)
	}
	var b bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&b, m); err != nil {
		f.err = err
		return
	}
	if !whole {
		b.Truncate(b.Len() - 6)
	}
	f.ready.Write(b.Bytes())
}
