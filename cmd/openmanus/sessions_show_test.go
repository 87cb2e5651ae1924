package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestShow plays the scripts in testdata/show and compares what sessions show
// prints then with what stands beside them.
func TestShow(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "show", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			d := newDesk(t, nil)
			var script txtar.Archive
			want := ""
			for _, f := range ar.Files {
				if f.Name == "shown" {
					want = string(f.Data)
				} else {
					script.Files = append(script.Files, f)
				}
			}
			if err := os.WriteFile(filepath.Join(d.dir, "script.txt"), txtar.Format(&script), 0o600); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(ar.Comment)) { // what a person types
				if args, ok := strings.CutPrefix(line, "$ openmanus "); ok {
					d.run(strings.Split(strings.TrimSpace(args), " ")...)
				}
			}
			if got := d.timeless(d.must("sessions", "show", "last")); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

var (
	aSession = regexp.MustCompile(`\d{8}-\d{4}-[a-z2-7]{8}`)
	aTime    = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d`)
	tokensIn = regexp.MustCompile(`\d+ tokens in`)
)

// timeless is text without what differs from run to run.
func (d *desk) timeless(text string) string {
	text = strings.ReplaceAll(text, d.dir, "DIR")
	text = tokensIn.ReplaceAllString(text, "N tokens in")
	return aTime.ReplaceAllString(aSession.ReplaceAllString(text, "ID"), "TIME")
}
