package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/store"
)

const goldens = "../../host/testdata"

// golden returns an export with its paths below dir, and its
// checksum made to fit.
func golden(t *testing.T, file, dir string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.ToSlash(dir)
	paths := strings.NewReplacer("/golden", dir, url.QueryEscape("/golden"), url.QueryEscape(dir)) // in names of flows, too
	head, last, ok := strings.Cut(paths.Replace(string(data)), `{"openmanus":"end"`)
	if !ok {
		t.Fatalf("%s has no end", file)
	}
	var end map[string]any
	if err := json.Unmarshal([]byte(`{"openmanus":"end"`+last), &end); err != nil {
		t.Fatal(err)
	}
	return head + fmt.Sprintf(`{"openmanus":"end","events":%v,"blobs":%v,"sha256":"%x"}`, end["events"], end["blobs"], sha256.Sum256([]byte(head))) + "\n"
}

// goldenDesk returns a desk whose store has the golden sessions with the name and
// the scripts that their models play, and the id of the first of them.
func goldenDesk(t *testing.T, version, name string) (*desk, string) {
	t.Helper()
	d := newDesk(t, nil)
	d.env["OPENMANUS_DATA_DIR"] = filepath.Join(d.dir, "home/data/openmanus")
	if err := os.CopyFS(d.dir, os.DirFS(filepath.Join(goldens, version))); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(d.dir, "ws"), 0o755); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(d.env["OPENMANUS_DATA_DIR"], nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	files, err := filepath.Glob(filepath.Join(goldens, version, name+"*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden journals of %s: %v", name, err)
	}
	slices.SortFunc(files, func(a, b string) int { return len(b) - len(a) }) // children first
	var id string
	for _, f := range files {
		if id, err = journal.Import(t.Context(), db, db, "", strings.NewReader(golden(t, f, d.dir))); err != nil {
			t.Fatal(err)
		}
	}
	return d, id
}

// Sessions of every version of the format list, show, export, and go on with the
// agent that they were opened with.
func TestGoldenSessions(t *testing.T) {
	for name, want := range map[string]struct {
		approve []string // of which sessions calls are approved before it is resumed, below the first
		prompt  string   // said when it is resumed
		answer  string
		begun   bool // an evaluation: its copies are there
	}{
		"run":      {approve: []string{""}, answer: "It is done."},
		"landlock": {prompt: "And now?", answer: "It is done."},
		"schema":   {prompt: "Again.", answer: `{"months": ["2025-06"]}`},
		"delegate": {approve: []string{".c0-1"}, answer: "It is touched."},
		"flow":     {approve: []string{".step-1-1"}, answer: "Plan completed:"},
		"evaluate": {approve: []string{".attempt-1-1", ".attempt-1-2"}, answer: "Evaluation completed:", begun: true},
		"research": {prompt: "More.", answer: "The report is in report.md."},
	} {
		for _, version := range []string{"v1", "v2"} {
			t.Run(version+" "+name, func(t *testing.T) {
				d, id := goldenDesk(t, version, name)
				if want.begun {
					for _, dir := range []string{"before", "attempt-1"} {
						if err := os.MkdirAll(filepath.Join(d.env["OPENMANUS_DATA_DIR"], "attempts", id, "1", dir), 0o700); err != nil {
							t.Fatal(err)
						}
					}
				}
				if out := d.must("sessions", "list", "--all"); !strings.Contains(out, id) {
					t.Errorf("list:\n%s", out)
				}
				for _, c := range []string{"show", "log", "audit", "export"} {
					if out := d.must("sessions", c, id); out == "" {
						t.Errorf("sessions %s prints nothing", c)
					}
				}
				resume := []string{"sessions", "resume", id}
				if want.prompt != "" {
					resume = append(resume, want.prompt)
				}
				if strings.Contains(name, "landlock") {
					resume = append(resume, "--approve", "all")
				}
				var out, errs string
				for _, below := range append(want.approve, "") {
					if below != "" || len(want.approve) == 1 && want.approve[0] == "" {
						d.run("sessions", "approve", id+below)
					}
					out, errs, _ = d.run(resume...)
				}
				for range 4 { // what else is to be approved
					if strings.Contains(out, want.answer) {
						return
					}
					d.run("sessions", "approve", id)
					out, errs, _ = d.run("sessions", "resume", id)
				}
				t.Errorf("resume:\n%s%s", out, errs)
			})
		}
	}
}
