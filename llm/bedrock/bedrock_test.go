package bedrock_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"golang.org/x/tools/txtar"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/bedrock"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

func TestMain(m *testing.M) { testbed.Main(m) }

const claude = "us.anthropic.claude-opus-4-5-20251101-v1:0"

// opener opens Claude by an API of Bedrock's, at a peer whose events are text.
func opener(api string) llmtest.Open {
	return func(client *http.Client) llm.Model {
		framed := *client
		framed.Transport = framing{client.Transport, api == bedrock.Messages}
		return bedrock.New(bedrock.Options{Model: claude, Region: "us-east-1", BaseURL: "http://model.test", API: api,
			HTTPClient: &framed, Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "a-secret-of-the-test", "")})
	}
}

func TestConformance(t *testing.T) {
	llmtest.Run(t, os.DirFS("testdata/converse"), opener(bedrock.Converse))
}

// Claude in Anthropic's own format is asked as at home, with errors of
// Amazon's.
func TestConformanceInMessages(t *testing.T) {
	llmtest.Run(t, llmtest.Over(os.DirFS("testdata/claude"), os.DirFS("../anthropic/testdata/messages")), opener(bedrock.Messages))
}

func TestFaults(t *testing.T) {
	llmtest.RunFaults(t, read(t, "testdata/faults.txtar"), opener(bedrock.Converse))
}

// The faults of Messages are those at Anthropic, but for those of its framing.
func TestFaultsInMessages(t *testing.T) {
	table, own := txtar.Parse(read(t, "../anthropic/testdata/faults.txtar")), txtar.Parse(read(t, "testdata/claude-faults.txtar"))
	for i, f := range table.Files {
		if strings.HasSuffix(f.Name, " (plain)") {
			table.Files[i].Data = []byte("none there is only the stream\n")
		}
	}
	table.Comment = slices.Concat(table.Comment, own.Comment)
	table.Files = append(table.Files, own.Files...)
	llmtest.RunFaults(t, txtar.Format(table), opener(bedrock.Messages))
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The API follows from the model's name, unless it is configured; a request
// goes to its address, signed.
func TestWhatIsSpoken(t *testing.T) {
	for _, tt := range []struct{ model, api, path, has string }{
		{claude, "", "/model/us.anthropic.claude-opus-4-5-20251101-v1%3A0/invoke-with-response-stream", `"anthropic_beta":["interleaved-thinking-2025-05-14"]`},
		{claude, bedrock.Converse, "/model/us.anthropic.claude-opus-4-5-20251101-v1%3A0/converse-stream", `"inferenceConfig"`},
		{"amazon.nova-pro-v1:0", "", "/model/amazon.nova-pro-v1%3A0/converse-stream", `"inferenceConfig"`},
		{"arn:aws:bedrock:us-east-1:1:application-inference-profile/x", bedrock.Messages, "/model/arn:aws:bedrock:us-east-1:1:application-inference-profile%2Fx/invoke-with-response-stream", `"anthropic_version":"bedrock-2023-05-31"`},
	} {
		p := &llmtest.Peer{Answers: []string{"HTTP/1.1 403 Forbidden\n\n{}"}}
		m := bedrock.New(bedrock.Options{Model: tt.model, API: tt.api, Region: "us-east-1", BaseURL: "http://model.test", HTTPClient: p.Client(),
			Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "a-secret-of-the-test", "")})
		_, err := llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "a")}, Settings: llm.Settings{MaxTokens: 9}})
		if llm.KindOf(err) != llm.Auth {
			t.Errorf("%s: error %v", tt.model, err)
		}
		seen := p.Seen()[0]
		path := strings.ReplaceAll(seen.Path, ":", "%3A")
		if path != strings.ReplaceAll(tt.path, ":", "%3A") || !strings.Contains(string(seen.Body), tt.has) ||
			!strings.HasPrefix(seen.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/") {
			t.Errorf("%s by %q: asked %s with %v: %s", tt.model, tt.api, seen.Path, seen.Header, seen.Body)
		}
		m.Close()
		p.Wait()
	}
}

// framing puts events that are written as text into Amazon's binary framing,
// each as soon as it is whole, and what is cut off as half a frame. In chunks,
// they are the vendor's own.
type framing struct {
	http.RoundTripper
	chunks bool
}

func (f framing) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := f.RoundTripper.RoundTrip(r)
	if err != nil {
		return res, err
	}
	kind := res.Header.Get("Content-Type")
	if f.chunks && strings.HasPrefix(kind, "text/event-stream") || strings.HasPrefix(kind, "application/vnd.amazon.eventstream") {
		res.Body = &frames{body: res.Body, lines: bufio.NewReader(res.Body), chunks: f.chunks}
		res.Header.Set("Content-Type", "application/vnd.amazon.eventstream")
	}
	return res, nil
}

func (f framing) CloseIdleConnections() {
	if c, ok := f.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

type frames struct {
	body   io.ReadCloser
	lines  *bufio.Reader
	ready  bytes.Buffer
	err    error
	chunks bool
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
	exception, ok := strings.CutPrefix(kind, "exception ")
	switch {
	case ok:
		header(":message-type", "exception")
		header(":exception-type", exception)
	case f.chunks:
		wrapped := map[string]any{"bytes": []byte(data), "p": "abcdefghij"}
		if data == "empty" {
			wrapped = map[string]any{"bytes": ""}
		}
		payload, err := json.Marshal(wrapped)
		if err != nil {
			panic(err) // text always encodes
		}
		m.Payload = payload
		header(":message-type", "event")
		header(":event-type", "chunk")
	default:
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
