package journaltest

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

func blobCases() []testCase {
	return []testCase{
		{name: "a string over 8 KiB goes to the blobs and comes back", needs: blobs, run: bigStrings},
		{name: "a blob has the name of its content", needs: blobs, run: blobNames},
		{name: "a blob that is not there is an error", needs: blobs, run: noBlob},
		{name: "many may put one blob at once", needs: blobs, run: putTogether},
		{name: "blobs are seen through another handle", needs: blobs, run: blobsShared},
	}
}

func bigStrings(t testing.TB, open Opener) {
	j := simple(t, open)
	begin(t, j, "s")
	texts := []string{
		strings.Repeat("a", journal.BigString-1), strings.Repeat("b", journal.BigString), strings.Repeat("c", journal.BigString+1),
		strings.Repeat("<é\u2028>", 20_000), strings.Repeat("\x00", 10_000),
	}
	for i, text := range texts {
		add(t, j, "s", openmanus.ModelSaid{Turn: i, Message: llm.Message{Parts: llm.Parts{
			llm.Text{Text: text}, llm.Call{ID: "c", Input: text + "\xff"}, llm.Blob{MIME: "image/png", Data: []byte(text)},
		}}})
	}
	for i, ev := range read(t, j, "s", 1) {
		parts := ev.Body.(openmanus.ModelSaid).Message.Parts
		if parts.Text() != texts[i] || parts[1].(llm.Call).Input != texts[i]+"\xff" || string(parts[2].(llm.Blob).Data) != texts[i] {
			t.Errorf("the strings of %d bytes did not come back", len(texts[i]))
		}
		_, err := openmanus.ReadBlob(t.Context(), j.(openmanus.Blobs), openmanus.RefOf([]byte(texts[i])))
		if kept := err == nil; kept != (len(texts[i]) > journal.BigString) {
			t.Errorf("a string of %d bytes is kept as a blob: %t (%v)", len(texts[i]), kept, err)
		}
	}
}

func blobNames(t testing.TB, open Opener) {
	b := simple(t, open).(openmanus.Blobs)
	for _, data := range [][]byte{{}, {0}, []byte("text"), bytes.Repeat([]byte{0xff, 0, '\n'}, 1<<20)} {
		want := bytes.Clone(data)
		for range 2 {
			ref, err := b.Put(t.Context(), data)
			if err != nil || ref != openmanus.RefOf(want) {
				t.Fatalf("put returned %s, %v, want %s", ref, err, openmanus.RefOf(want))
			}
		}
		clear(data) // the caller may use it again
		got, err := openmanus.ReadBlob(t.Context(), b, openmanus.RefOf(want))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("a blob of %d bytes came back as %d bytes, %v", len(want), len(got), err)
		}
	}
}

func noBlob(t testing.TB, open Opener) {
	b := simple(t, open).(openmanus.Blobs)
	if _, err := b.Get(t.Context(), openmanus.RefOf([]byte("nobody put this"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the error is %v, want fs.ErrNotExist", err)
	}
	for _, ref := range []openmanus.Ref{"", "sha256:", "sha256:../../etc/passwd", "/etc/passwd", "sha256:" + openmanus.Ref(strings.Repeat("Z", 64)), "md5:00"} {
		if r, err := b.Get(t.Context(), ref); err == nil {
			r.Close()
			t.Errorf("there is a blob with the name %q", ref)
		}
	}
}

func putTogether(t testing.TB, open Opener) {
	b := simple(t, open).(openmanus.Blobs)
	data := bytes.Repeat([]byte("one content "), 10_000)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			ref, err := b.Put(t.Context(), data)
			if err != nil {
				t.Errorf("put: %v", err)
				return
			}
			if got, err := openmanus.ReadBlob(t.Context(), b, ref); err != nil || !bytes.Equal(got, data) {
				t.Errorf("a blob that was put is not whole: %d bytes, %v", len(got), err)
			}
		})
	}
	wg.Wait()
}

func blobsShared(t testing.TB, open Opener) {
	dir := t.TempDir()
	one, two := open(t, Options{Dir: dir}), open(t, Options{Dir: dir})
	ref, err := one.(openmanus.Blobs).Put(t.Context(), []byte("shared"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := openmanus.ReadBlob(t.Context(), two.(openmanus.Blobs), ref); err != nil || string(got) != "shared" {
		t.Errorf("the other handle reads %q, %v", got, err)
	}
}
