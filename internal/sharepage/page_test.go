package sharepage

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/net/html"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// journal is events in order.
func journal(bodies ...openmanus.Body) iter.Seq2[openmanus.Event, error] {
	return func(yield func(openmanus.Event, error) bool) {
		for i, b := range bodies {
			if !yield(openmanus.Event{Seq: int64(i + 1), Time: time.Date(2026, 11, 23, 8, 0, i, 0, time.UTC), Body: b}, nil) {
				return
			}
		}
	}
}

func opened() []openmanus.Body {
	return []openmanus.Body{
		openmanus.Opened{Flow: "openmanus", Version: openmanus.FormatVersion},
		openmanus.Configured{Spec: openmanus.Spec{Model: "scripted:x", Workspace: "/w"}},
	}
}

func user(id, text string) openmanus.Body {
	return openmanus.UserSaid{ID: id, Message: llm.Say(llm.User, text)}
}

func agent(turn int, re int64, text string, calls ...llm.Call) openmanus.Body {
	m := llm.Say(llm.Assistant, text)
	for _, c := range calls {
		m.Parts = append(m.Parts, c)
	}
	return openmanus.ModelSaid{Turn: turn, Re: re, Message: m}
}

func written(t *testing.T, s Session) string {
	t.Helper()
	var b strings.Builder
	if err := Write(context.Background(), &b, s); err != nil {
		t.Fatal(err)
	}
	harmless(t, b.String())
	return b.String()
}

// may is what a page may have: elements, and attributes with what their values begin with.
var (
	mayElements = strings.Fields(`html head meta title style body main header section article details summary div p h1 h2 h3 h4 h5 h6 small code pre span
		b i em strong del ins ul ol li a img table thead tbody tr th td blockquote br hr math mrow mi mo mn mtext mspace mfrac msqrt mroot msub msup
		msubsup munder mover munderover mtable mtr mtd`)
	mayValues = map[string][]string{
		"src": {"data:image/"}, "href": {"https://", "http://", "mailto:", "#file-", "data:application/octet-stream;base64,"}, "class": nil, "id": {"file-"}, "alt": nil, "title": nil, "rel": nil, "download": nil, "name": nil, "content": nil, "charset": nil, "lang": nil,
		"http-equiv": {"Content-Security-Policy"}, "aria-label": nil, "align": nil, "start": nil, "display": nil,
		"accent": nil, "linethickness": nil, "width": nil,
	}
)

// harmless fails if anything on the page could run or load something: it knows what a page may have.
func harmless(t *testing.T, page string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	elements := make(map[string]bool)
	for _, e := range mayElements {
		elements[e] = true
	}
	for n := range doc.Descendants() {
		if n.Type == html.CommentNode {
			t.Errorf("a comment: %q", n.Data)
		}
		if n.Type != html.ElementNode {
			continue
		}
		if !elements[n.Data] {
			t.Errorf("the element <%s>", n.Data)
		}
		for _, a := range n.Attr {
			begins, known := mayValues[a.Key]
			fits := len(begins) == 0
			for _, begin := range begins {
				fits = fits || strings.HasPrefix(a.Val, begin)
			}
			if !known || !fits || n.Data == "a" && strings.HasPrefix(a.Val, "data:") && n.Attr[0].Key != "download" {
				t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
			}
		}
	}
}

const barChart = `{"kind":"bar","title":"Best months","x":{"kind":2,"labels":["May","June"]},"y":{"kind":0},"series":[{"name":"Revenue","x":[0,1],"y":[271.3,428]}]}`

// TestPage is a session with everything that people share.
func TestPage(t *testing.T) {
	diffed, err := json.Marshal(map[string]string{"path": "src/a.go", "change": "modified", "diff": "@@ -1 +1 @@\n-package b\n+package a\n"})
	if err != nil {
		t.Fatal(err)
	}
	bodies := append(opened(), user("1", "Find the best month\u202e <b>now</b>"),
		agent(0, 3, "First a look: $$\\frac{a}{b^2}$$ and \\(x_1\\), for $5 or $6.\n\n```go\nfunc main() { return \"x\" } // done\n```\n",
			llm.Call{ID: "c1", Name: "bash", Input: `{"command":"make <all>"}`}, llm.Call{ID: "c2", Name: "str_replace_editor", Input: `{"command":"str_replace","path":"src/a.go"}`}),
		openmanus.Ruled{Call: "c1", Allow: false, By: "ann", Reason: "Not now"}, openmanus.CallDone{Call: "c1", Parts: llm.Parts{llm.Text{Text: "denied"}}, IsError: true},
		openmanus.Ruled{Call: "c2", Allow: true, By: openmanus.ByGate}, openmanus.CallStarted{Call: "c2", Attempt: 1},
		openmanus.CallDone{Call: "c2", Parts: llm.Parts{llm.Text{Text: "edited"}}, Detail: diffed, Files: []openmanus.FileChange{
			{Path: "src/a.go", Change: openmanus.FileModified}, {Path: "chart.html", Change: openmanus.FileCreated}, {Path: "t.csv", Change: openmanus.FileCreated},
			{Path: "gone.md", Change: openmanus.FileCreated}, {Path: ".env", Change: openmanus.FileCreated}, {Path: "p.png", Change: openmanus.FileCreated},
		}},
		agent(1, 9, "It is **June**: [the code](src/a.go), ![](p.png), [evil](javascript:x), ![far](https://a.example/b.png), <img src=x onerror=pwned()>\n\n<script>pwned()</script>\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n- [x] done\n"))
	page := written(t, Session{ID: "s1", Events: journal(bodies...), Files: fstest.MapFS{
		"src/a.go": {Data: []byte("package a // </pre><script>pwned()</script>\n")}, "chart.html": {Data: []byte("<script>draw()</script>")}, "chart.json": {Data: []byte(barChart)},
		"t.csv": {Data: []byte("month,revenue\nJune,\"42,8\"\n")}, ".env": {Data: []byte("KEY=very-secret")}, "p.png": {Data: []byte("\x89PNG\r\n\x1a\n0000")},
	}})
	for _, want := range []string{
		`<title>Find the best month\u202e &lt;b&gt;now&lt;/b&gt;</title>`, // what hides is shown
		`<math display="block"><mrow><mfrac><mrow><mi>a</mi></mrow><mrow><msup><mi>b</mi><mn>2</mn></msup></mrow></mfrac></mrow></math>`,
		`<msub><mi>x</mi><mn>1</mn></msub>`, `for $5 or $6.`,
		`<span class="key">func</span>`, `<span class="str">&#34;x&#34;</span>`, `<span class="rem">// done</span>`,
		`2 steps`, `<b>1 failed</b>`, `Wanted to run`, `Not allowed by ann: Not now`, `<small>+1 −1</small>`, "<del>-package b\n</del><ins>+package a</ins>",
		`<strong>June</strong>`, `<a href="#file-5"`, `<img src="data:image/png;base64,iVBORw0KGgowMDAw" alt="p.png">`, `alt="p.png">, evil, <a`, `<a href="https://a.example/b.png" rel="noopener noreferrer nofollow">far</a>`,
		`&lt;img src=x onerror=pwned()&gt;`, `&lt;script&gt;pwned()&lt;/script&gt;`, `align="right"`, `☑ done`,
		`<img src="data:image/svg+xml;base64,`, `<th>month</th>`, `<td>42,8</td>`, `It is no longer there.`, `usually hold secrets`, `download="a.go"`,
		`default-src 'none'`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(page, "very-secret") || t.Failed() {
		t.Error(page)
	}
}

// TestWentBack: what the session went back over is not on the page, and is again after a redo.
func TestWentBack(t *testing.T) {
	talk := append(opened(), user("1", "first"), agent(0, 3, "one"), user("2", "second"), agent(1, 5, "two"),
		openmanus.Rewound{ID: "r1", To: 4, Talk: true})
	if page := written(t, Session{ID: "s", Events: journal(talk...)}); strings.Contains(page, "second") || !strings.Contains(page, "Went back to event 4: the conversation") {
		t.Error(page)
	}
	again := append(talk, openmanus.Rewound{ID: "r2", To: 6, Talk: true, Redo: "r1"})
	if page := written(t, Session{ID: "s", Events: journal(again...)}); !strings.Contains(page, "second") || !strings.Contains(page, "Went forward again to event 6: the conversation") {
		t.Error(page)
	}
}

// TestBounds: a page does not grow without end, has the newest files first to go, and says what it lacks.
func TestBounds(t *testing.T) {
	big := strings.Repeat("0123456789abcde\n", maxTalk/16/4)
	bodies := opened()
	for i := range 8 {
		bodies = append(bodies, user(string(rune('a'+i)), big))
	}
	var changes []openmanus.FileChange
	files := fstest.MapFS{}
	for i := range 8 {
		name := string(rune('a'+i)) + ".bin"
		changes = append(changes, openmanus.FileChange{Path: name, Change: openmanus.FileCreated})
		files[name] = &fstest.MapFile{Data: make([]byte, maxFile-1)}
	}
	bodies = append(bodies, agent(0, int64(len(bodies)), "", llm.Call{ID: "c", Name: "bash", Input: "{}"}),
		openmanus.CallDone{Call: "c", Parts: llm.Parts{llm.Text{Text: big}}, Files: changes}, agent(1, int64(len(bodies)+2), "All done"))
	var b strings.Builder
	if err := Write(context.Background(), &b, Session{ID: "s", Events: journal(bodies...), Files: files}); err != nil {
		t.Fatal(err)
	}
	if limit := (maxTalk + maxCalls + maxData) * 3 / 2; b.Len() > limit {
		t.Errorf("%d bytes of at most %d", b.Len(), limit)
	}
	for _, want := range []string{"messages left out, because the page would be too large", "1 part of long calls left out", "more bytes are left out", "It is left out, because the page would be too large"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestEmpty: there is a page without a message, and none where the journal breaks.
func TestEmpty(t *testing.T) {
	if page := written(t, Session{ID: "s1", Events: journal(opened()...)}); !strings.Contains(page, "Nothing was said") || !strings.Contains(page, "<title>s1</title>") {
		t.Error(page)
	}
	broken := errors.New("broken")
	err := Write(context.Background(), io.Discard, Session{Events: func(yield func(openmanus.Event, error) bool) { yield(openmanus.Event{}, broken) }})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
}

// TestFormulas: what is known becomes MathML, and what is not stays as it was written.
func TestFormulas(t *testing.T) {
	for tex, want := range map[string]string{
		`\sqrt[3]{x}`:                          `<math><mrow><mroot><mrow><mi>x</mi></mrow><mrow><mn>3</mn></mrow></mroot></mrow></math>`,
		`\sum_{i=1}^n i`:                       `<msubsup><mo>∑</mo>`,
		`\left(a\right)`:                       `<mo>(</mo><mrow><mi>a</mi></mrow><mo>)</mo>`,
		`f'`:                                   `<msup><mi>f</mi><mo>′</mo></msup>`,
		`\begin{pmatrix}1&2\\3&4\end{pmatrix}`: `</mtd></mtr><mtr><mtd>`,
		`\text{if } x \ge 3.14`:                `<mtext>if </mtext><mi>x</mi><mo>≥</mo><mn>3.14</mn>`,
		`\vec{v} \in \mathbb{R}`:               `<mi>ℝ</mi>`,
		`\href{javascript:x}{y}`:               `<code>\(\href{javascript:x}{y}\)</code>`,
		`a}`:                                   `<code>\(a}\)</code>`,
		`x^`:                                   `<code>`,
		strings.Repeat("{", 1000):              `<code>`,
		`<script>`:                             `<mo>&lt;</mo><mi>s</mi>`,
	} {
		if got := mathML(tex, false); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", tex, got, want)
		}
	}
}

// FuzzPage: nothing that a person, a model, a tool or a file says makes the page run or load anything.
func FuzzPage(f *testing.F) {
	for _, s := range []string{"# a\n\n<b>x</b> [l](javascript:1) ![i](//e/x.png) $x^2$ `c`", "```go\n\"<\n```\n<!-- x --><svg/onload=1>", `\[\frac{1}{\text{<}}\]`, "[a]: x\n[a] <https://a.b>", "[a] <https:/'a.b> [b](http:c)", "a,b\n\"<\n", "<a@b.c> \x00 \xff \u202e"} {
		f.Add(s, "f.md")
		f.Add(s, "f.csv")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		bodies := append(opened(), user("1", text), agent(0, 3, text, llm.Call{ID: "c", Name: name, Input: text}),
			openmanus.CallDone{Call: "c", Parts: llm.Parts{llm.Text{Text: text}, llm.Blob{MIME: name, Name: text, Data: []byte(text)}}, Files: []openmanus.FileChange{{Path: name, Change: openmanus.FileCreated}}})
		s := Session{ID: "s", Title: text, Events: journal(bodies...)}
		if name != "" && name != "." {
			s.Files = fstest.MapFS{name: {Data: []byte(text)}}
		}
		written(t, s)
	})
}
