package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// conformanceClient is the program that the official suite drives to look at
// our client. Its scenarios name the tools to call.
func conformanceClient(scenario, url string) error {
	var given struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		ToolCalls    []struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := NewClient(Options{
		Servers: []ServerConfig{{Name: "s", URL: url, ClientID: given.ClientID, ClientSecret: given.ClientSecret}},
		Say:     func(line string) { fmt.Fprintln(os.Stderr, line) },
		SignIn:  &SignIn{Dir: dir, Show: browse, Metadata: "https://conformance-test.local/client-metadata.json"},
	})
	defer c.Close()
	ctx := context.Background()
	c.Start(ctx)
	if st := c.Status()[0]; st.Err != nil {
		return st.Err
	}
	v := visitor{c: c}
	switch {
	case scenario == "tools_call":
		err = v.call(ctx, "add_numbers", `{"a":5,"b":3}`, "")
	case scenario == "elicitation-sep1034-client-defaults":
		err = v.call(ctx, "test_client_elicitation_defaults", `{}`, `{}`)
	case scenario == "sse-retry":
		err = v.call(ctx, "test_reconnection", `{}`, "")
	case strings.HasPrefix(scenario, "auth/"):
		err = v.call(ctx, "test-tool", `{}`, "")
	case scenario == "sep-2322-client-request-state":
		for _, name := range []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"} {
			v.call(ctx, name, `{}`, `{"confirmed":true}`) // what the server makes of it is what is looked at
		}
	case scenario == "http-standard-headers":
		err = v.everything(ctx)
	case scenario == "http-custom-headers":
		for _, t := range given.ToolCalls {
			v.call(ctx, t.Name, string(t.Arguments), "")
		}
	case scenario == "http-invalid-tool-headers":
		for _, t := range c.Status()[0].Tools {
			v.call(ctx, t.Original, `{"region":"us-west1"}`, "")
		}
	case scenario == "json-schema-2020-12-preservation":
		t, found := v.tool("json_schema_2020_12_tool")
		if !found {
			return errors.New("there is no json_schema_2020_12_tool")
		}
		err = v.call(ctx, "json_schema_echo", fmt.Sprintf(`{"schema":%s}`, t.Spec().Input), "")
	}
	return err
}

// browse is a person who opens every link and says yes.
func browse(_, link string) {
	go func() {
		if resp, err := http.Get(link); err == nil {
			resp.Body.Close()
		}
	}()
}

type visitor struct {
	c *Client
	n int
}

func (v *visitor) tool(original string) (openmanus.Tool, bool) {
	for _, t := range v.c.Tools() {
		if r, ok := t.(*remote); ok && r.tool == original {
			return t, true
		}
	}
	return nil, false
}

// call calls a tool, and answers what it asks.
func (v *visitor) call(ctx context.Context, original, input, answer string) error {
	t, found := v.tool(original)
	if !found {
		return fmt.Errorf("there is no tool %s", original)
	}
	return v.run(ctx, t, input, answer)
}

func (v *visitor) run(ctx context.Context, t openmanus.Tool, input, answer string) error {
	v.n++
	call := openmanus.Call{Call: llm.Call{ID: fmt.Sprint("c", v.n), Name: t.Spec().Name, Input: input}, Session: "s", Blobs: new(journal.Memory), Live: io.Discard}
	_, err := t.Run(ctx, call)
	for ask := (*openmanus.Ask)(nil); errors.As(err, &ask); _, err = t.Run(ctx, call) {
		call.Answers = append(call.Answers, openmanus.Answer{Data: json.RawMessage(answer)})
	}
	return err
}

// everything uses a tool, a resource and a prompt.
func (v *visitor) everything(ctx context.Context) error {
	for _, t := range v.c.Tools() {
		var err error
		switch t.Spec().Name {
		case nameResources:
			err = v.run(ctx, t, `{"server":"s","uri":"`+os.Getenv("TEST_URI")+`"}`, "")
			err = errors.Join(err, v.first(ctx, t, "uri"))
		case namePrompts:
			err = errors.Join(v.run(ctx, t, `{"server":"s"}`, ""), v.first(ctx, t, "name"))
		case nameFind, nameUse:
		default:
			err = v.run(ctx, t, `{}`, "")
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, t.Spec().Name, err)
		}
	}
	return nil
}

// first reads the first of what a tool lists.
func (v *visitor) first(ctx context.Context, t openmanus.Tool, key string) error {
	v.n++
	call := openmanus.Call{Call: llm.Call{ID: fmt.Sprint("c", v.n), Input: `{"server":"s"}`}, Session: "s", Live: io.Discard}
	res, err := t.Run(ctx, call)
	if err != nil {
		return err
	}
	name, _, _ := strings.Cut(res.Parts.Text(), " ")
	input, err := json.Marshal(map[string]string{"server": "s", key: name})
	if err != nil {
		return err
	}
	return v.run(ctx, t, string(input), "")
}
