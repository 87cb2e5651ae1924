package lawtest_test

import (
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// A detail may say whatever it wants, also what looks like the codec's own
// reference to a blob.
func TestDetailsThatLookLikeReferences(t *testing.T) {
	c := journal.Codec{Blobs: new(journal.Memory)}
	for _, detail := range []string{
		`{"$blob":"sha256:00"}`,
		`{"$blob":7}`,
		`{"$$blob":{"$blob":{"$$$blob":null}}}`,
		`{"\u0024blob":"sha256:00"}`,
		`[{"$blob":"sha256:00"},"` + strings.Repeat("long ", 4000) + `",{"\u0024blob":"x"}]`,
		`{"$blob":"` + strings.Repeat("long ", 4000) + `"}`,
		`{"$blobs":{"blob":"y"},"my$blob":"x"}`,
	} {
		before := openmanus.CallDone{Call: "c0-0", Parts: llm.Parts{llm.Text{Text: "done"}}, Detail: []byte(detail)}
		_, events, err := c.Round(t.Context(), before)
		if err != nil {
			t.Errorf("%.40s: %v", detail, err)
			continue
		}
		got := events[0].Body.(openmanus.CallDone).Detail
		if want := strings.ReplaceAll(detail, `\u0024`, "$"); string(got) != want && string(got) != detail {
			t.Errorf("%.60s was read as %.60s", detail, got)
		}
	}
}

func TestWhatIsNoBodyIsNotEncoded(t *testing.T) {
	for _, b := range []openmanus.Body{
		openmanus.Foreign{Type: "teleported", Stored: "teleport/1", Content: []byte(`{"to":`)},
		openmanus.Foreign{Stored: "teleport/1", Content: []byte(`{}`)},
		openmanus.Typing{},
	} {
		if s, err := (journal.Codec{}).Encode(t.Context(), b); err == nil {
			t.Errorf("%#v was encoded as %s", b, s.Body)
		}
	}
}

// JSON cannot hold what is not UTF-8, so the key cannot either.
func TestKeyIsThatOfTheBodyThatIsRead(t *testing.T) {
	stored, events, err := journal.Codec{}.Round(t.Context(), openmanus.UserSaid{ID: "a\xff\xfeb", Message: llm.Say(llm.User, "hi")})
	if err != nil || stored[0].Key != events[0].Body.Key() || !strings.Contains(stored[0].Key, "a\ufffd\ufffdb") {
		t.Errorf("stored as %q, read as %q, %v", stored[0].Key, events[0].Body.Key(), err)
	}
}
