package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/internal/zoo"
	"github.com/openmanus-go/openmanus/llm"
)

// dialects are what adapters speak, with the rules of the provider that reads it.
var dialects = map[Dialect]zoo.Provider{OpenAI: zoo.OpenAI, Anthropic: zoo.Anthropic, Gemini: zoo.Gemini}

// A provider takes the schema of every tool. Arguments that fit the original fit the schema
// that is sent, and the description says what that no longer demands.
func TestSchemasOfServers(t *testing.T) {
	for d, p := range dialects {
		for _, tool := range zoo.Tools() {
			description, schema := d.Fit(llm.ToolSpec{Name: "tool", Description: "A tool.", Input: tool.Schema})
			if why := p.Refusal("tool", schema); why != "" {
				t.Errorf("%s, %s: %s\n%s", p, tool.Of, why, schema)
			}
			if tool.Same && (!bytes.Equal(schema, tool.Schema) || description != "A tool.") {
				t.Errorf("%s, %s: it was rewritten: %s", p, tool.Of, schema)
			}
			if d == OpenAI && p.Refusal("tool", tool.Schema) == "" && !bytes.Equal(schema, tool.Schema) {
				t.Errorf("%s, %s: it was rewritten without need: %s", p, tool.Of, schema)
			}
			if tool.Says != "" && !strings.Contains(description, tool.Says) {
				t.Errorf("%s, %s: nothing says %q: %s", p, tool.Of, tool.Says, description)
			}
			sent, err := args.Compile(schema)
			if err != nil {
				t.Errorf("%s, %s: %v", p, tool.Of, err)
				continue
			}
			for _, good := range tool.Good {
				if _, err := sent.Check(string(good)); err != nil {
					t.Errorf("%s, %s: %s fits the original and not what is sent: %v\n%s", p, tool.Of, good, err, schema)
				}
			}
		}
	}
}

// The examples are right themselves, and their originals are checked.
func TestExamplesOfSchemas(t *testing.T) {
	for _, tool := range zoo.Tools() {
		own, err := args.Compile(tool.Schema)
		if err != nil {
			continue // such as true: the MCP client offers what is left with any object
		}
		for _, good := range tool.Good {
			if _, err := own.Check(string(good)); err != nil {
				t.Errorf("%s: %s: %v", tool.Of, good, err)
			}
		}
		for _, bad := range tool.Bad {
			if _, err := own.Check(string(bad)); err == nil {
				t.Errorf("%s: %s fits", tool.Of, bad)
			}
		}
	}
}

// Arguments whose names Anthropic refuses are described in words.
func TestNamesThatAnthropicRefuses(t *testing.T) {
	description, schema := Anthropic.Fit(llm.ToolSpec{Description: "Finds.", Input: json.RawMessage(
		`{"type":"object","properties":{"$filter":{"type":"string"},"top":{"type":"integer"},"a b":{"type":"boolean"}},"required":["$filter","top"]}`)})
	if string(schema) != `{"properties":{"top":{"type":"integer"}},"required":["top"],"type":"object"}` ||
		!strings.Contains(description, `must also have "$filter": {"type":"string"}`) || !strings.Contains(description, `may also have "a b"`) {
		t.Errorf("%s\n%s", description, schema)
	}
}

// Whatever a server writes, each provider takes what is sent, and it stays bounded.
func FuzzFit(f *testing.F) {
	for _, tool := range zoo.Tools() {
		f.Add([]byte(tool.Schema))
	}
	for _, s := range []string{
		`{"$ref":"#"}`, `{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`, `{"type":"any","properties":[],"required":true,"items":null}`,
		`{"properties":{"a":{"type":["list","null"],"enum":[],"minimum":"1","exclusiveMinimum":true}}}`, `{"properties":{"a":{"$ref":"other.json"}}}`,
		`{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]}},"anyOf":[{"$ref":"#/$defs/a"}]}`, `[]`, `null`, `{"anyOf":7}`,
		`{"properties":{"a":{"allOf":[{"$ref":"#/properties/a"}],"const":1,"enum":null}}}`, `{"properties":{"":{"items":[{"type":"array"}]}}}`,
		`{"properties":{"a":{"type":[]}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, schema []byte) {
		if !json.Valid(schema) || len(schema) > 64<<10 {
			return
		}
		for d, p := range dialects {
			_, out := d.Fit(llm.ToolSpec{Name: "t", Input: schema})
			if why := p.Refusal("t", out); why != "" {
				t.Errorf("%s: %s\n%s\n%s", p, why, schema, out)
			}
			if _, again := d.Fit(llm.ToolSpec{Name: "t", Input: schema}); !bytes.Equal(out, again) {
				t.Errorf("%s: not the same twice: %s, %s", p, out, again)
			}
		}
	})
}
