package server

import (
	"bytes"
	"compress/gzip"
	"regexp"
	"testing"
)

// maxFirstLoad is how many bytes of gzip a browser fetches before the page is there, and all that
// belongs to it but what is fetched when it is needed.
const maxFirstLoad = 250_000

// TestFirstLoad: the page is small. Files that these files load at once count with them.
func TestFirstLoad(t *testing.T) {
	atOnce := regexp.MustCompile(`(?:src|href)="\./([\w.-]+)"|url\(\.?/?([\w.-]+\.woff2)\)|(?:^|;)import[^(;]*?["'` + "`" + `]\./([\w.-]+)["'` + "`" + `]|new SharedWorker\(new URL\(["'` + "`" + `]/?(?:\./)?([\w.-]+)`)
	total, seen := 0, make(map[string]bool)
	for todo := []string{"index.html", "feed.js", "sw.js"}; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		data, err := dist.ReadFile("web/dist/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		total += packed.Len()
		t.Logf("%s: %d bytes", name, packed.Len())
		for _, m := range atOnce.FindAllStringSubmatch(string(data), -1) {
			for _, next := range m[1:] {
				if next != "" {
					todo = append(todo, next)
				}
			}
		}
	}
	for _, name := range []string{"app.js", "index.css", "geist-latin.woff2"} {
		if !seen[name] {
			t.Errorf("%s is not among what is fetched", name)
		}
	}
	if total > maxFirstLoad {
		t.Errorf("%d bytes, of at most %d", total, maxFirstLoad)
	}
}
