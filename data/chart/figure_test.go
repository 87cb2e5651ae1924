package chart

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestFloats(t *testing.T) {
	f := Floats{1, -2.5, math.NaN(), math.Inf(1), 1e20, 1.0 / 3, 1700000000.125, 12345678.5}
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	const want = "[1,-2.5,null,null,1e+20,0.3333333333,1700000000.125,12345678.500]"
	if string(b) != want {
		t.Errorf("%s, want %s", b, want)
	}
	var back Floats
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if len(back) != 8 || back[1] != -2.5 || !math.IsNaN(back[2]) || back[6] != f[6] {
		t.Errorf("%v", back)
	}
}

func TestParseRefuses(t *testing.T) {
	for spec, want := range map[string]string{
		`{`:                                   "not the specification of a chart: ",
		`{"kind":"spiral"}`:                   `there is no kind "spiral"`,
		`{"kind":"bar","series":[{"x":[1]}]}`: "has 1 places but 0 values",
		`{"kind":"bar","width":5000}`:         "cannot be 5000 pixels wide",
		`{"kind":"line","height":-1}`:         "cannot be -1 pixels wide",
		`{"kind":"bar","x":{"kind":0,"labels":["a"]},"series":[{"name":"s","x":[1],"y":[2]}]}`:         `"s" has a value at place 1; the axis has 1 labels`,
		`{"kind":"pie","x":{"kind":2},"series":[{"x":[0],"y":[2]}]}`:                                   "the axis has 0 labels",
		`{"kind":"bar","x":{"kind":0,"labels":["a"]},"series":[{"name":"s","x":[null],"y":[2]}]}`:      "at place NaN",
		`{"kind":"heatmap","x":{"kind":1,"labels":["a"]},"series":[{"name":"s","x":[-1],"y":[2]}]}`:    "at place -1",
		`{"kind":"line","x":{"kind":1},"series":[{"x":[1],"y":[2]}]}`:                                  "",
		`{"kind":"bar","x":{"kind":0,"labels":["a","b"]},"series":[{"name":"s","x":[0,1],"y":[2,3]}]}`: "",
	} {
		_, err := Parse([]byte(spec))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", spec, err, want)
		}
	}
}

func TestSize(t *testing.T) {
	tall := Figure{Kind: Bar, Horizontal: true, X: Axis{Labels: make([]string, 30)}}
	for _, c := range []struct {
		f    Figure
		w, h float64
	}{
		{Figure{}, 960, 540},
		{Figure{Width: 100, Height: 100}, 240, 180},
		{tall, 960, 850},
		{Figure{Kind: Heatmap, Series: make([]Series, 100)}, 960, 1400},
	} {
		if w, h := c.f.size(); w != c.w || h != c.h {
			t.Errorf("%+v: %v by %v, want %v by %v", c.f, w, h, c.w, c.h)
		}
	}
}

// TestSVG: the text of an SVG is text, its XML is well-formed, and what comes
// from data is escaped.
func TestSVG(t *testing.T) {
	f, err := Build(tableOf(t, "k,v\n<b>&,2\nשלום,1\n"), Request{Kind: "bar", Title: `"<script>"`, Note: "]]>"})
	if err != nil {
		t.Fatal(err)
	}
	svg, err := f.SVG(&Fonts{})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		if s, ok := tok.(xml.CharData); ok && len(bytes.TrimSpace(s)) > 0 {
			texts = append(texts, string(s))
		}
	}
	got := strings.Join(texts, "|")
	for _, want := range []string{`"<script>"`, "<b>&", "שלום", "]]>"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
	if !strings.Contains(string(svg), `direction="rtl" text-anchor="middle"`) {
		t.Errorf("the Hebrew label has no direction:\n%s", svg)
	}
}

// TestManyDotsAreAPicture keeps the SVG of a large cloud small.
func TestManyDotsAreAPicture(t *testing.T) {
	f := &Figure{Kind: Scatter, Series: []Series{{}}}
	for i := range manyDots + 1 {
		f.Series[0].X = append(f.Series[0].X, float64(i%100))
		f.Series[0].Y = append(f.Series[0].Y, float64(i/100))
	}
	svg, err := f.SVG(&Fonts{})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(svg), "<circle") || !strings.Contains(string(svg), "data:image/png;base64,") {
		t.Error("dots are elements")
	}
	f.Series[0].X, f.Series[0].Y = f.Series[0].X[:100], f.Series[0].Y[:100]
	if svg, err = f.SVG(&Fonts{}); err != nil || strings.Count(string(svg), "<circle") != 100 {
		t.Errorf("%v, %d circles", err, strings.Count(string(svg), "<circle"))
	}
}

func TestScriptData(t *testing.T) {
	heat := &Figure{Kind: Heatmap, Title: "</script>שלום", X: Axis{Labels: []string{"a"}}, Series: []Series{{X: Floats{0}, Y: Floats{-1}}, {X: Floats{0}, Y: Floats{4}}}}
	rtl := &Figure{Kind: Bar, Title: "שלום", Series: []Series{{X: Floats{0}, Y: Floats{12}}}}
	for _, c := range []struct {
		f    *Figure
		want string
	}{
		{heat, `"heat":{"min":-4,"max":4,"colours":["#B35806"`}, // 0 is in the middle
		{heat, `\u003c/script\u003e`},
		{&Figure{Kind: Heatmap}, `"heat":{"min":0,"max":1,`},
		{rtl, `"rtl":true`},
		{rtl, `"range":[0,12],"step":2,`},
		{&Figure{Kind: Line, Lang: "zh"}, `"other":"其他"`},
	} {
		got, err := c.f.ScriptData()
		if err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%v: %s is missing in %s", err, c.want, got)
		}
	}
}

// TestOption maps the figures of testdata/option.txtar to options of ECharts,
// with figure.js in Node. Each option is compared as JSON, so functions do not
// count; -update writes them.
func TestOption(t *testing.T) {
	testbed.Need(t, "node")
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	const file = "testdata/option.txtar"
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(a.Files); i += 2 {
		figure, option := a.Files[i], &a.Files[i+1]
		f, err := Parse(figure.Data)
		if err != nil {
			t.Fatal(figure.Name, err)
		}
		chart, err := f.ScriptData()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(node, "-")
		cmd.Stdin = strings.NewReader(figureJS + "\nfor (const s of chartOption(" + chart + ").series) console.log(JSON.stringify(s));")
		got, err := cmd.Output()
		if err != nil {
			t.Fatal(figure.Name, err)
		}
		if *update {
			option.Data = got
		} else if !bytes.Equal(got, option.Data) {
			t.Errorf("%s: %s\nwant\n%s", figure.Name, got, option.Data)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
