package args_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/args"
)

// Arguments decode into the fields of exactly their names. Otherwise a tool would
// act on an argument that the rules have not seen.
func TestDecodeIsExact(t *testing.T) {
	type inner struct {
		Path string `json:"path"`
	}
	type base struct {
		Deep string `json:"deep"`
	}
	type input struct {
		base
		Path  string            `json:"path"`
		Plain int               // without a tag
		List  []inner           `json:"list"`
		One   *inner            `json:"one"`
		Raw   json.RawMessage   `json:"raw"`
		Map   map[string]string `json:"map"`
	}
	for text, wrong := range map[string]string{
		`{"path":"a","Plain":3,"list":[{"path":"b"}],"one":{"path":"c"},"raw":{"X":1,"x":2},"map":{"A":"1","a":"2"},"deep":"d"}`: "",
		`{"path":"a","other":1}`:               "",
		`{}`:                                   "",
		`{"Path":"a"}`:                         `"Path" is spelled "path"`,
		`{"plain":1}`:                          "",
		`{"pLain":1}`:                          `"pLain" is spelled "Plain"`,
		`{"DEEP":"x"}`:                         `"DEEP" is spelled "deep"`,
		`{"path":"a","PATH":"b"}`:              `"PATH" is there twice`,
		`{"path":"a","path":"b"}`:              `"path" is there twice`,
		`{"paſh":"a"}`:                         "",
		`{"liſt":[]}`:                          `is spelled "list"`,
		`{"list":[{"path":"b"},{"pAth":"c"}]}`: `"pAth" is spelled "path"`,
		`{"one":{"Path":"c"}}`:                 `"Path" is spelled "path"`,
		`{"path":5}`:                           "cannot unmarshal",
		`[]`:                                   "cannot unmarshal",
		`{`:                                    "unexpected end",
	} {
		var in input
		err := args.Decode(text, &in)
		if (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v, want %q", text, err, wrong)
		}
		if wrong == "" && strings.Contains(text, `"path":"a"`) && (in.Path != "a" || len(in.List) > 0 && in.List[0].Path != "b") {
			t.Errorf("%s: %+v", text, in)
		}
	}
	if _, err := (*args.Schema)(nil).Check(`{"a":1,"A":2}`); err == nil || !strings.Contains(err.Error(), "there twice") {
		t.Errorf("checked: %v", err)
	}
}
