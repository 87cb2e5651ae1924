package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/sandbox/egress"
)

// A call reaches a server on this machine only with the scope that has it, which is
// what the user allowed; what it says is private then.
func TestLocalServers(t *testing.T) {
	site := func(text string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(text)) }))
		t.Cleanup(s.Close)
		return s.URL
	}
	mine, other := site("<p>This is my own site.</p>"), site("<p>This is another one.</p>")
	d, err := egress.New(egress.Policy{Mode: egress.Allow})
	if err != nil {
		t.Fatal(err)
	}
	r := &Reader{Client: d.Client(), Local: d.Local}
	host := func(address string) string { return strings.TrimPrefix(address, "http://") }
	for _, c := range []struct {
		tool                openmanus.Tool
		input, scope, given string
		want                string // in the text, or of the error
	}{
		{NewFetch(r, nil), `{"url":"` + mine + `/"}`, host(mine), host(mine), "my own site"},
		{NewFetch(r, nil), `{"url":"` + mine + `/"}`, host(mine), "", "is a loopback address"},
		{NewFetch(r, nil), `{"url":"` + mine + `/"}`, host(mine), host(other), "is a loopback address"},
		{NewFetch(r, nil), `{"url":"http://93.184.215.14/"}`, "", "", ""},
		{NewCrawl(r), `{"urls":["` + mine + `"],"word_count_threshold":1}`, host(mine), host(mine), "my own site"},
		{NewCrawl(r), `{"urls":["` + mine + `","` + other + `","` + mine + `/b"],"word_count_threshold":1}`, host(mine) + ", " + host(other), host(mine) + ", " + host(other), "another one"},
		{NewCrawl(r), `{"urls":["` + mine + `","http://93.184.215.14/"]}`, "", "", ""},
	} {
		call := openmanus.Call{Call: llm.Call{Name: c.tool.Spec().Name, Input: c.input}, Blobs: new(journal.Memory), Live: &strings.Builder{}}
		scope, err := c.tool.(openmanus.Scoper).Scope(t.Context(), call)
		if err != nil || scope != c.scope {
			t.Errorf("%s: scope %q, %v", c.input, scope, err)
		}
		if c.want == "" {
			continue // it goes elsewhere
		}
		call.Scope = c.given
		res, err := c.tool.Run(t.Context(), call)
		said := text(res)
		if err != nil {
			said += err.Error()
		}
		if !strings.Contains(said, c.want) {
			t.Errorf("%s, allowed %q: %s", c.input, c.given, said)
		}
		for _, src := range res.Sources {
			if src.Trusted || src.Private != (c.given != "") {
				t.Errorf("%s: %+v", c.input, src)
			}
		}
	}
}
