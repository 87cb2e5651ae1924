package browser

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// Without the accessibility tree, the same is known of elements as with it.
func TestSameAsWholeTree(t *testing.T) {
	pages := map[string]http.HandlerFunc{"/large": serve(largePage(400)), "/odd": serve(oddNames)}
	files, err := filepath.Glob("testdata/runs/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if path, ok := strings.CutPrefix(f.Name, "page "); ok && !strings.Contains(string(f.Data), "$SITE") && !strings.Contains(string(f.Data), "/hang.js") {
				pages["/"+filepath.Base(name)+path+"x"] = serve(string(f.Data))
			}
		}
	}
	url := site(t, pages)
	ctx, tab := open(t, "about:blank")
	usual := shared(t).maxSingle
	defer func() { shared(t).maxSingle = usual }()
	for path := range pages {
		if _, err := tab.Go(ctx, url+path); err != nil {
			t.Fatal(err)
		}
		var got [2][]string
		for i, single := range []int{-1, 1 << 20} {
			shared(t).maxSingle = single
			for _, e := range look(t, ctx, tab).Elements {
				got[i] = append(got[i], e.String())
			}
		}
		if !slices.Equal(got[0], got[1]) {
			t.Errorf("%s: the whole tree says\n%s\nand without it there is\n%s", path, strings.Join(got[0], "\n"), strings.Join(got[1], "\n"))
		}
	}
}

// oddNames are elements whose names are not the text that is in them, or not
// as it stands.
const oddNames = `<title>Odd</title>
<style>.up { text-transform: uppercase } .before::before { content: "Before " } .gone { visibility: hidden }</style>
<button class=up>upper</button><button class=before>after</button><button title=T>text</button><button aria-label=L>text</button>
<button>one <b>two</b> three</button><button><b>bold</b></button><button>  spaces
around  </button><button><img alt=image src=data:,>text</button><button disabled>disabled</button>
<label>Label <button>labelled</button></label><label for=b>For</label><button id=b>named</button><button id=c>focused</button>
<a href=/>link</a><a>no link</a><a href=/><span class=gone>hidden</span></a><a href=/ role=button>as button</a><a href=/ aria-expanded=false>more</a>
<div aria-hidden=true><button>unheard</button></div><div inert><button>inert</button></div>
<span id=r1>Ref</span><button aria-labelledby=r1>text</button><div role="foo button" tabindex=0>fallback</div>
<fieldset disabled><button>in a disabled group</button></fieldset><x-button>custom</x-button><svg width=50 height=20><a href=/><text y=15>svg link</text></a></svg>
<div role=checkbox aria-checked=true tabindex=0>check</div><details><summary>summary</summary>more</details>
<button popovertarget=p>popover</button><div popover id=p>P</div><button>two<br>lines</button><button style="display:block">block</button>
<script>customElements.define("x-button", class extends HTMLElement { constructor() { super(); this.attachInternals().role = "button"; this.tabIndex = 0 } });
c.focus();</script>`
