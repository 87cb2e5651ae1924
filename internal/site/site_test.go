package site_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/openmanus-go/openmanus/internal/site"
)

// TestSite writes a small site, and says what its pages contain.
func TestSite(t *testing.T) {
	s := &site.Site{
		Pages: fstest.MapFS{
			"README.md": {Data: []byte("# All\n\n## Start\n\n- [Install & more](install.md): how\n- [Run](commands/run.md)\n\nNot in the navigation: [elsewhere](https://example.org/x).\n")},
			"install.md": {Data: []byte("# Install\n\n## A — part\n\n## `[x.NAME]`, twice\n\n## `[x.NAME]`, twice\n\n" +
				"[here](#xname-twice-1) [all](README.md#all) [run](commands/run.md) ![one](one.svg) [code](../cmd/main.go#L1) [gallery](gallery/README.md)\n\n" +
				"| a | b |\n|---|---|\n| <script>alert(1)</script> | `c` |\n\n```sh\necho \"<b>\"\n```\n")},
			"one.svg": {Data: []byte("<svg/>")},
		},
		More:    map[string]string{"commands/run.md": "# run\n\n[back](../install.md)\n"},
		Version: "v1 <x>", Source: "https://example.org/tree/",
	}
	dir := t.TempDir()
	if err := s.Write(dir); err != nil {
		t.Fatal(err)
	}
	for name, wants := range map[string][]string{
		"index.html": {`<a href="install.html">Install &amp; more</a>`, `<h2>Start</h2>`, `<a href="https://example.org/x">elsewhere</a>`, "<small>v1 &lt;x&gt;</small>"},
		"install.html": {
			`<title>Install · OpenManus</title>`, `id="a--part"`, `id="xname-twice"`, `id="xname-twice-1"`, `<a href="#xname-twice-1">here</a>`, `<a href="index.html#all">all</a>`,
			`<a href="commands/run.html">run</a>`, `<img src="one.svg" alt="one">`, `<a href="https://example.org/tree/cmd/main.go#L1">code</a>`,
			`<a href="https://example.org/tree/docs/gallery/README.md">gallery</a>`, `<li><a href="install.html" aria-current="page">`, "echo &#34;&lt;b&gt;&#34;", "&lt;script&gt;alert(1)&lt;/script&gt;", `<li><a href="#a--part">A — part</a></li>`,
		},
		"commands/run.html": {`<a href="../install.html">back</a>`, `href="../site.css"`, `<a href="../index.html">OpenManus</a>`},
		"one.svg":           {"<svg/>"},
		"site.css":          {"prefers-color-scheme"},
	} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(data), want) {
				t.Errorf("%s lacks %q:\n%s", name, want, data)
			}
		}
		if strings.Contains(string(data), "<script") {
			t.Errorf("%s has a script", name)
		}
		if strings.Contains(name, "index") && strings.Contains(string(data), ">elsewhere</a></li>") {
			t.Error("a link outside of the lists is in the navigation")
		}
	}
	if names, err := s.Names(); err != nil || strings.Join(names, " ") != "README.md commands/run.md install.md" {
		t.Errorf("the pages are %v, %v", names, err)
	}
}
