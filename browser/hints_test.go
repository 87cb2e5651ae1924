package browser

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// TestHints holds what each action claims against a table: reading and going
// somewhere change nothing, acts on a page may do anything, and all keep their
// order. Arguments that an action does not use are not declared, so that a rule
// that allows a host allows no click that merely names one.
func TestHints(t *testing.T) {
	claims := map[openmanus.Hints]string{looks: "looks", moves: "moves", writes: "writes", acts: "acts"}
	for input, want := range map[string]string{
		`{"action":"go_to_url","url":"u"}`:                       "looks url requests",
		`{"action":"open_tab","url":"u"}`:                        "moves url requests",
		`{"action":"go_back"}`:                                   "moves",
		`{"action":"refresh"}`:                                   "moves",
		`{"action":"switch_tab","tab_id":1}`:                     "looks",
		`{"action":"close_tab"}`:                                 "moves",
		`{"action":"web_search","query":"q"}`:                    "looks query sends",
		`{"action":"wait","text":"t"}`:                           "looks",
		`{"action":"scroll_down"}`:                               "moves",
		`{"action":"scroll_up"}`:                                 "moves",
		`{"action":"scroll_to_text","text":"t"}`:                 "looks",
		`{"action":"hover","index":1}`:                           "moves",
		`{"action":"get_dropdown_options","index":1}`:            "looks",
		`{"action":"get_text"}`:                                  "looks",
		`{"action":"extract_content","goal":"g"}`:                "looks",
		`{"action":"screenshot"}`:                                "looks file_path writes",
		`{"action":"screenshot","file_path":"f"}`:                "writes file_path writes",
		`{"action":"save_pdf","file_path":"f"}`:                  "writes file_path writes",
		`{"action":"click_element","index":1,"url":"u"}`:         "acts",
		`{"action":"input_text","index":1,"text":"t","url":"u"}`: "acts text sends",
		`{"action":"select_dropdown_option","index":1}`:          "acts text sends",
		`{"action":"send_keys","keys":"k"}`:                      "acts keys sends",
		`{"action":"drag","index":1,"to_index":2}`:               "acts",
		`{"action":"upload_file","file_path":"f"}`:               "acts file_path sends",
		`{"action":"download","url":"u"}`:                        "acts url requests, file_path writes",
		`{"action":"download","index":1,"url":"u"}`:              "acts file_path writes",
		`{"action":"handle_dialog","accept":true}`:               "acts text sends",
		`{"action":"fill_form","fields":[],"url":"u"}`:           "acts fields sends",
		`{"action":"execute_js","script":"s","url":"u"}`:         "acts script sends, script runs",
		`{"action":"get_html","index":1}`:                        "looks",
		`{"action":"read_links"}`:                                "looks",
	} {
		call := openmanus.Call{Call: llm.Call{Name: "browser_use", Input: input}}
		tool := NewTool(Config{})
		var uses []string
		for _, a := range tool.ArgumentsOf(call)[1:] {
			uses = append(uses, a.Name+" "+string(a.Does))
		}
		got := strings.TrimSpace(claims[tool.Hints(call)] + " " + strings.Join(uses, ", "))
		if got != want || !tool.Hints(call).Ordered || !tool.Spec().Hints.Ordered {
			t.Errorf("%s: %s, want %s", input, got, want)
		}
	}
	for name := range actions {
		if !strings.Contains(schema, `"`+name+`"`) {
			t.Errorf("%s is not in the schema", name)
		}
	}
	if spec, err := json.Marshal(NewTool(Config{}).Spec().ToolSpec); err != nil || len(spec) > 2400 {
		t.Errorf("each request has %d bytes of it: %v", len(spec), err) // a quarter of all that the agent's tools have
	}
	if h := NewTool(Config{}).Hints(openmanus.Call{Call: llm.Call{Input: `{"action":"fly"}`}}); h != (openmanus.Hints{}) {
		t.Errorf("an action that there is not: %+v", h)
	}
}

// A preview of an act where no browser runs is an error, and starts none.
func TestPreviewStartsNoBrowser(t *testing.T) {
	tool := NewTool(Config{Start: func(context.Context) (*Browser, error) {
		t.Error("a browser was started")
		return nil, errors.New("no")
	}})
	defer tool.Close()
	click := openmanus.Call{Call: llm.Call{Name: "browser_use", Input: `{"action":"click_element","index":1}`}, Session: "s"}
	if _, err := tool.Preview(t.Context(), click); !errors.Is(err, errNoPage) {
		t.Errorf("preview: %v", err)
	}
	if _, err := tool.Scope(t.Context(), click); !errors.Is(err, errNoPage) {
		t.Errorf("scope: %v", err)
	}
	look := openmanus.Call{Call: llm.Call{Name: "browser_use", Input: `{"action":"go_to_url","url":"x"}`}, Session: "s"}
	if text, err := tool.Preview(t.Context(), look); text != "" || err != nil {
		t.Errorf("going somewhere: %q %v", text, err)
	}
}
