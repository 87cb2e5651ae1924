package openai_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/llm/openai"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func open(client *http.Client) llm.Model {
	return openai.New(openai.Options{Model: "gpt-4o", BaseURL: "http://model.test/v1", Key: "sk-test-0123456789", HTTPClient: client})
}

func openResponses(client *http.Client) llm.Model {
	return openai.New(openai.Options{API: openai.Responses, Model: "gpt-5", BaseURL: "http://model.test/v1", Key: "sk-test-0123456789", HTTPClient: client})
}

func TestConformance(t *testing.T) { llmtest.Run(t, os.DirFS("testdata/chat"), open) }

func TestConformanceOfResponses(t *testing.T) {
	llmtest.Run(t, os.DirFS("testdata/responses"), openResponses)
}

func TestFaults(t *testing.T)            { faults(t, "testdata/faults.txtar", open) }
func TestFaultsOfResponses(t *testing.T) { faults(t, "testdata/responses-faults.txtar", openResponses) }

func faults(t *testing.T, file string, open llmtest.Open) {
	table, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	llmtest.RunFaults(t, table, open)
}

// A reply that has ended is not held up by what may follow it.
func TestAReplyThatHasEndedIsNotHeldUp(t *testing.T) {
	before, _, _ := strings.Cut(hello, "data: [DONE]")
	for name, c := range map[string]struct {
		answer string
		took   time.Duration
	}{
		"nothing after finish":      {before + "<stall 1h>\n", 10 * time.Second},
		"usage after finish":        {before + "<stall 8s>\ndata: {\"choices\":[]}\n\n<stall 8s>\ndata: [DONE]\n\n", 16 * time.Second},
		"[DONE], and no end":        {hello + "\n<stall 1h>\n", time.Second / 4},
		"[DONE], and more and more": {hello + "\n" + strings.Repeat("<stall 100ms>\n: more\n", 1000), time.Second / 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &llmtest.Peer{Answers: []string{c.answer}}
				client := p.Client()
				begin := time.Now()
				r, err := llm.Generate(t.Context(), open(client), &llm.Request{})
				if err != nil || llmtest.Words(r) != "Hello. (end)" || time.Since(begin) != c.took {
					t.Errorf("after %v: %s, error %v; want it after %v", time.Since(begin), llmtest.Words(r), err, c.took)
				}
				client.CloseIdleConnections()
				p.Wait()
			})
		})
	}
}

// An endpoint that never answered is taken for a wrong one, and not asked
// again. One that did is, since it will come back.
func TestAnEndpointThatAnsweredOnceIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &llmtest.Peer{Answers: []string{"<no refused>", strings.Replace(hello, "\n\n", "\nConnection: close\n\n", 1), "<no refused>", "<no dns>", hello}}
		client := p.Client()
		m := llm.Retry(open(client), llm.RetryOptions{})
		if _, err := llm.Generate(t.Context(), m, &llm.Request{}); llm.KindOf(err) != llm.Network || p.Asked() != 1 {
			t.Errorf("before it answered: %v, asked %d times", err, p.Asked())
		}
		for range 2 {
			if r, err := llm.Generate(t.Context(), m, &llm.Request{}); err != nil || llmtest.Words(r) != "Hello. (end)" {
				t.Errorf("after it answered: %v", err)
			}
		}
		client.CloseIdleConnections()
		p.Wait()
	})
}
