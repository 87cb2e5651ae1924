package chart

import (
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed" // the page and its scripts
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"
)

//go:embed echarts.min.js.gz
var packedECharts []byte

//go:embed figure.js
var figureJS string

//go:embed page.html
var page string

// Script returns what a page needs once to draw charts, without the script
// tags: Apache ECharts 6.1.0 (Apache License 2.0) and the function drawChart,
// whose arguments are the id of an element and [Figure.ScriptData].
func Script() (string, error) {
	z, err := gzip.NewReader(bytes.NewReader(packedECharts))
	if err != nil {
		return "", err
	}
	js, err := io.ReadAll(z)
	return string(js) + "\n" + figureJS, err
}

// A scriptData is the chart of figure.js: a figure with what only Go knows.
type scriptData struct {
	Figure   *Figure  `json:"figure"`
	RTL      bool     `json:"rtl,omitempty"` // the title reads from right to left
	Colours  []string `json:"colours"`       // of the series
	Light    []string `json:"light"`         // of the inside of boxes
	Ink      string   `json:"ink"`
	Soft     string   `json:"soft"`
	Grey     string   `json:"grey"`
	Marking  string   `json:"marking"`
	Other    string   `json:"other"` // the label whose slice is grey
	Outliers string   `json:"outliers"`
	Range    Floats   `json:"range"` // the ends of the axis of values
	Step     float64  `json:"step"`  // the distance of its ticks; 0 chooses
	Range2   Floats   `json:"range2"`
	Heat     *ramp    `json:"heat,omitempty"`
}

// A ramp is the key to the colours of a heat map.
type ramp struct {
	Min     float64  `json:"min"`
	Max     float64  `json:"max"`
	Colours []string `json:"colours"` // in even steps
}

// ScriptData returns the figure as JSON for drawChart. It is safe inside a
// script element: <, > and & are escaped.
func (f *Figure) ScriptData() (string, error) {
	d := scriptData{Figure: f, RTL: rightToLeft(f.Title), Other: f.other(), Outliers: f.word("outliers", "异常值"),
		Ink: hex(ink), Soft: hex(soft), Grey: hex(grey), Marking: hex(marking)}
	d.Range, d.Step = f.axisRange(false)
	d.Range2, _ = f.axisRange(true)
	for i := range max(len(f.Series), len(palette)) {
		d.Colours = append(d.Colours, hex(colourOf(i)))
		d.Light = append(d.Light, hex(mix(colourOf(i), white, 0.7)))
	}
	if f.Kind == Heatmap {
		d.Heat = f.heatRamp()
	}
	b, err := json.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("the chart %q: %w", f.Title, err)
	}
	return string(b), nil
}

// axisRange returns the ends of the first or second axis of values, and the
// distance of its ticks.
func (f *Figure) axisRange(second bool) (ends Floats, step float64) {
	r := f.ranges(second)
	s, step := numberScale(r.ylo, r.yhi, 6, f.Y.Log)
	return Floats{s.lo, s.hi}, step
}

// heatRamp samples the colours of the cells. Values of both signs get a ramp
// with 0 in its middle.
func (f *Figure) heatRamp() *ramp {
	lo, hi, ok := f.cellRange()
	if !ok {
		lo, hi = 0, 1
	}
	if lo < 0 && hi > 0 {
		hi = max(-lo, hi)
		lo = -hi
	}
	r := &ramp{Min: lo, Max: hi}
	for i := range 9 {
		r.Colours = append(r.Colours, hex(heat(lo+(hi-lo)*float64(i)/8, lo, hi)))
	}
	return r
}

// Still returns the chart as an element of an HTML page: the drawing of [Figure.SVG],
// which drawChart replaces. It is what is seen where scripts do not run.
func (f *Figure) Still(fonts *Fonts) (string, error) {
	svg, err := f.SVG(fonts)
	return strings.Replace(string(svg), ` xmlns="http://www.w3.org/2000/svg"`, "", 1), err
}

// HTML returns a page with the chart and the list of its insights. Its reader
// can point at values, zoom, and switch series off; without scripts it has the
// drawing. The page loads nothing.
func (f *Figure) HTML(fonts *Fonts) ([]byte, error) {
	script, err := Script()
	if err != nil {
		return nil, err
	}
	still, err := f.Still(fonts)
	if err != nil {
		return nil, err
	}
	chart, err := f.ScriptData()
	if err != nil {
		return nil, err
	}
	var note, insights strings.Builder
	if f.Note != "" {
		note.WriteString(`<small dir="auto">` + html.EscapeString(f.Note) + `</small>`)
	}
	if len(f.Insights) > 0 {
		insights.WriteString("<h2>" + f.word("Insights", "数据洞察") + "</h2>\n<ol>")
		for _, in := range f.Insights {
			insights.WriteString(`<li dir="auto">` + html.EscapeString(in.Text) + "</li>")
		}
		insights.WriteString("</ol>")
	}
	_, height := f.size()
	return []byte(strings.NewReplacer(
		"{lang}", html.EscapeString(cmp.Or(f.Lang, "en")),
		"{title}", html.EscapeString(f.Title),
		"{height}", strconv.FormatFloat(height, 'g', -1, 64),
		"{still}", still,
		"{note}", note.String(),
		"{insights}", insights.String(),
		"{script}", script,
		"{chart}", chart,
	).Replace(page)), nil
}
