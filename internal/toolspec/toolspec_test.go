package toolspec

import (
	"reflect"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
)

func TestNew(t *testing.T) {
	s := New("look", "\nLooks.\n", "{\n\t\"type\": \"object\"\n}", openmanus.Hints{ReadOnly: true})
	if s.Name != "look" || s.Description != "Looks." || string(s.Input) != `{"type":"object"}` || !s.Hints.ReadOnly {
		t.Errorf("%+v", s)
	}
}

func TestASchemaThatIsNoJSONIsAMistake(t *testing.T) {
	defer func() {
		if why, _ := recover().(string); !strings.Contains(why, "look") {
			t.Errorf("panic: %q", why)
		}
	}()
	New("look", "", "{", openmanus.Hints{})
}

// The head of a description is for people, and the model does not read it.
func TestTheHeadOfADescription(t *testing.T) {
	s := Headed("look", "how=all reads: take, taking, took | 拿, 正在拿, 拿了 @ item, shelf\n: look, looking, looked | 看, 正在看, 看了\n---\nLooks.\n", "{}", openmanus.Hints{})
	want := []openmanus.Saying{
		{If: "how=all", Kind: openmanus.ToolReads, Words: map[string]string{"en": "take, taking, took", "zh": "拿, 正在拿, 拿了"}, On: []string{"item", "shelf"}},
		{Words: map[string]string{"en": "look, looking, looked", "zh": "看, 正在看, 看了"}},
	}
	if s.Description != "Looks." || !reflect.DeepEqual(s.Says, want) {
		t.Errorf("%q %+v", s.Description, s.Says)
	}
	const markdown = "Looks.\n---\nArgs: city"
	if s := New("look", markdown, "{}", openmanus.Hints{}); s.Description != markdown || s.Says != nil {
		t.Errorf("of a description that others wrote there is %q, and %+v", s.Description, s.Says)
	}
	defer func() {
		if why, _ := recover().(string); !strings.Contains(why, "three forms") {
			t.Errorf("panic: %q", why)
		}
	}()
	Says("reads: read, reading, read")
}
