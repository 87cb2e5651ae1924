package lawtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/journal/journaltest"
	"github.com/openmanus-go/openmanus/llm"
)

const wholeOutput = "the whole output" // what journaltest.Bodies speaks of

// recordedAll returns a journal with a session s of every type of body.
func recordedAll(t testing.TB) *journal.Memory {
	t.Helper()
	j := new(journal.Memory)
	if _, err := j.Put(t.Context(), []byte(wholeOutput)); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(t.Context(), "s", journaltest.Bodies()...); err != nil {
		t.Fatal(err)
	}
	return j
}

func eventsOf(t testing.TB, j openmanus.Journal, session string) (evs []openmanus.Event) {
	t.Helper()
	for ev, err := range j.Events(t.Context(), session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		evs = append(evs, ev)
	}
	return evs
}

func TestForkCopiesEventsAndInterruptsThem(t *testing.T) {
	j := recordedAll(t)
	want := eventsOf(t, j, "s")
	for _, seq := range []int64{0, 1, 5, int64(len(want))} {
		to := fmt.Sprint("copy-", seq)
		if err := journal.Fork(t.Context(), j, "s", seq, to); err != nil {
			t.Fatal(err)
		}
		n := int64(len(want))
		if seq > 0 {
			n = seq
		}
		got := eventsOf(t, j, to)
		if int64(len(got)) != n+1 {
			t.Fatalf("a fork at %d has %d events, want %d", seq, len(got), n+1)
		}
		first := want[0].Body.(openmanus.Opened)
		first.From = &openmanus.Origin{Session: "s", Seq: n}
		if !reflect.DeepEqual(got[0], openmanus.Event{Seq: 1, Time: want[0].Time, Body: first}) {
			t.Errorf("a fork at %d begins with %+v", seq, got[0])
		}
		if !reflect.DeepEqual(got[1:n], want[1:n]) {
			t.Errorf("a fork at %d has other events than the session", seq)
		}
		if last := got[n]; last.Seq != n+1 || !reflect.DeepEqual(last.Body, openmanus.Interrupted{ID: journal.ForkID(to)}) {
			t.Errorf("a fork at %d ends with %+v", seq, last)
		}
	}
	if !reflect.DeepEqual(eventsOf(t, j, "s"), want) {
		t.Error("forking changed the session")
	}
}

func TestForkOfAForkIsInterruptedToo(t *testing.T) {
	j := new(journal.Memory)
	ask := func(n int) openmanus.Body {
		return openmanus.UserSaid{ID: fmt.Sprint(n), Message: llm.Say(llm.User, "go on")}
	}
	if _, err := j.Append(t.Context(), "0", openmanus.Opened{}, openmanus.Configured{}, ask(0)); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		from, to := fmt.Sprint(n), fmt.Sprint(n+1)
		if err := journal.Fork(t.Context(), j, from, 0, to); err != nil {
			t.Fatal(err)
		}
		s, err := openmanus.Load(t.Context(), j, to)
		if err != nil || s.Status() != openmanus.Halted || s.Outcome.Reason != openmanus.ByPerson {
			t.Fatalf("fork %s is %v, %v", to, s.Status(), err)
		}
		if _, err := j.Append(t.Context(), to, ask(n+1)); err != nil {
			t.Fatal(err)
		}
		if s, err = openmanus.Load(t.Context(), j, to); err != nil || s.Status() != openmanus.Running {
			t.Fatalf("fork %s does not go on when it is asked to: %v, %v", to, s.Status(), err)
		}
	}
}

func TestForkThatCannotBeSaysWhy(t *testing.T) {
	j := recordedAll(t)
	if err := journal.Fork(t.Context(), j, "s", 0, "taken"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		from string
		seq  int64
		to   string
		says string
		is   error
	}{
		{"nobody", 0, "new", "no such session", openmanus.ErrNoSession},
		{"s", 99, "new", "has no event 99", nil},
		{"s", -1, "new", "has no event -1", nil},
		{"s", 0, "taken", "fork to taken", openmanus.ErrExists},
		{"s", 0, "s", "fork to s", openmanus.ErrExists},
	} {
		err := journal.Fork(t.Context(), j, tt.from, tt.seq, tt.to)
		if err == nil || !strings.Contains(err.Error(), tt.says) || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("fork of %s at %d to %s: %v, want an error that says %q", tt.from, tt.seq, tt.to, err, tt.says)
		}
	}
	if err := journal.Fork(t.Context(), plainJournal{j}, "s", 0, "new"); err == nil || !strings.Contains(err.Error(), "cannot take over events") {
		t.Errorf("fork in a journal that is no Restorer: %v", err)
	}
	if n := len(eventsOf(t, j, "new")); n > 0 {
		t.Errorf("a fork that failed left %d events", n)
	}
}

// plainJournal is nothing but a journal.
type plainJournal struct{ openmanus.Journal }

func export(t testing.TB, j *journal.Memory, session string) string {
	t.Helper()
	var b bytes.Buffer
	if err := journal.Export(t.Context(), j, j, session, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestExportComesBackAsItWas(t *testing.T) {
	j := recordedAll(t)
	file := export(t, j, "s")
	if again := export(t, j, "s"); again != file {
		t.Error("exporting twice gives two files")
	}
	k := new(journal.Memory)
	id, err := journal.Import(t.Context(), k, k, "", strings.NewReader(file))
	if err != nil || id != "s" {
		t.Fatalf("import: %q, %v", id, err)
	}
	if !reflect.DeepEqual(eventsOf(t, k, "s"), eventsOf(t, j, "s")) {
		t.Error("the events are not what they were")
	}
	if data, err := openmanus.ReadBlob(t.Context(), k, openmanus.RefOf([]byte(wholeOutput))); err != nil || string(data) != wholeOutput {
		t.Errorf("the blob is %q, %v", data, err)
	}
	if export(t, k, "s") != file {
		t.Error("what was imported is exported as something else")
	}
}

func TestImportUnderAnotherNameSaysWhereItCameFrom(t *testing.T) {
	j, k := recordedAll(t), new(journal.Memory)
	id, err := journal.Import(t.Context(), k, k, "new", strings.NewReader(export(t, j, "s")))
	if err != nil || id != "new" {
		t.Fatalf("import: %q, %v", id, err)
	}
	want, got := eventsOf(t, j, "s"), eventsOf(t, k, "new")
	if from := got[0].Body.(openmanus.Opened).From; *from != (openmanus.Origin{Session: "s", Seq: int64(len(want))}) {
		t.Errorf("it comes from %+v", from)
	}
	if !reflect.DeepEqual(got[1:], want[1:]) {
		t.Error("the events are not what they were")
	}
	if _, err := journal.Import(t.Context(), j, j, "", strings.NewReader(export(t, j, "s"))); !errors.Is(err, openmanus.ErrExists) {
		t.Errorf("import over a session: %v, want ErrExists", err)
	}
	if _, err := journal.Import(t.Context(), plainJournal{k}, k, "", strings.NewReader("")); err == nil || !strings.Contains(err.Error(), "cannot take over events") {
		t.Errorf("import into a journal that is no Restorer: %v", err)
	}
}

func TestExportOfALostBlobSaysSoAndComesBack(t *testing.T) {
	j := new(journal.Memory) // nobody put the whole output
	text := openmanus.CallDone{Call: "c1", Parts: llm.Parts{llm.Text{Text: "pulled image@" + string(openmanus.RefOf([]byte("no blob")))}}}
	if _, err := j.Append(t.Context(), "s", append(journaltest.Bodies(), text)...); err != nil {
		t.Fatal(err)
	}
	file := export(t, j, "s")
	lost := fmt.Sprintf(`{"blob":"%s","missing":true}`+"\n", openmanus.RefOf([]byte(wholeOutput)))
	if !strings.Contains(file, lost) || strings.Count(file, `{"blob":`) != 1 {
		t.Errorf("the file does not say that a blob is missing, or speaks of others: %.3000s", file)
	}
	k := new(journal.Memory)
	if _, err := journal.Import(t.Context(), k, k, "", strings.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	if export(t, k, "s") != file {
		t.Error("what was imported is exported as something else")
	}
}

func TestExportOfNothingIsAnError(t *testing.T) {
	j := new(journal.Memory)
	if err := journal.Export(t.Context(), j, j, "nobody", new(bytes.Buffer)); !errors.Is(err, openmanus.ErrNoSession) {
		t.Errorf("export: %v, want ErrNoSession", err)
	}
	full := errors.New("disk full")
	j = recordedAll(t)
	if err := journal.Export(t.Context(), j, j, "s", failingWriter{full}); !errors.Is(err, full) {
		t.Errorf("export to a full disk: %v", err)
	}
	if err := journal.Export(t.Context(), j, failingBlobs{j, full}, "s", new(bytes.Buffer)); !errors.Is(err, full) {
		t.Errorf("export from blobs that cannot be read: %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

type failingBlobs struct {
	openmanus.Blobs
	err error
}

func (b failingBlobs) Get(context.Context, openmanus.Ref) (io.ReadCloser, error) { return nil, b.err }
