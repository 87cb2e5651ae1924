//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus"
)

const nameForm = `{"type":"object","properties":{"name":{"type":"string","minLength":1},"age":{"type":"integer","default":7}},"required":["name"]}`

// asking is a server whose tool asks for a name. Older ones ask in the middle
// of the call, and newer ones end it with a question.
func asking(old bool) func() *sdk.Server {
	return func() *sdk.Server {
		o := &sdk.ServerOptions{}
		if old {
			o.SupportedProtocolVersions = []string{legacy}
		}
		s := sdk.NewServer(&sdk.Implementation{Name: "asks"}, o)
		form := &sdk.ElicitParams{Mode: "form", Message: "What is your name?", RequestedSchema: json.RawMessage(nameForm)}
		s.AddTool(tool("ask", ""), func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			var got *sdk.ElicitResult
			if old {
				var err error
				if got, err = r.Session.Elicit(ctx, form); err != nil {
					return nil, err
				}
			} else if got, _ = r.Params.InputResponses["q"].(*sdk.ElicitResult); got == nil {
				return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"q": form}, RequestState: "s"}, nil
			}
			return said1("%s %v %v", got.Action, got.Content["name"], got.Content["age"])
		})
		return s
	}
}

func TestAQuestionOfAServer(t *testing.T) {
	for _, old := range []bool{true, false} {
		for _, c := range []struct {
			answers []string // the last one is taken
			want    string
		}{
			{[]string{`{"name":"Ada"}`}, "accept Ada 7"},
			{[]string{`{"name":"Ada","age":36}`}, "accept Ada 36"},
			{[]string{`null`}, "decline <nil> <nil>"},
			{[]string{`{"name":""}`, `{"nam":"x"}`, `"Ada"`, `{"name":"Ada"}`}, "accept Ada 7"},
		} {
			t.Run(fmt.Sprint(old, c.answers), func(t *testing.T) {
				t.Parallel()
				client, _ := start(t, programs{"s": serving(asking(old))}, Options{}, "s")
				ask := find(t, client, "mcp_s_ask")
				in := call("c", "mcp_s_ask", `{}`)
				for i, text := range c.answers {
					_, err := ask.Run(t.Context(), in)
					var q *openmanus.Ask
					if !errors.As(err, &q) || !strings.Contains(q.Question, "The MCP server s asks: What is your name?") || len(q.Schema) == 0 {
						t.Fatalf("no question: %v", err)
					}
					if again := strings.Contains(q.Question, "does not fit"); again != (i > 0) {
						t.Errorf("question %d: %s", i, q.Question)
					}
					in.Answers = append(in.Answers, openmanus.Answer{Data: json.RawMessage(text)})
				}
				res, err := ask.Run(t.Context(), in)
				if err != nil || res.Parts.Text() != c.want {
					t.Errorf("%q, %v; want %q", res.Parts.Text(), err, c.want)
				}
			})
		}
	}
}

// A question outlives the process, where the protocol lets a call be made
// again; where it does not, nothing is done twice.
func TestAQuestionAfterARestart(t *testing.T) {
	answered := call("c", "mcp_s_ask", `{}`, openmanus.Answer{Data: json.RawMessage(`{"name":"Ada"}`)})
	c, _ := start(t, programs{"s": serving(asking(false))}, Options{}, "s")
	if res, err := find(t, c, "mcp_s_ask").Run(t.Context(), answered); err != nil || res.Parts.Text() != "accept Ada 7" {
		t.Errorf("%q, %v", res.Parts.Text(), err)
	}
	c, _ = start(t, programs{"s": serving(asking(true))}, Options{}, "s")
	if _, err := find(t, c, "mcp_s_ask").Run(t.Context(), answered); err == nil || !strings.Contains(err.Error(), "no longer under way: it may or may not have happened") {
		t.Errorf("%v", err)
	}
}

// A question that is cancelled here is cancelled there.
func TestCancel(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	c, _ := start(t, programs{"s": serving(func() *sdk.Server {
		s := newServer(tool("t", ""))
		s.AddTool(tool("slow", ""), func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			close(began)
			<-ctx.Done()
			close(ended)
			return nil, ctx.Err()
		})
		return s
	})}, Options{}, "s")
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	if _, err := find(t, c, "mcp_s_slow").Run(ctx, call("c", "mcp_s_slow", `{}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	<-ended
	says(t, c, "mcp_s_t", `{}`, "t {}")
}

// Progress is shown while the call is under way.
func TestProgress(t *testing.T) {
	shown := make(chan struct{})
	c, _ := start(t, programs{"s": serving(func() *sdk.Server {
		s := newServer()
		s.AddTool(tool("slow", ""), func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			for i := range 8 {
				r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 8, Message: "at\x1b[31m work"})
			}
			<-shown
			return said1("done")
		})
		return s
	})}, Options{}, "s")
	in := call("c", "mcp_s_slow", `{}`)
	in.Live = writer(func(p []byte) {
		if string(p) == "8/8 at work\n" {
			close(shown)
		}
	})
	res, err := find(t, c, "mcp_s_slow").Run(t.Context(), in)
	if err != nil || res.Parts.Text() != "done" {
		t.Errorf("%q, %v", res.Parts.Text(), err)
	}
}

// Progress prolongs a call, up to ten times its limit; silence ends it.
func TestProgressProlongsACall(t *testing.T) {
	for reports, want := range map[int]time.Duration{0: 2, 3: 5, 100: 19} { // seconds, with a report in each
		synctest.Test(t, func(t *testing.T) {
			began, ended := time.Now(), make(chan time.Duration, 1)
			f := &flight{limit: newLimit(2*time.Second, func() { ended <- time.Since(began) })}
			l := &link{progress: map[string]*flight{"p1": f}}
			for range reports {
				time.Sleep(time.Second)
				l.onProgress(&sdk.ProgressNotificationParams{ProgressToken: "p1"})
				l.onProgress(&sdk.ProgressNotificationParams{ProgressToken: "another"})
			}
			if took := <-ended; took.Round(time.Second) != want*time.Second {
				t.Errorf("after %d reports it ended in %s, want %ds", reports, took, want)
			}
		})
	}
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

var _ io.Writer = writer(nil)

// MCP forbids servers to ask for secrets with a form. The person reads so.
func TestAQuestionForASecret(t *testing.T) {
	form := func(properties string) string { return `{"type":"object","properties":{` + properties + `}}` }
	for _, c := range []struct {
		p    sdk.ElicitParams
		want string // the words that are named; "": no warning
	}{
		{sdk.ElicitParams{Message: "Please re-enter your OPENAI API key"}, "API key"},
		{sdk.ElicitParams{Message: "Sign in", RequestedSchema: json.RawMessage(form(`"password":{"type":"string"}`))}, "password"},
		{sdk.ElicitParams{Message: "Go on?", RequestedSchema: json.RawMessage(form(`"x":{"type":"string","title":"Access token"}`))}, "Access token"},
		{sdk.ElicitParams{Message: "Go on?", RequestedSchema: json.RawMessage(form(`"apiKey":{"type":"string"}`))}, "api Key"},
		{sdk.ElicitParams{Message: "Enter the p\u200bassword"}, "password"},
		{sdk.ElicitParams{Message: "Ihr Passwort?"}, "Passwort"},
		{sdk.ElicitParams{Message: "Which city?", RequestedSchema: json.RawMessage(form(`"city":{"type":"string"},"keyboard":{"type":"string"}`))}, ""},
		{sdk.ElicitParams{Message: "Sign in with your password", Mode: "url", URL: "https://example.org/in"}, ""},
	} {
		q, err := newQuestion("s", &c.p)
		if err != nil {
			t.Fatal(err)
		}
		var ask *openmanus.Ask
		errors.As(q.ask(""), &ask)
		warned := strings.Contains(ask.Question, "MCP forbids")
		if warned != (c.want != "") || !strings.Contains(ask.Question, fmt.Sprintf("%q", c.want)) && warned {
			t.Errorf("%s %s: %s", c.p.Message, c.p.RequestedSchema, ask.Question)
		}
	}
}
