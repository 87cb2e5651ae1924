package main

import (
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// checkSite checks that every link of a site leads to a file, and to a part that is there; that every page
// can be reached from the first one; and that nothing is loaded from elsewhere.
func checkSite(t *testing.T, dir string) {
	t.Helper()
	type page struct{ links, loads, ids []string }
	pages := make(map[string]page)
	files := make(map[string]bool)
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		at, _ := filepath.Rel(dir, name)
		files[filepath.ToSlash(at)] = true
		if filepath.Ext(name) != ".html" {
			return nil
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		doc, err := html.Parse(f)
		if err != nil {
			return err
		}
		var p page
		for n := range doc.Descendants() {
			for _, a := range n.Attr {
				switch a.Key {
				case "id":
					p.ids = append(p.ids, a.Val)
				case "href":
					if n.Data == "link" {
						p.loads = append(p.loads, a.Val)
					} else {
						p.links = append(p.links, a.Val)
					}
				case "src":
					p.loads = append(p.loads, a.Val)
				}
			}
			if n.Type == html.ElementNode && n.Data == "script" {
				t.Errorf("%s has a script", at)
			}
		}
		pages[filepath.ToSlash(at)] = p
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	seen, next := map[string]bool{"index.html": true}, []string{"index.html"}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		p := pages[name]
		for _, to := range append(p.links, p.loads...) {
			u, err := url.Parse(to)
			if err != nil {
				t.Errorf("%s: %q: %v", name, to, err)
				continue
			}
			if u.Scheme != "" {
				continue
			}
			file := name
			if u.Path != "" {
				file = path.Join(path.Dir(name), u.Path)
			}
			if !files[file] {
				t.Errorf("%s: %q leads nowhere", name, to)
				continue
			}
			if u.Fragment != "" && !strings.Contains("\n"+strings.Join(pages[file].ids, "\n")+"\n", "\n"+u.Fragment+"\n") {
				t.Errorf("%s: %q: there is no such part", name, to)
			}
			if _, isPage := pages[file]; isPage && !seen[file] {
				seen[file] = true
				next = append(next, file)
			}
		}
		for _, to := range p.loads {
			if strings.Contains(to, "//") {
				t.Errorf("%s loads %q from elsewhere", name, to)
			}
		}
	}
	for name := range pages {
		if !seen[name] {
			t.Errorf("no link leads to %s", name)
		}
	}
}
