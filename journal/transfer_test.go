package journal_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// A session is the same in another store, also the second time; one that has gone on
// there is not overwritten.
func TestTransfer(t *testing.T) {
	from, to := new(journal.Memory), new(journal.Memory)
	ref, err := from.Put(t.Context(), []byte("the whole output"))
	if err != nil {
		t.Fatal(err)
	}
	bodies := []openmanus.Body{
		openmanus.Opened{Flow: "manus", Version: openmanus.FormatVersion},
		openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, strings.Repeat("long ", 5000))},
		openmanus.CallDone{Call: "c", Whole: ref},
		openmanus.CallDone{Call: "d", Whole: openmanus.RefOf([]byte("lost"))},
	}
	if _, err := from.Append(t.Context(), "s", bodies...); err != nil {
		t.Fatal(err)
	}
	if err := journal.Transfer(t.Context(), from, to, "s"); err != nil {
		t.Fatal(err)
	}
	if data, err := openmanus.ReadBlob(t.Context(), to, ref); err != nil || string(data) != "the whole output" {
		t.Errorf("the blob: %q, %v", data, err)
	}
	if err := journal.Transfer(t.Context(), from, to, "s"); !errors.Is(err, openmanus.ErrExists) || errors.Is(err, openmanus.ErrConflict) {
		t.Errorf("the second time: %v, want ErrExists", err)
	}
	if _, err := to.Append(t.Context(), "s", openmanus.Noted{ID: "there"}); err != nil {
		t.Fatal(err)
	}
	if err := journal.Transfer(t.Context(), from, to, "s"); !errors.Is(err, openmanus.ErrConflict) || !strings.Contains(err.Error(), "event 5") {
		t.Errorf("it has gone on there: %v, want ErrConflict at event 5", err)
	}
	if err := journal.Transfer(t.Context(), from, to, "none"); !errors.Is(err, openmanus.ErrNoSession) {
		t.Errorf("no session: %v", err)
	}
}
