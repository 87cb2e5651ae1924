package toolspec

import (
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
