//lint:file-ignore SA1019 the suites of earlier versions test what later ones give up

package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// conformanceServer is a server of ours with what the official suite looks
// for: as tools of ours what our tools can do, and on the SDK's server the rest.
func conformanceServer() *Server {
	s := NewServer(ServerOptions{Name: "conformance", Gate: openmanus.AllowAll, Tools: conformanceTools(), Options: &sdk.ServerOptions{
		CompletionHandler: func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}, nil
		},
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
	}})
	for name, h := range rawTools(s.MCP()) {
		s.MCP().AddTool(&sdk.Tool{Name: name, Description: "For the suite.", InputSchema: rawSchema(name)}, h)
	}
	addResources(s.MCP())
	addPrompts(s.MCP())
	return s
}

const (
	pngBase64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	wavBase64 = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

func decoded(text string) []byte {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return data
}

// ours is a tool of ours.
func ours(name, schema string, run func(ctx context.Context, c openmanus.Call) (openmanus.Result, error)) openmanus.Tool {
	spec := openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: name, Description: "For the suite.", Input: json.RawMessage(schema)}}
	return openmanus.Func(spec, func(ctx context.Context, c openmanus.Call, _ map[string]any) (openmanus.Result, error) {
		return run(ctx, c)
	})
}

func conformanceTools() []openmanus.Tool {
	object := string(anyObject)
	shows := func(name string, parts ...llm.Part) openmanus.Tool {
		return ours(name, object, func(context.Context, openmanus.Call) (openmanus.Result, error) {
			return openmanus.Result{Parts: parts}, nil
		})
	}
	asks := func(name, input string, form func(openmanus.Call) *openmanus.Ask, say string) openmanus.Tool {
		return ours(name, input, func(_ context.Context, c openmanus.Call) (openmanus.Result, error) {
			if len(c.Answers) == 0 {
				return openmanus.Result{}, form(c)
			}
			return openmanus.TextResult(say, "accept", c.Answers[0].Data), nil
		})
	}
	image := llm.Blob{MIME: "image/png", Data: decoded(pngBase64)}
	resource := func(uri string) llm.Part {
		return llm.Blob{MIME: "text/plain", Name: uri, Data: []byte("This is an embedded resource")}
	}
	form := func(question, properties, required string) func(openmanus.Call) *openmanus.Ask {
		return func(c openmanus.Call) *openmanus.Ask {
			var in struct{ Message string }
			json.Unmarshal([]byte(c.Input), &in)
			if in.Message != "" {
				question = in.Message
			}
			return &openmanus.Ask{Question: question, Schema: json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":[` + required + `]}`)}
		}
	}
	return []openmanus.Tool{
		shows("test_simple_text", llm.Text{Text: "This is a simple text response for testing."}),
		shows("test_image_content", image),
		shows("test_audio_content", llm.Blob{MIME: "audio/wav", Data: decoded(wavBase64)}),
		shows("test_embedded_resource", resource("test://embedded-resource")),
		shows("test_multiple_content_types", llm.Text{Text: "Multiple content types:"}, image, resource("test://mixed-content-resource")),
		ours("test_error_handling", object, func(context.Context, openmanus.Call) (openmanus.Result, error) {
			return openmanus.Result{}, errors.New("This tool intentionally returns an error for testing")
		}),
		ours("test_tool_with_progress", object, func(_ context.Context, c openmanus.Call) (openmanus.Result, error) {
			for i := range 3 {
				fmt.Fprintln(c.Live, "step", i)
			}
			return openmanus.TextResult("done"), nil
		}),
		asks("test_elicitation", `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`,
			form("", `"username":{"type":"string"},"email":{"type":"string"}`, `"username"`), "User response: action=%s, content=%s"),
		asks("test_elicitation_sep1034_defaults", object, form("Defaults", `"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}`, ``),
			"Elicitation completed: action=%s, content=%s"),
		asks("test_elicitation_sep1330_enums", object, form("Enums", `"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
			"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
			"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
			"untitledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","enum":["option1","option2","option3"]}},
			"titledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}`, ``),
			"Elicitation completed: action=%s, content=%s"),
		asks("test_input_required_result_request_state", object, form("Please confirm", `"ok":{"type":"boolean"}`, `"ok"`), "state-ok: %s %s"),
		asks("test_input_required_result_tampered_state", object, form("Please confirm", `"ok":{"type":"boolean"}`, `"ok"`), "state-ok: %s %s"),
		ours("test_input_required_result_multi_round", object, func(_ context.Context, c openmanus.Call) (openmanus.Result, error) {
			switch len(c.Answers) {
			case 0:
				return openmanus.Result{}, form("Step 1: What is your name?", `"name":{"type":"string"}`, `"name"`)(c)
			case 1:
				return openmanus.Result{}, form("Step 2: What is your favorite color?", `"color":{"type":"string"}`, `"color"`)(c)
			}
			return openmanus.TextResult("done: %s %s", c.Answers[0].Data, c.Answers[1].Data), nil
		}),
		ours("json_schema_2020_12_tool", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
			"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
			"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
			"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
			"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},
			"additionalProperties":false}`, func(_ context.Context, c openmanus.Call) (openmanus.Result, error) {
			return openmanus.TextResult("called with %s", c.Input), nil
		}),
		ours("test_x_mcp_header", `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`,
			func(_ context.Context, c openmanus.Call) (openmanus.Result, error) {
				return openmanus.TextResult("%s", c.Input), nil
			}),
		shows("test_streaming_elicitation", llm.Text{Text: "only results"}),
	}
}

// said1 is a result of one text.
func said1(format string, a ...any) (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, a...)}}}, nil
}

func rawSchema(name string) json.RawMessage {
	if name == "test_sampling" {
		return json.RawMessage(`{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`)
	}
	return anyObject
}

// rawTools are what our own tools do not do: sampling, logging, roots, and
// several questions at once, named by the suite.
func rawTools(server *sdk.Server) map[string]sdk.ToolHandler {
	name := &sdk.ElicitParams{Mode: "form", Message: "What is your name?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)}
	sample := &sdk.CreateMessageParams{MaxTokens: 50, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: "What is the capital of France?"}}}}
	log := func(texts ...string) sdk.ToolHandler {
		return func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			for _, t := range texts {
				r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: t})
			}
			return said1("logged")
		}
	}
	wants := func(all map[string]sdk.InputRequest, able func(*sdk.CallToolRequest, string) bool) sdk.ToolHandler {
		return func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			missing := sdk.InputRequestMap{}
			for key, q := range all {
				got := r.Params.InputResponses[key]
				if e, ok := got.(*sdk.ElicitResult); got == nil || ok && (e.Action != "accept" || e.Content["name"] == nil) {
					if able == nil || able(r, key) {
						missing[key] = q
					}
				}
			}
			if len(missing) == 0 || able != nil && len(r.Params.InputResponses) > 0 {
				return said1("complete: %d", len(r.Params.InputResponses))
			}
			return &sdk.CallToolResult{InputRequests: missing, RequestState: "state"}, nil
		}
	}
	three := map[string]sdk.InputRequest{"user_name": name, "greeting": sample, "client_roots": &sdk.ListRootsParams{}}
	return map[string]sdk.ToolHandler{
		"test_tool_with_logging": log("Tool execution started", "Tool processing data", "Tool execution completed"),
		"test_logging_tool":      log("test_logging_tool executed"),
		"test_sampling": func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			var in struct{ Prompt string }
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
				return nil, err
			}
			got, err := r.Session.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 100, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: in.Prompt}}}})
			if err != nil {
				return nil, err
			}
			text, _ := got.Content.(*sdk.TextContent)
			return said1("LLM response: %s", text.Text)
		},
		"test_reconnection": func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if r.Extra != nil && r.Extra.CloseSSEStream != nil {
				r.Extra.CloseSSEStream(sdk.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
			}
			time.Sleep(100 * time.Millisecond) // the client is to come back in the meantime: the suite wants it so
			return said1("reconnected")
		},
		"test_missing_capability": func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if caps := r.ClientCapabilities(); caps != nil && caps.Sampling != nil {
				return said1("it can")
			}
			data, err := json.Marshal(sdk.MissingRequiredClientCapabilityData{RequiredCapabilities: &sdk.ClientCapabilities{Sampling: &sdk.SamplingCapabilities{}}})
			if err != nil {
				return nil, err
			}
			return nil, &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "sampling is needed", Data: data}
		},
		"test_trigger_tool_change": func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			server.AddTool(tool("transient", "Comes and stays."), echo)
			return said1("changed")
		},
		"test_trigger_prompt_change": func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			server.AddPrompt(&sdk.Prompt{Name: "transient", Description: "Comes and stays."}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
				return &sdk.GetPromptResult{}, nil
			})
			return said1("changed")
		},
		"test_input_required_result_elicitation":     wants(map[string]sdk.InputRequest{"user_name": name}, nil),
		"test_input_required_result_sampling":        wants(map[string]sdk.InputRequest{"capital_question": sample}, nil),
		"test_input_required_result_list_roots":      wants(map[string]sdk.InputRequest{"client_roots": &sdk.ListRootsParams{}}, nil),
		"test_input_required_result_multiple_inputs": wants(three, nil),
		"test_input_required_result_capabilities": wants(three, func(r *sdk.CallToolRequest, key string) bool {
			caps := r.ClientCapabilities()
			return caps != nil && (key == "user_name" && caps.Elicitation != nil || key == "greeting" && caps.Sampling != nil || key == "client_roots" && caps.RootsV2 != nil)
		}),
	}
}

func addResources(s *sdk.Server) {
	give := func(mime, text string, blob []byte) sdk.ResourceHandler {
		return func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: mime, Text: strings.ReplaceAll(text, "{id}", id), Blob: blob}}}, nil
		}
	}
	s.AddResource(&sdk.Resource{Name: "static-text", URI: "test://static-text", MIMEType: "text/plain", Description: "Text."}, give("text/plain", "This is the content of the static text resource.", nil))
	s.AddResource(&sdk.Resource{Name: "static-binary", URI: "test://static-binary", MIMEType: "image/png", Description: "An image."}, give("image/png", "", decoded(pngBase64)))
	s.AddResource(&sdk.Resource{Name: "watched-resource", URI: "test://watched-resource", MIMEType: "text/plain", Description: "Text."}, give("text/plain", "Watched", nil))
	s.AddResourceTemplate(&sdk.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json", Description: "Data."},
		give("application/json", `{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}`, nil))
}

func addPrompts(s *sdk.Server) {
	say := func(contents ...sdk.Content) *sdk.GetPromptResult {
		res := &sdk.GetPromptResult{}
		for _, c := range contents {
			res.Messages = append(res.Messages, &sdk.PromptMessage{Role: "user", Content: c})
		}
		return res
	}
	add := func(p *sdk.Prompt, f func(r *sdk.GetPromptRequest) *sdk.GetPromptResult) {
		p.Description = "For the suite."
		s.AddPrompt(p, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) { return f(r), nil })
	}
	add(&sdk.Prompt{Name: "test_simple_prompt"}, func(*sdk.GetPromptRequest) *sdk.GetPromptResult {
		return say(&sdk.TextContent{Text: "This is a simple prompt for testing."})
	})
	add(&sdk.Prompt{Name: "test_prompt_with_arguments", Arguments: []*sdk.PromptArgument{{Name: "arg1", Description: "First", Required: true}, {Name: "arg2", Description: "Second", Required: true}}},
		func(r *sdk.GetPromptRequest) *sdk.GetPromptResult {
			return say(&sdk.TextContent{Text: fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", r.Params.Arguments["arg1"], r.Params.Arguments["arg2"])})
		})
	add(&sdk.Prompt{Name: "test_prompt_with_embedded_resource", Arguments: []*sdk.PromptArgument{{Name: "resourceUri", Description: "What", Required: true}}},
		func(r *sdk.GetPromptRequest) *sdk.GetPromptResult {
			return say(&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: r.Params.Arguments["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing."}}, &sdk.TextContent{Text: "Please process the embedded resource above."})
		})
	add(&sdk.Prompt{Name: "test_prompt_with_image"}, func(*sdk.GetPromptRequest) *sdk.GetPromptResult {
		return say(&sdk.ImageContent{MIMEType: "image/png", Data: decoded(pngBase64)}, &sdk.TextContent{Text: "Please analyze the image above."})
	})
	add(&sdk.Prompt{Name: "test_input_required_result_prompt"}, func(r *sdk.GetPromptRequest) *sdk.GetPromptResult {
		if got, ok := r.Params.InputResponses["user_context"].(*sdk.ElicitResult); ok && got.Action == "accept" {
			return say(&sdk.TextContent{Text: fmt.Sprint("Context: ", got.Content["context"])})
		}
		return &sdk.GetPromptResult{InputRequests: sdk.InputRequestMap{"user_context": &sdk.ElicitParams{Mode: "form", Message: "Please provide context for the prompt",
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{"context":{"type":"string"}},"required":["context"]}`)}}}
	})
}
