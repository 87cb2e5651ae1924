package lawtest_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// golden are exports that were written by released versions. They are never
// changed: what could be read once is read for ever. A file of a version that
// is no longer the one that is written need not be exported as the same bytes.
func golden(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "journals", "v*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := make(map[string][]byte)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = data
	}
	return all
}

func TestJournalsOfEveryVersionAreRead(t *testing.T) {
	outcomes := map[string]struct {
		status openmanus.Status
		answer string
	}{
		"v1-compacted.jsonl":    {openmanus.Finished, "March, May and October."},
		"v1-conversation.jsonl": {openmanus.Finished, "March, May and October were the best months."},
		"v1-evaluation.jsonl":   {openmanus.Finished, "It is 5."},
		"v1-flow.jsonl":         {openmanus.Finished, "The report is written."},
		"v1-fork.jsonl":         {openmanus.Halted, "I will look at the file."},
		"v1-future.jsonl":       {openmanus.Running, ""},
		"v1-long.jsonl":         {openmanus.Finished, "It prints the same line over and over."},
		"v2-called.jsonl":       {openmanus.Finished, "I have read the rules."},
		"v2-modes.jsonl":        {openmanus.Finished, "The file is there now."},
		"v2-softened.jsonl":     {openmanus.Finished, "Done."},
		"v2-rewound.jsonl":      {openmanus.Finished, "I will not."},
	}
	seen := make(map[string]bool)
	for name, data := range golden(t) {
		m := new(journal.Memory)
		id, err := journal.Import(t.Context(), m, m, "", bytes.NewReader(data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var back bytes.Buffer
		if err := journal.Export(t.Context(), m, m, id, &back); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if current := fmt.Sprintf("v%d-", openmanus.FormatVersion); strings.HasPrefix(name, current) && !bytes.Equal(back.Bytes(), data) {
			t.Errorf("%s is now exported as\n%s", name, back.Bytes())
		}
		for ev := range m.Events(t.Context(), id, 0) {
			seen[openmanus.TypeName(ev.Body)] = true
		}
		s, err := openmanus.Load(t.Context(), m, id)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if want, ok := outcomes[name]; ok && (s.Status() != want.status || !strings.HasPrefix(s.Answer, want.answer)) {
			t.Errorf("%s is %s with the answer %q, want %s with %q", name, s.Status(), s.Answer, want.status, want.answer)
		}
	}
	for _, of := range openmanus.BodyTypes() {
		if of.Zero.Key() != "" && !seen[of.Name] {
			t.Errorf("no file has an event of type %s", of.Name)
		}
	}
}

// TestFormatIsWrittenDown looks for every type, its key and its fields in its
// section of docs/events.md.
func TestFormatIsWrittenDown(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "events.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range openmanus.BodyTypes() {
		name, body := of.Name, of.Zero
		_, section, ok := strings.Cut(string(data), "\n### `"+name+"`")
		if !ok {
			t.Errorf("docs/events.md has no section on %s", name)
			continue
		}
		section, _, _ = strings.Cut(section, "\n#")
		if prefix, _, _ := strings.Cut(body.Key(), "/"); !strings.Contains(section, "`"+prefix) {
			t.Errorf("the section on %s does not name its key %q", name, body.Key())
		}
		for _, field := range fields(reflect.TypeOf(body)) {
			if !strings.Contains(section, "`"+field+"`") {
				t.Errorf("the section on %s does not name its field %s", name, field)
			}
		}
	}
	for _, of := range []any{openmanus.ToolSpec{}, openmanus.Argument{}, openmanus.Hints{}, openmanus.Limits{}, openmanus.Prices{}, openmanus.Window{}, openmanus.Elision{}, openmanus.Origin{}, openmanus.Configured{}.Settings, openmanus.ModelSaid{}.Usage, openmanus.ModelSaid{}.Message} {
		for _, field := range fields(reflect.TypeOf(of)) {
			if !strings.Contains(string(data), "`"+field+"`") {
				t.Errorf("docs/events.md does not name the field %s of %T", field, of)
			}
		}
	}
}

// TestTableOfBodies compares the table in docs/events.md with the types.
func TestTableOfBodies(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "events.md"))
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, of := range openmanus.BodyTypes() {
		if of.Zero.Key() == "" {
			continue
		}
		person, quiet := "", ""
		if openmanus.DoneByPerson(of.Zero) {
			person = "unless it is the gate's"
		}
		if of.Person {
			person = "yes"
		}
		if of.Quiet {
			quiet = "yes"
		}
		body := reflect.TypeOf(of.Zero)
		blobs := fieldsWith(body, func(f reflect.StructField) bool {
			return f.Type == reflect.TypeFor[openmanus.Ref]() || f.Type == reflect.TypeFor[[]openmanus.Ref]()
		})
		searched := fieldsWith(body, func(f reflect.StructField) bool { return f.Tag.Get("search") != "" })
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s | %s |\n", of.Name, person, quiet, strings.Join(blobs, ", "), strings.Join(searched, ", "))
	}
	if !strings.Contains(string(data), "|---|\n"+want.String()+"\n") {
		t.Errorf("the table of bodies in docs/events.md is to have these lines:\n%s", want.String())
	}
}

// fieldsWith returns the names in JSON of the fields of a struct, and of those in it, that is
// reports true for.
func fieldsWith(t reflect.Type, is func(reflect.StructField) bool) (names []string) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if is(f) {
			names = append(names, "`"+name+"`")
		}
		if in := f.Type; in.Kind() == reflect.Slice && in.Elem().Kind() == reflect.Struct {
			for _, n := range fieldsWith(in.Elem(), is) {
				names = append(names, "`"+name+"."+n[1:])
			}
		}
	}
	return names
}

// fields returns the names of a struct's fields in JSON.
func fields(t reflect.Type) (names []string) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous {
			names = append(names, fields(f.Type)...)
		} else {
			names = append(names, name)
		}
	}
	return names
}
