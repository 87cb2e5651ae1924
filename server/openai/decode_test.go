package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/llm"
)

// decoders read the body of a request in each format.
var decoders = map[string]func(body []byte, session string) (*request, error){
	"chat": func(body []byte, session string) (*request, error) {
		var v chatRequest
		if err := chatRules.unmarshal(body, &v); err != nil {
			return nil, err
		}
		return decodeChat(context.Background(), fetched, &v, session)
	},
	"responses": func(body []byte, session string) (*request, error) {
		var v responsesRequest
		if err := responseRules.unmarshal(body, &v); err != nil {
			return nil, err
		}
		return decodeResponse(context.Background(), fetched, &v, session)
	},
	"messages": func(body []byte, session string) (*request, error) {
		var v messagesRequest
		if err := messageRules.unmarshal(body, &v); err != nil {
			return nil, err
		}
		return decodeMessages(context.Background(), fetched, &v, session)
	},
}

func fetched(_ context.Context, url string) (string, []byte, error) {
	if strings.HasSuffix(url, ".png") {
		return "image/png; charset=binary", []byte{1}, nil
	}
	return "", nil, errors.New("it is gone")
}

// told is what the session is told, in short.
func told(q *request) string {
	var all []string
	if q.client.Instructions != "" {
		all = append(all, "system:"+q.client.Instructions)
	}
	for _, r := range q.results {
		all = append(all, r.session+"/"+r.call+"="+r.text)
	}
	for _, p := range q.said {
		switch p := p.(type) {
		case llm.Text:
			all = append(all, p.Text)
		case llm.Blob:
			all = append(all, p.MIME)
		}
	}
	return strings.Join(all, "|")
}

func TestWhatIsSaid(t *testing.T) {
	const both = `"messages":[{"role":"system","content":"Be brief."},{"role":"assistant","content":null},
		{"role":"user","content":[{"type":"text","text":"Hi."},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}]`
	const calls = `"messages":[{"role":"user","content":"Hi."},{"role":"assistant","tool_calls":[{"id":"call_s_a","function":{"name":"f","arguments":"{}"}}]}`
	for _, c := range []struct{ format, session, fields, want string }{
		{"chat", "", `"messages":[{"role":"user","content":"Hi."}]`, "Hi."},
		{"chat", "", both, "system:Be brief.|Hi.|image/png"},
		{"chat", "s", both, "system:Be brief.|Hi.|image/png"},
		{"chat", "", `"messages":[{"role":"user","content":"A"},{"role":"assistant","content":"B"},{"role":"user","content":"C"}]`,
			"The conversation so far:\n<user>\nA\n</user>\n<assistant>\nB\n</assistant>\n\nNow:\n|C"},
		{"chat", "s", `"messages":[{"role":"user","content":"A"},{"role":"assistant","content":"B"},{"role":"user","content":"C"}]`, "C"},
		{"chat", "", calls + `,{"role":"tool","tool_call_id":"call_s_a","content":"1"}]`, "s/a=1"},
		{"chat", "", calls + `,{"role":"tool","tool_call_id":"call_s_a","content":"1"},{"role":"user","content":"And?"}]`, "s/a=1|And?"},
		{"chat", "", calls + `,{"role":"tool","tool_call_id":"other","content":"1"}]`,
			"The conversation so far:\n<user>\nHi.\n</user>\n<assistant>\n[called f {}]\n</assistant>\n<tool>\n1\n</tool>\n\nNow:\n|Go on."},
		{"chat", "", calls + `,{"role":"tool","tool_call_id":"call_s_a","content":"1"},{"role":"tool","tool_call_id":"toolu_1","content":"2"},{"role":"user","content":"And?"}]`,
			"The conversation so far:\n<user>\nHi.\n</user>\n<assistant>\n[called f {}]\n</assistant>\n<tool>\n1\n</tool>\n<tool>\n2\n</tool>\n\nNow:\n|And?"},
		{"chat", "", `"messages":[{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"1"}]`,
			"The conversation so far:\n<assistant>\n[called f {}]\n</assistant>\n<tool>\n1\n</tool>\n\nNow:\n|Go on."},
		{"chat", "", `"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{}},{"type":"image_url","image_url":{"url":"https://example.org/gone"}}]},
			{"role":"assistant","content":"B","tool_calls":[{"id":"x","type":"custom","custom":{"name":"sql","input":"select 1"}}]},{"role":"user","content":"C"}]`,
			"The conversation so far:\n<user>\n[audio, which is not repeated here]\n\n[image_url, which is not repeated here]\n</user>\n" +
				"<assistant>\nB\n[called sql select 1]\n</assistant>\n\nNow:\n|C"},
		{"chat", "", `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.org/a.png"}}]},{"role":"user","content":"C"}]`,
			"image/png|C"},
		{"chat", "t", calls + `,{"role":"tool","tool_call_id":"call_s_a","content":"1"}]`, "error: messages[2].tool_call_id"},
		{"chat", "", `"messages":[{"role":"tool","tool_call_id":"x","content":"1"}]`, "The conversation so far:\n<tool>\n1\n</tool>\n\nNow:\n|Go on."},
		{"chat", "", `"messages":[{"role":"user","content":"Hi."}],"functions":[],"function_call":"auto"`, "Hi."},
		{"chat", "", `"messages":[{"role":"user","content":"Hi."}],"functions":[{"name":"f"}]`, "error: functions"},
		{"chat", "", `"messages":[]`, "error: messages"},
		{"chat", "", `"messages":7`, "error: messages"},
		{"chat", "", `"messages":[{"role":"user","content":""}]`, "error: messages"},
		{"chat", "", `"messages":[{"role":"user","content":"Hi."},{"role":"assistant","content":"Hello."}]`, "error: messages"},
		{"chat", "", `"messages":[{"role":"user","content":7}]`, "error: messages[0].content"},
		{"chat", "", `"messages":[{"role":"nobody","content":"7"}]`, "error: messages[0].role"},
		{"chat", "", `"messages":[{"role":"user","content":[{"type":"input_audio"}]}]`, "error: messages[0].content[0].type"},
		{"chat", "", `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.org/a.png"}}]}]`, "image/png"},
		{"chat", "", `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.org/a"}}]}]`, "error: messages[0].content[0].image_url"},
		{"chat", "", `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://example.org/a.png"}}]}]`, "error: messages[0].content[0].image_url"},
		{"chat", "", `"messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a.txt","file_data":"data:text/plain;base64,aGkK"}}]}]`,
			"\n\n<file name=\"a.txt\">\nhi\n</file>"},
		{"chat", "", `"messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file_data":"JVBERi0xLjQ="}}]}]`, "application/pdf"},
		{"chat", "", `"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"f"}}]}]`, "error: messages[0].content[0].file"},
		{"responses", "", `"input":"Hi.","instructions":"Be kind."`, "system:Be kind.|Hi."},
		{"responses", "", `"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,?"}]}]`, "error: input[0].content[0].image_url"},
		{"responses", "", `"input":[{"type":"function_call_output","call_id":"call_s_a","output":"1"}],"previous_response_id":"resp_s_3_0"`, "s/a=1"},
		{"responses", "", `"input":[{"type":"reasoning"},{"type":"function_call","call_id":"call_s_a","name":"f","arguments":"{}"},
			{"type":"function_call_output","call_id":"call_s_a","output":"1"}]`, "s/a=1"},
		{"responses", "", `"input":[{"type":"web_search_call","id":"w"},{"type":"custom_tool_call","call_id":"c","name":"sql","input":"select 1"},
			{"type":"custom_tool_call_output","call_id":"c","output":"7"},{"role":"user","content":"And?"}]`,
			"The conversation so far:\n<assistant>\n[web_search_call, which is not repeated here]\n</assistant>\n<assistant>\n[called sql select 1]\n</assistant>\n" +
				"<tool>\n7\n</tool>\n\nNow:\n|And?"},
		{"responses", "", `"input":[{"role":"user","content":"A"},{"type":"web_search_call","id":"w"}]`, "error: input"},
		{"messages", "", `"max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"server_tool_use","id":"srv","name":"web_search","input":{}},
			{"type":"web_search_tool_result","tool_use_id":"srv","content":[]},{"type":"text","text":"B"}]},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"1"}]}]`,
			"The conversation so far:\n<assistant>\n[server_tool_use, which is not repeated here]\n\n[web_search_tool_result, which is not repeated here]\nB\n</assistant>\n" +
				"<assistant>\n[called f {\"a\":1}]\n</assistant>\n<tool>\n1\n</tool>\n\nNow:\n|Go on."},
		{"responses", "", `"input":"Hi.","previous_response_id":"resp_s"`, "error: previous_response_id"},
		{"responses", "", `"input":{}`, "error: input"},
		{"responses", "", `"stream":true`, "error: input"},
		{"responses", "", `"input":[{"type":"item_reference","id":"x"}]`, "error: input[0].type"},
		{"messages", "", `"max_tokens":9,"system":[{"type":"text","text":"Be kind."}],"messages":[{"role":"user","content":"Hi."}]`, "system:Be kind.|Hi."},
		{"messages", "", `"max_tokens":9,"messages":[{"role":"user","content":"Hi."},{"role":"assistant","content":[{"type":"tool_use","id":"call_s_a","name":"f","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_s_a","content":[{"type":"text","text":"1"}]},{"type":"text","text":"And?"}]}]`, "s/a=1|And?"},
		{"messages", "", `"max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"AAAA"}}]}]`, "image/gif"},
		{"messages", "", `"messages":[{"role":"user","content":"Hi."}]`, "error: max_tokens"},
	} {
		q, err := decoders[c.format]([]byte(`{"model":"manus",`+c.fields+`}`), c.session)
		got := ""
		if own := (*Error)(nil); errors.As(err, &own) {
			got = "error: " + own.Param
		} else if err != nil {
			t.Errorf("%s: %v is no error of the API", c.fields, err)
		} else {
			got = told(q)
		}
		if got != c.want {
			t.Errorf("%s %s:\n got %q\nwant %q (%v)", c.format, c.fields, got, c.want, err)
		}
	}
}

// Unsupported fields are refused by name, and harmless ones are accepted.
func TestFields(t *testing.T) {
	const said = `{"model":"manus","max_tokens":9,"messages":[{"role":"user","content":"Hi."}],`
	const input = `{"model":"manus","input":"Hi.",`
	const tool = `"tools":[{"type":"function","function":{"name":"f"}}],`
	for _, c := range []struct{ format, body, param string }{
		{"chat", said + `"n":2}`, "n"},
		{"chat", said + `"n":1,"user":"u","metadata":{},"seed":1,"store":true,"logprobs":false,"top_p":null}`, ""},
		{"chat", said + `"logprobs":true}`, "logprobs"},
		{"chat", said + `"nonsense":1}`, "nonsense"},
		{"chat", said + `"temperature":3}`, "temperature"},
		{"chat", said + `"temperature":"hot"}`, "temperature"},
		{"chat", said + `"stop":["a",""]}`, "stop"},
		{"chat", said + `"reasoning_effort":"some"}`, "reasoning_effort"},
		{"chat", said + `"max_completion_tokens":-1}`, "max_tokens"},
		{"chat", said + `"tool_choice":"required"}`, "tool_choice"},
		{"chat", said + tool + `"tool_choice":{"type":"function","function":{"name":"g"}}}`, "tool_choice"},
		{"chat", said + tool + `"tool_choice":{"type":"function","function":{"name":"f"}}}`, ""},
		{"chat", said + `"tools":[{"type":"code_interpreter"}]}`, "tools[0].type"},
		{"chat", said + `"tools":[{"type":"function","function":{}}]}`, "tools[0].function.name"},
		{"chat", said + `"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"f"}}]}`, "tools[1].function.name"},
		{"chat", said + `"response_format":{"type":"xml"}}`, "response_format.type"},
		{"chat", said + `"response_format":{"type":"json_schema"}}`, "response_format.schema"},
		{"chat", said + `"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"array"}}}}`, "response_format.json_schema.schema"},
		{"chat", said + `"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"object"}}}}`, ""},
		{"responses", input + `"text":{"format":{"type":"json_schema","name":"x","schema":{"type":"object"}}}}`, ""},
		{"responses", input + `"text":{"format":{"type":"json_schema","name":"x"}}}`, "text.format.schema"},
		{"responses", input + `"tools":[{"type":"web_search"}]}`, "tools[0].type"},
		{"responses", input + `"conversation":"c"}`, "conversation"},
		{"messages", said + `"top_k":5}`, "top_k"},
		{"messages", said + `"temperature":1.5}`, "temperature"},
		{"messages", said + `"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"any"}}`, ""},
		{"messages", said + `"tools":[{"type":"web_search_20250305","name":"web_search"}]}`, "tools[0].type"},
	} {
		_, err := decoders[c.format]([]byte(c.body), "")
		param := ""
		if own := (*Error)(nil); errors.As(err, &own) {
			if param = own.Param; own.Status != 400 || !strings.Contains(own.Message, strings.SplitN(param, "[", 2)[0]) {
				t.Errorf("%s: %d %s", c.body, own.Status, own.Message)
			}
		} else if err != nil {
			t.Errorf("%s: %v", c.body, err)
		}
		if param != c.param {
			t.Errorf("%s: param %q, want %q (%v)", c.body, param, c.param, err)
		}
	}
}

func TestResponseIDs(t *testing.T) {
	x := &turn{id: "20261122-1314-ok2vzdul", projector: projector{since: 7, cut: cutter{max: 9}}}
	if session, since, limit, err := sessionOf(x.responseID()); session != x.id || since != 7 || limit != 9 || err != nil {
		t.Errorf("%q, %d, %d, %v", session, since, limit, err)
	}
	for _, id := range []string{"", "resp_", "resp_x", "msg_a_b", "resp_a_-1_0", "resp_a_b_c"} {
		if got, _, _, err := sessionOf(id); err == nil {
			t.Errorf("%q is a response of %q", id, got)
		}
	}
}

// An error is written in the form of the API that was asked.
func TestErrors(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/chat/completions": `{"error":{"code":"x","message":"slow","param":null,"type":"rate_limit_error"}}`,
		"/v1/messages":         `{"error":{"message":"slow","type":"rate_limit_error"},"type":"error"}`,
	} {
		w := httptest.NewRecorder()
		(&Error{Status: 429, Code: "x", Message: "slow", Final: true}).Write(w, httptest.NewRequest("POST", path, nil))
		if got := strings.TrimSpace(w.Body.String()); got != want || w.Code != 429 || w.Header().Get("X-Should-Retry") != "false" {
			t.Errorf("%s: %d %s %v", path, w.Code, got, w.Header())
		}
	}
}

// A decoder returns a request that says something, or an error of the API that names a
// field; it never panics.
func FuzzDecode(f *testing.F) {
	f.Add("chat", `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x"}]}],"stop":"a","tools":[{"type":"function","function":{"name":"f"}}]}`)
	f.Add("responses", `{"input":[{"type":"function_call_output","call_id":"call_a_b","output":"x"}],"previous_response_id":"resp_a_1_0"}`)
	f.Add("messages", `{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_a_b","content":"x"}]}]}`)
	f.Fuzz(func(t *testing.T, format, body string) {
		decode := decoders[format]
		if decode == nil {
			return
		}
		q, err := decode([]byte(body), "")
		if own := (*Error)(nil); err != nil && (!errors.As(err, &own) || own.Status != 400 || own.Message == "") {
			t.Fatalf("%v", err)
		}
		if err != nil {
			return
		}
		if len(q.said) == 0 && len(q.results) == 0 {
			t.Error("nothing is said")
		}
		if _, err := json.Marshal(q.client); err != nil {
			t.Error(err)
		}
	})
}
