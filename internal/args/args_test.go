package args

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// editor is a schema like that of a tool.
const editor = `{
	"type": "object",
	"properties": {
		"command": {"type": "string", "enum": ["view", "create"]},
		"path": {"type": "string", "minLength": 1},
		"line": {"type": "integer", "minimum": 1, "maximum": 9},
		"ratio": {"type": "number"},
		"force": {"type": "boolean"},
		"steps": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
		"either": {"type": ["string", "null"]},
		"nested": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false},
		"tag": {"anyOf": [{"const": "x"}, {"const": "y"}]}
	},
	"required": ["command", "path"],
	"additionalProperties": false
}`

func compile(t testing.TB, schema string) *Schema {
	t.Helper()
	s, err := Compile(json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestValidArgumentsComeBackByteForByte(t *testing.T) {
	s := compile(t, editor)
	for _, in := range []string{
		`{"command":"view","path":"a"}`,
		"  {\n\t\"path\" : \"a\", \"command\"  :\"view\" }\n",
		`{"command":"view","path":"<&>\u00e9\ud83d\ude00 é","line":3,"ratio":1e2,"force":false,"steps":["a"]}`,
		`{"command":"view","path":"C:\\Users","either":null,"nested":{"n":1}}`,
	} {
		if out, err := s.Check(in); err != nil || out != in {
			t.Errorf("Check(%q) = %q, %v", in, out, err)
		}
	}
}

func TestWhatIsMeantWithoutDoubtIsMended(t *testing.T) {
	s := compile(t, editor)
	for _, tt := range []struct{ name, in, want string }{
		{"a number in quotes", `{"command":"view","path":"a","line":"5"}`, `{"command":"view","path":"a","line":5}`},
		{"a fraction of zero", `{"command":"view","path":"a","line":5.0}`, `{"command":"view","path":"a","line":5}`},
		{"a fraction in quotes", `{"command":"view","path":"a","ratio":" -1.5e3"}`, `{"command":"view","path":"a","ratio":-1.5e3}`},
		{"true in quotes", `{"command":"view","path":"a","force":"True"}`, `{"command":"view","path":"a","force":true}`},
		{"null for an optional argument", `{"line":null,"command":"view","force":null,"path":"a"}`, `{"command":"view","path":"a"}`},
		{"a fence", "```json\n{\"command\":\"view\",\"path\":\"a\"}\n```", `{"command":"view","path":"a"}`},
		{"prose around", `Here you are: {"command":"view","path":"a"} Good luck!`, `{"command":"view","path":"a"}`},
		{"encoded twice", `"{\"command\":\"view\",\"path\":\"a\"}"`, `{"command":"view","path":"a"}`},
		{"line breaks and tabs in a string", "{\"command\":\"view\",\"path\":\"a\n\tb\r\x01\"}", `{"command":"view","path":"a\n\tb\r\u0001"}`},
		{"a trailing comma", `{"command":"view","path":"a",}`, `{"command":"view","path":"a"}`},
		{"a missing comma", `{"command":"view" "path":"a"}`, `{"command":"view", "path":"a"}`},
		{"single quotes", `{'command':'view','path':'a'}`, `{"command":"view","path":"a"}`},
		{"Python", `{'command':'view','path':'a','force':True,'line':None}`, `{"command":"view","path":"a","force":true}`},
		{"bare names", `{command:"view",path:"a"}`, `{"command":"view","path":"a"}`},
		{"quotes within a string", `{"command":"view","path":"say "hi" now"}`, `{"command":"view","path":"say \"hi\" now"}`},
		{"an escaped apostrophe", `{"command":"view","path":"it\'s"}`, `{"command":"view","path":"it's"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := s.Check(tt.in)
			if err != nil || out != tt.want {
				t.Fatalf("got %s, %v\nwant %s", out, err, tt.want)
			}
			if again, err := s.Check(out); err != nil || again != out {
				t.Errorf("not stable: %s, %v", again, err)
			}
		})
	}
}

func TestNothingIsAnEmptyObject(t *testing.T) {
	for _, in := range []string{"", " \n"} {
		if out, err := (*Schema)(nil).Check(in); out != "{}" || err != nil {
			t.Errorf("Check(%q) = %q, %v", in, out, err)
		}
	}
	if out, err := (*Schema)(nil).Check(`{"what":["ever",1e999]}`); err != nil || out != `{"what":["ever",1e999]}` {
		t.Errorf("without a schema: %q, %v", out, err)
	}
}

// Each error is for the model: it names the argument and says what to write.
func TestErrorsNameTheArgument(t *testing.T) {
	s := compile(t, editor)
	const ok = `{"command":"view","path":"a",`
	for _, tt := range []struct{ name, in, want string }{
		{"wrong enum", `{"command":"frob","path":"a"}`, `the argument "command" must be one of "view", "create", but "frob" was given`},
		{"missing", `{"command":"view"}`, `the argument "path" is missing, and it is required`},
		{"all missing", ``, `the argument "command" is missing, and it is required; the argument "path" is missing, and it is required`},
		{"unknown", ok + `"pth":1}`, `there is no argument "pth"; there are "command", "either", "force", "line", "nested", "path", "ratio", "steps", "tag"`},
		{"wrong type", ok + `"line":"soon"}`, `the argument "line" must be an integer, but "soon" was given`},
		{"a fraction", ok + `"line":1.5}`, `the argument "line" must be an integer, but 1.5 was given`},
		{"null for a required one", `{"command":"view","path":null}`, `the argument "path" must be a string, but null was given`},
		{"a number for a string", `{"command":"view","path":5}`, `the argument "path" must be a string, but 5 was given`},
		{"a list in quotes", ok + `"steps":"[\"a\"]"}`, `the argument "steps" must be an array, but "[\"a\"]" was given`},
		{"an item", ok + `"steps":["a",2]}`, `the argument "steps[1]" must be a string, but 2 was given`},
		{"too few", ok + `"steps":[]}`, `the argument "steps" must have at least 1 items, but it has 0`},
		{"too many", ok + `"steps":["a","b","c","d"]}`, `the argument "steps" must have at most 3 items, but it has 4`},
		{"empty text", `{"command":"view","path":""}`, `the argument "path" must have at least 1 characters, but it has 0`},
		{"too small", ok + `"line":0}`, `the argument "line" must be at least 1, but 0 was given`},
		{"too large", ok + `"line":"10"}`, `the argument "line" must be at most 9, but 10 was given`},
		{"nested", ok + `"nested":{"m":1}}`, `the argument "nested.n" is missing, and it is required; there is no argument "nested.m"; there are "nested.n"`},
		{"two types", ok + `"either":1}`, `the argument "either" must be a string or null, but 1 was given`},
		{"two faults", `{"command":1,"path":2}`, `the argument "command" must be a string, but 1 was given; the argument "path" must be a string, but 2 was given`},
		{"what only the validator knows", ok + `"tag":"z"}`, `the argument "tag" is wrong: anyOf: did not validate`},
		{"no object", `["a"]`, `not a JSON object`},
		{"prose", `view the file a`, `not a JSON object`},
		{"a long value", ok + `"line":"` + strings.Repeat("é", 200) + `"}`, `ééé...`},
		{"too large a number", ok + `"ratio":1e999}`, `1e999`},
		{"two objects", `{"command":"view"} {"path":"a"}`, `not valid JSON`},
		{"two lines", "{\"command\":\"view\"}\n{\"path\":\"a\"}", `not a JSON object`},
		{"a value is missing", `{"command":"view","path":"a","line":}`, `near`},
		{"an ellipsis", `{"command":"view","path":"a","steps":["a",...]}`, `not valid JSON`},
		{"a quote that does not end", `{'path':'it"s'}`, `cut off`},
		{"not UTF-8", "{\"path\":\"\xff\"}", `not UTF-8`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := s.Check(tt.in)
			if err == nil {
				t.Fatalf("accepted as %s", out)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v\nwant %s", err, tt.want)
			}
		})
	}
}

// An invalid escape sequence: libraries drop the backslash, so that \d in a
// regular expression becomes d, and a path loses its separators.
func TestALostBackslashIsRefused(t *testing.T) {
	for _, in := range []string{`{"re":"\d+"}`, `{"path":"C:\Windows",}`, `{'re':'\d+'}`, `{"x":"a\é"}`} {
		if out, err := Repair(in); err == nil {
			t.Errorf("Repair(%s) = %s", in, out)
		}
	}
	_, err := Repair(`{"re":"\d+"}`)
	if want := `\d is not an escape sequence; within a JSON string a backslash is written twice, as in \\d`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// An object that is cut off must not be read as a shorter one: the rest of the
// command, or of the file, would be missing.
func TestNothingUnfinishedIsAccepted(t *testing.T) {
	for _, whole := range []string{
		`{"command":"create","path":"a}b","text":"if x { y() }\n\"}\"\\"}`,
		`{"a":{"b":[{"c":"}"},{}],"d":"]}"},"e":[[]]}`,
		"{ \"é\" : \"\u2028}\" , \"n\" : 12 }",
		`{"code":"print('{}')","x":"{\"y\":{}}"}`,
	} {
		if _, err := Repair(whole); err != nil {
			t.Fatalf("%s: %v", whole, err)
		}
		for i := 1; i < len(whole); i++ {
			if out, err := Repair(whole[:i]); err == nil {
				t.Errorf("cut at %d: %q is taken for %q", i, whole[:i], out)
			}
		}
	}
}

// The library takes ten seconds for 200 kB of this.
func TestABigMessIsRefused(t *testing.T) {
	out, err := Repair(`{"text":"` + strings.Repeat(`say "hi" now `, 16000) + `"}`)
	if err == nil || !strings.Contains(err.Error(), `near "{\"text\":\"say \"hi`) {
		t.Errorf("got %.100q, %v", out, err)
	}
	lines := strings.Repeat("a line\n", 100_000)
	out, err = Repair(`{"text":"` + lines + `"}`)
	var back struct{ Text string }
	if err != nil || json.Unmarshal([]byte(out), &back) != nil || back.Text != lines {
		t.Errorf("line breaks in a big text: %v", err)
	}
}

func TestForIsStrict(t *testing.T) {
	type inner struct {
		N *int `json:"n"`
	}
	type in struct {
		Text  string         `json:"text" jsonschema:"what to say"`
		List  []string       `json:"list,omitempty"`
		Inner *inner         `json:"inner,omitempty"`
		Many  []inner        `json:"many,omitempty"`
		Free  map[string]int `json:"free,omitempty"`
	}
	got, err := For[in]()
	if err != nil {
		t.Fatal(err)
	}
	const innerSchema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`
	want := `{"type":"object","properties":{"text":{"type":"string","description":"what to say"},` +
		`"list":{"type":"array","items":{"type":"string"}},"inner":` + innerSchema + `,"many":{"type":"array","items":` + innerSchema + `},` +
		`"free":{"type":"object","additionalProperties":{"type":"integer"}}},"required":["text"],"additionalProperties":false}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, err := For[chan int](); err == nil {
		t.Error("a channel has a schema")
	}
}

func TestCompileRefusesWhatIsNoSchema(t *testing.T) {
	for _, in := range []string{`{"type":5}`, `[]`, `{"$ref":"#/nowhere"}`, `{"$ref":"https://example.com/x"}`} {
		if _, err := Compile(json.RawMessage(in)); err == nil {
			t.Errorf("%s is accepted", in)
		}
	}
}
