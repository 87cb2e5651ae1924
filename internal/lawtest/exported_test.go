package lawtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/journal"
)

// plainLines returns the lines of a small export without a checksum, which
// would find everything, but name no line.
func plainLines(t testing.TB) []string {
	t.Helper()
	j := new(journal.Memory)
	ref, err := j.Put(t.Context(), []byte(wholeOutput))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(t.Context(), "s", openmanus.Opened{Flow: "manus", Version: 1}, openmanus.Titled{ID: "1", Title: "a title"},
		openmanus.Noted{ID: "1", Text: "a note"}, openmanus.CallDone{Call: "c", Whole: ref}); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(export(t, j, "s"), "\n")
	lines = lines[:len(lines)-1]
	end := len(lines) - 1
	lines[end] = lines[end][:strings.Index(lines[end], `,"sha256"`)] + "}\n"
	return lines
}

// TestDamageIsNamedWithItsLine damages an export of seven lines: the head,
// events 1 to 4, a blob and the end.
func TestDamageIsNamedWithItsLine(t *testing.T) {
	edit := func(n int, from, to string) func([]string) []string {
		return func(l []string) []string {
			if !strings.Contains(l[n-1], from) {
				panic(l[n-1] + " has no " + from)
			}
			l[n-1] = strings.Replace(l[n-1], from, to, 1)
			return l
		}
	}
	line := func(n int, text string) func([]string) []string {
		return func(l []string) []string { l[n-1] = text; return l }
	}
	for what, tt := range map[string]struct {
		damage func([]string) []string
		says   string
	}{
		"nothing":                   {func(l []string) []string { return nil }, "line 1: the file is empty"},
		"only the head":             {func(l []string) []string { return l[:1] }, "line 1: the file ends with this line: it was cut off"},
		"cut after an event":        {func(l []string) []string { return l[:3] }, "line 3: the file ends with this line"},
		"cut before the end":        {func(l []string) []string { return l[:6] }, "line 6: the file ends with this line"},
		"cut in a line":             {func(l []string) []string { return slices.Concat(l[:3], []string{l[3][:20]}) }, "line 4: the file ends in the middle of it"},
		"no last line end":          {edit(7, "\n", ""), "line 7: the file ends in the middle of it"},
		"NULs at the end":           {func(l []string) []string { return append(l, strings.Repeat("\x00", 512)) }, "line 8: there is a NUL"},
		"NULs for a line":           {edit(4, "a note", "\x00\x00"), "line 4: there is a NUL at byte"},
		"a byte order mark":         {edit(1, "{", "\ufeff{"), "line 1: it begins with a byte order mark"},
		"line ends of Windows":      {edit(1, "\n", "\r\n"), "line 1: it ends with a carriage return"},
		"line ends of Windows late": {edit(5, "\n", "\r\n"), "line 5: it ends with a carriage return"},
		"a line separator inside":   {edit(4, "a note", "a\u2028note"), "line 4: it has a Unicode line or paragraph separator"},
		"a paragraph separator":     {edit(2, "\n", "\u2029\n"), "line 2: it has a Unicode line or paragraph separator"},
		"an empty line":             {edit(3, "\n", "\n\n"), "line 4: it is empty"},
		"an empty line at the end":  {func(l []string) []string { return append(l, "\n") }, "line 8: it is empty"},
		"two lines joined":          {edit(3, "\n", ""), "line 3: something follows its JSON value"},
		"two lines with a comma":    {edit(3, "\n", ","), "line 3: something follows its JSON value"},
		"an event twice":            {func(l []string) []string { return slices.Concat(l[:4], l[3:]) }, "line 5: event 3 follows event 3: it is there twice"},
		"an event missing":          {func(l []string) []string { return slices.Concat(l[:2], l[3:]) }, "line 3: event 3 follows event 1: what was between is missing"},
		"the first event missing":   {func(l []string) []string { return slices.Concat(l[:1], l[2:]) }, "line 2: event 2 follows event 0"},
		"the last event missing":    {func(l []string) []string { return slices.Concat(l[:4], l[5:]) }, "line 6: it counts 4 events and 1 blobs, and there are 3 and 1"},
		"two events swapped":        {func(l []string) []string { l[2], l[3] = l[3], l[2]; return l }, "line 3: event 3 follows event 1"},
		"the blob missing":          {func(l []string) []string { return slices.Concat(l[:5], l[6:]) }, "line 6: it counts 4 events and 1 blobs, and there are 4 and 0"},
		"the blob twice":            {func(l []string) []string { return slices.Concat(l[:6], l[5:]) }, "line 7: the blob sha256:"},
		"the blob too early":        {func(l []string) []string { l[4], l[5] = l[5], l[4]; return l }, "line 6: an event stands after the blobs"},
		"the blob before all":       {func(l []string) []string { l[1], l[5] = l[5], l[1]; return l }, "line 2: a blob stands before the events"},
		"another blob":              {edit(6, `"data":"`, `"data":"AAAA`), "line 6: its content is not that of the blob"},
		"a blob that is no base64":  {edit(6, `"data":"`, `"data":"*`), "line 6: it is not JSON, or not as it should be"},
		"a key that is another":     {edit(4, `note/1`, `note/2`), `line 4: its key is "note/2", and that of its body "note/1"`},
		"a key that is taken":       {func(l []string) []string { return line(4, strings.Replace(l[2], `"seq":2`, `"seq":3`, 1))(l) }, `line 4: its key "title/1" is that of event 2`},
		"opened too late":           {func(l []string) []string { return line(4, strings.Replace(l[1], `"seq":1`, `"seq":3`, 1))(l) }, `line 4: its key "open" is that of event 1`},
		"not opened":                {line(2, `{"seq":1,"time":"2026-01-02T03:04:05Z","type":"noted","key":"note/0","body":{"id":"0","text":"x"}}`+"\n"), "line 2: a session has one opened event"},
		"provisional":               {line(3, `{"seq":2,"time":"2026-01-02T03:04:05Z","type":"typing","body":{"turn":0,"part":0}}`+"\n"), "line 3: it is an event of a kind that is never stored"},
		"a type without a name":     {edit(3, `"type":"titled"`, `"type":""`), "line 3: it is an event of a kind that is never stored"},
		"no time":                   {edit(3, `"time":`, `"when":`), "line 3: it has no time"},
		"no JSON":                   {edit(3, `"seq"`, `seq`), "line 3: it is not JSON"},
		"a field of another type":   {edit(3, `"title":"a title"`, `"title":7`), "line 3: it is not JSON, or not as it should be"},
		"something else":            {line(3, `{"hello":"world"}`+"\n"), "line 3: it is neither an event nor a blob nor the end"},
		"an array":                  {line(3, `[1,2]`+"\n"), "line 3: it is not JSON, or not as it should be"},
		"another file":              {func(l []string) []string { return []string{`{"name":"package.json"}` + "\n"} }, "line 1: it is not the head of an exported session"},
		"an event for a head":       {func(l []string) []string { return l[1:] }, "line 1: it is not the head of an exported session"},
		"a newer version":           {edit(1, `"version":2`, `"version":3`), "line 1: it is of version 3 of the format, and this program reads up to 2: use a newer one"},
		"a newer version inside":    {edit(2, `"version":1`, `"version":3`), "line 2: it is of version 3 of the format"},
		"no version":                {edit(1, `"version":2`, `"version":0`), "line 1: there is no version 0"},
		"no name":                   {edit(1, `"session":"s"`, `"session":""`), "line 1: it names no session"},
		"two files in one":          {func(l []string) []string { return slices.Concat(l[:6], l) }, `line 7: it is a "session" where`},
		"two files, both whole":     {func(l []string) []string { return slices.Concat(l, l) }, "line 8: something stands after the end"},
		"no events":                 {func(l []string) []string { return []string{l[0], `{"openmanus":"end","events":0,"blobs":0}` + "\n"} }, "line 2: there are no events"},
		"a flipped bit":             {func(l []string) []string { return edit(4, "a note", "a nota")(withSum(l)) }, "line 7: the file is not as it was written: its checksum differs"},
	} {
		t.Run(what, func(t *testing.T) {
			file := strings.Join(tt.damage(slices.Clip(plainLines(t))), "")
			j := new(journal.Memory)
			_, err := journal.Import(t.Context(), j, j, "", strings.NewReader(file))
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("the error is\n%v, want one that says\n%s", err, tt.says)
			}
			if n := len(eventsOf(t, j, "s")); n > 0 {
				t.Errorf("%d events were imported", n)
			}
			if _, err := openmanus.ReadBlob(t.Context(), j, openmanus.RefOf([]byte(wholeOutput))); err == nil {
				t.Error("the blob was imported")
			}
		})
	}
}

// withSum puts the checksum back.
func withSum(lines []string) []string {
	end := len(lines) - 1
	sum := openmanus.RefOf([]byte(strings.Join(lines[:end], "")))
	lines[end] = strings.Replace(lines[end], "}", fmt.Sprintf(`,"sha256":"%s"}`, strings.TrimPrefix(string(sum), "sha256:")), 1)
	return lines
}

func TestExportWithoutAChecksumIsTaken(t *testing.T) {
	for what, lines := range map[string][]string{"without": plainLines(t), "with": withSum(plainLines(t))} {
		j := new(journal.Memory)
		if _, err := journal.Import(t.Context(), j, j, "", strings.NewReader(strings.Join(lines, ""))); err != nil {
			t.Errorf("%s a checksum: %v", what, err)
		}
	}
}

func TestExportThatWasCutAnywhereIsNoticed(t *testing.T) {
	file := strings.Join(plainLines(t), "")
	for n := range len(file) {
		j := new(journal.Memory)
		if _, err := journal.Import(t.Context(), j, j, "", strings.NewReader(file[:n])); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Fatalf("cut after %d of %d bytes: %v", n, len(file), err)
		}
	}
}

func TestExportWithAnyBitFlippedIsNoticed(t *testing.T) {
	file := []byte(strings.Join(withSum(plainLines(t)), ""))
	end := bytes.LastIndex(file, []byte(`{"openmanus":"end"`))
	for n := range end {
		file[n] ^= 1
		j := new(journal.Memory)
		if _, err := journal.Import(t.Context(), j, j, "", bytes.NewReader(file)); err == nil {
			t.Fatalf("byte %d was changed, and nobody noticed", n)
		}
		file[n] ^= 1
	}
}

func TestImportOfABigSession(t *testing.T) {
	j := new(journal.Memory)
	bodies := []openmanus.Body{openmanus.Opened{}}
	for i := range 10_000 / testbed.Slower {
		bodies = append(bodies, openmanus.Noted{ID: fmt.Sprint(i), Text: strings.Repeat("words ", 300)})
	}
	if _, err := j.Append(t.Context(), "s", bodies...); err != nil {
		t.Fatal(err)
	}
	file := export(t, j, "s")
	k := new(journal.Memory)
	if _, err := journal.Import(t.Context(), k, k, "", strings.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	if export(t, k, "s") != file {
		t.Errorf("a file of %d bytes did not come back", len(file))
	}
}

func TestImportEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	j := new(journal.Memory)
	if _, err := journal.Import(ctx, j, j, "", strings.NewReader(strings.Join(plainLines(t), ""))); !errors.Is(err, context.Canceled) {
		t.Errorf("import: %v", err)
	}
}
