package browser

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// largePage is a page of so many nodes.
func largePage(nodes int) string {
	var b strings.Builder
	b.WriteString("<title>Large</title><ul>")
	for i := range nodes / 8 {
		fmt.Fprintf(&b, "<li><a href=#%d>Link %d</a> <span>some words</span> <button>Do %d</button></li>", i, i, i)
	}
	b.WriteString("</ul>")
	return b.String()
}

func callOf(input string) openmanus.Call {
	return openmanus.Call{Call: llm.Call{ID: "c", Name: "browser_use", Input: input}, Session: "s", Blobs: new(journal.Memory), Live: io.Discard}
}

// BenchmarkState looks at a page of 1,600 nodes: at most 60 ms are wanted.
func BenchmarkState(b *testing.B) {
	url := site(b, map[string]http.HandlerFunc{"/": serve(largePage(1600))})
	ctx, tab := open(b, url+"/")
	for b.Loop() {
		if p := look(b, ctx, tab); len(p.String()) == 0 {
			b.Fatal("nothing")
		}
	}
}

// BenchmarkClick finds out where an element can be hit, and clicks there: at
// most 10 ms are wanted.
func BenchmarkClick(b *testing.B) {
	url := site(b, map[string]http.HandlerFunc{"/": serve("<button onclick='n=(window.n||0)+1'>OK</button>")})
	ctx, tab := open(b, url+"/")
	el := find(b, look(b, ctx, tab), "OK")
	for b.Loop() {
		p, err := tab.reach(ctx, el, nil)
		if err == nil {
			err = tab.mouse(ctx, presses(p, Button{})...)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkClickAndSettle is the whole action, with the waiting for what it
// sets off.
func BenchmarkClickAndSettle(b *testing.B) {
	url := site(b, map[string]http.HandlerFunc{"/": serve("<button>OK</button>")})
	ctx, tab := open(b, url+"/")
	el := find(b, look(b, ctx, tab), "OK")
	for b.Loop() {
		if _, err := tab.Click(ctx, el, Button{}); err != nil {
			b.Fatal(err)
		}
	}
}
