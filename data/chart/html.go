package chart

import (
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus/data"
	"github.com/openmanus-go/openmanus/data/insight"
)

//go:embed echarts.min.js.gz
var echarts []byte

// ECharts is the script that draws [Figure.Option], Apache ECharts 6.1.0
// (Apache License 2.0). A page needs it once.
func ECharts() (string, error) {
	z, err := gzip.NewReader(bytes.NewReader(echarts))
	if err != nil {
		return "", err
	}
	js, err := io.ReadAll(z)
	return string(js), err
}

const page = `<!doctype html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:">
<title>{title}</title>
<style>
body{margin:0;background:#fff;color:#1f2937;font:15px/1.5 "Noto Sans","Helvetica Neue",Arial,"PingFang SC","Microsoft YaHei",sans-serif}
main{max-width:1200px;margin:0 auto;padding:20px 24px}
#chart{width:100%;height:{height}px}
h2{font-size:16px;margin:24px 0 8px}
li{margin:4px 0}
small{color:#4b5563}
</style>
</head>
<body>
<main>
<div id="chart" role="img" aria-label="{title}"></div>
{note}
{insights}
</main>
<script>{script}</script>
<script>
const chart = echarts.init(document.getElementById("chart"), null, {renderer: "canvas"});
chart.setOption({option});
addEventListener("resize", () => chart.resize());
</script>
</body>
</html>
`

// HTML is a page with the chart, on which one can point, zoom and switch
// series off, and its insights. It loads nothing from anywhere.
func (f *Figure) HTML() ([]byte, error) {
	script, err := ECharts()
	if err != nil {
		return nil, err
	}
	option, err := f.MarshalOption()
	if err != nil {
		return nil, err
	}
	_, height := f.size()
	var note, insights string
	if f.Note != "" {
		note = `<small dir="auto">` + html.EscapeString(f.Note) + `</small>`
	}
	if len(f.Insights) > 0 {
		insights = "<h2>" + f.say("What is to be seen", "数据洞察") + "</h2>\n<ol>"
		for _, in := range f.Insights {
			insights += `<li dir="auto">` + html.EscapeString(in.Text) + "</li>"
		}
		insights += "</ol>"
	}
	out := strings.NewReplacer(
		"{lang}", html.EscapeString(cmp.Or(f.Lang, "en")), "{title}", html.EscapeString(f.Title), "{height}", strconv.FormatFloat(height, 'g', -1, 64),
		"{note}", note, "{insights}", insights, "{script}", script, "{option}", option,
	).Replace(page)
	return []byte(out), nil
}

type object = map[string]any

// Option is the figure as ECharts takes it, ready to be encoded as JSON.
func (f *Figure) Option() any {
	o := object{
		"useUTC": true, "animation": points(f.Series) < 2000, "backgroundColor": "#fff",
		"title":   object{"text": f.Title, "subtext": f.Subtitle, "left": f.side(), "textStyle": object{"fontSize": 20, "color": hex(ink)}},
		"tooltip": object{"trigger": "axis", "confine": true},
		"toolbox": object{"right": 8, "feature": object{"dataZoom": object{}, "restore": object{}, "saveAsImage": object{"pixelRatio": 2}}},
		"aria":    object{"enabled": true},
		"grid":    object{"left": 24, "right": 40, "bottom": 56, "top": 120, "containLabel": true},
		"color":   colours(max(len(f.Series), 8)),
	}
	if len(f.Series) > 1 && f.Kind != Box && f.Kind != Heatmap {
		o["legend"] = object{"type": "scroll", "top": 62, "left": 0}
	}
	switch f.Kind {
	case Pie:
		f.pieOption(o)
		return o
	case Heatmap:
		f.heatOption(o)
		return o
	case Box:
		f.boxOption(o)
	default:
		f.axesOption(o)
	}
	return o
}

func (f *Figure) side() string {
	if rightToLeft([]rune(f.Title)) {
		return "right"
	}
	return "left"
}

func colours(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = hex(colourOf(i))
	}
	return out
}

func (a Axis) option(scale bool) object {
	o := object{"type": "value", "name": a.Name, "scale": scale, "nameTextStyle": object{"color": hex(soft), "align": "left"}}
	switch {
	case a.Kind == data.Time:
		o["type"], o["name"] = "time", ""
	case a.Labels != nil:
		o["type"], o["data"] = "category", a.Labels
	case a.Log:
		o["type"] = "log"
	}
	return o
}

func (f *Figure) axesOption(o object) {
	bars := f.Kind == Bar || f.Kind == Histogram || f.Kind == Area || f.Kind == Dual
	x, y := f.X.option(true), f.Y.option(!bars)
	x["nameLocation"], x["nameGap"], x["nameTextStyle"] = "middle", 32, object{"color": hex(soft)}
	_, _, lo, hi := (&plot{Figure: f}).ranges(false)
	if s, _ := numberScale(lo, hi, 6, f.Y.Log); !math.IsInf(s.lo, 0) {
		y["min"], y["max"] = s.lo, s.hi
	}
	o["xAxis"], o["yAxis"] = x, y
	if f.Horizontal {
		x["inverse"], x["nameLocation"] = true, "start"
		o["xAxis"], o["yAxis"] = y, x
	} else if points(f.Series) > 60 {
		o["dataZoom"] = []object{{"type": "inside"}, {"type": "slider", "height": 18, "bottom": 8}}
	}
	if f.Kind == Dual {
		second := f.Y2.option(true)
		second["splitLine"], second["nameTextStyle"] = object{"show": false}, object{"color": hex(soft), "align": "right"}
		o["yAxis"] = []object{y, second}
	}
	if f.Kind == Scatter {
		o["tooltip"] = object{"trigger": "item", "confine": true}
	}
	var list []object
	for i, s := range f.Series {
		list = append(list, f.seriesOption(i, s))
	}
	o["series"] = list
}

func (f *Figure) seriesOption(i int, s Series) object {
	n := len(s.Y)
	out := object{"name": s.Name, "data": f.pairs(s)}
	switch {
	case f.Kind == Scatter:
		out["type"] = "scatter"
		out["symbolSize"], out["itemStyle"] = 8, object{"opacity": 0.7}
		if n > 2000 {
			out["large"], out["symbolSize"], out["itemStyle"] = true, 3, object{"opacity": 0.3}
		}
	case f.Kind == Line, f.Kind == Area, s.Second:
		out["type"], out["showSymbol"], out["sampling"] = "line", n <= 24, "lttb"
		out["lineStyle"] = object{"width": 2}
		if s.Second {
			out["yAxisIndex"] = 1
		}
		if f.Kind == Area {
			out["areaStyle"] = object{"opacity": 0.4}
		}
	default:
		out["type"] = "bar"
		if f.Kind == Histogram {
			out["barCategoryGap"], out["barWidth"] = "1%", "99%"
		}
	}
	if f.Stacked {
		out["stack"] = "all"
		delete(out, "sampling")
	}
	f.markOption(out, i, s)
	return out
}

// pairs are the points of a series. A histogram's are at the middle of bins.
func (f *Figure) pairs(s Series) any {
	out := make([]Floats, len(s.Y))
	for i, v := range s.Y {
		x := s.X[i] + f.X.Step/2
		if f.X.Kind == data.Time {
			x *= 1000
		}
		out[i] = Floats{x, v}
		if f.Horizontal {
			out[i] = Floats{v, x}
		}
	}
	return out
}

// markOption draws what insights show, on the series they are about; on the
// first if they are about none.
func (f *Figure) markOption(out object, i int, s Series) {
	_, _, lo, hi := (&plot{Figure: f}).ranges(s.Second)
	field, _ := numberScale(lo, hi, 6, f.Y.Log)
	at := func(x, y float64) []any {
		if f.X.Kind == data.Time {
			x *= 1000
		}
		if f.Horizontal {
			return []any{y, x}
		}
		return []any{x, y}
	}
	var points, lines, areas []any
	for _, m := range f.marks() {
		if m.Series != s.Name && !(i == 0 && !slices.ContainsFunc(f.Series, func(o Series) bool { return o.Name == m.Series })) {
			continue
		}
		label := object{"show": m.Label != "", "formatter": escapeFormat(m), "color": hex(marking), "fontWeight": "bold"}
		switch m.Kind {
		case "point":
			label["position"] = "top"
			points = append(points, object{"coord": at(m.X, m.Y), "symbol": "circle", "symbolSize": 9, "label": label, "itemStyle": object{"color": hex(marking)}})
		case "line":
			label["position"] = "insideEndTop"
			m = cut(m, field.lo, field.hi)
			lines = append(lines, []any{object{"coord": at(m.X, m.Y), "symbol": "none", "label": label, "lineStyle": object{"color": hex(marking), "type": "dashed", "width": 2}},
				object{"coord": at(m.X2, m.Y2), "symbol": "none"}})
		case "span":
			a, b := at(m.X, 0), at(m.X2, 0)
			areas = append(areas, []any{object{"xAxis": a[0], "label": label, "itemStyle": object{"color": hex(marking), "opacity": 0.08}}, object{"xAxis": b[0]}})
		}
	}
	if points != nil {
		out["markPoint"] = object{"data": points, "animation": false}
	}
	if lines != nil {
		out["markLine"] = object{"data": lines, "animation": false}
	}
	if areas != nil {
		out["markArea"] = object{"data": areas, "animation": false}
	}
}

// cut ends a line where the field ends: ECharts leaves out one that goes on.
func cut(m insight.Mark, lo, hi float64) insight.Mark {
	to := func(x, y, x2, y2 float64) (float64, float64) {
		limit := min(max(y, lo), hi)
		if limit == y || y2 == y {
			return x, y
		}
		return x + (x2-x)*(limit-y)/(y2-y), limit
	}
	x, y := to(m.X, m.Y, m.X2, m.Y2)
	m.X2, m.Y2 = to(m.X2, m.Y2, m.X, m.Y)
	m.X, m.Y = x, y
	return m
}

// escapeFormat keeps braces from being taken for placeholders.
func escapeFormat(m insight.Mark) string {
	b := bytes.NewBuffer(nil)
	for _, r := range m.Label {
		switch r {
		case '{', '}', '|':
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (f *Figure) pieOption(o object) {
	o["tooltip"] = object{"trigger": "item", "confine": true}
	var slices []object
	if len(f.Series) > 0 {
		for i, v := range f.Series[0].Y {
			if v > 0 {
				name := f.X.Labels[int(f.Series[0].X[i])]
				item := object{"name": name, "value": v}
				if name == f.say("other", "其他") {
					item["itemStyle"] = object{"color": hex(grey)}
				}
				slices = append(slices, item)
			}
		}
	}
	o["legend"] = object{"orient": "vertical", "right": 24, "top": "middle", "type": "scroll"}
	o["series"] = []object{{"type": "pie", "radius": []string{"38%", "68%"}, "center": []string{"38%", "56%"}, "data": slices,
		"label": object{"formatter": "{b} {d}%"}, "itemStyle": object{"borderColor": "#fff", "borderWidth": 2}}}
}

func (f *Figure) heatOption(o object) {
	o["tooltip"] = object{"trigger": "item", "confine": true}
	var rows []string
	cells := []Floats{}
	lo, hi := math.Inf(1), math.Inf(-1)
	for i, s := range f.Series {
		rows = append(rows, s.Name)
		for j, v := range s.Y {
			if !math.IsNaN(v) {
				cells = append(cells, Floats{s.X[j], float64(i), v})
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	if math.IsInf(lo, 0) {
		lo, hi = 0, 1
	}
	if lo < 0 && hi > 0 {
		hi = max(-lo, hi)
		lo = -hi
	}
	var ramp []string
	for i := range 9 {
		ramp = append(ramp, hex(heat(lo+(hi-lo)*float64(i)/8, lo, hi)))
	}
	o["xAxis"] = object{"type": "category", "data": f.X.Labels, "name": f.X.Name, "nameLocation": "middle", "nameGap": 32}
	o["yAxis"] = object{"type": "category", "data": rows, "inverse": true}
	o["visualMap"] = object{"min": lo, "max": hi, "calculable": true, "orient": "horizontal", "right": 24, "top": 62, "inRange": object{"color": ramp}}
	o["series"] = []object{{"type": "heatmap", "name": f.Y.Name, "data": cells, "label": object{"show": len(cells) <= 200}}}
}

func (f *Figure) boxOption(o object) {
	var names []string
	var boxes, far []any
	for i, s := range f.Series {
		names = append(names, s.Name)
		if s.Box == nil {
			continue
		}
		q := s.Box
		boxes = append(boxes, object{"value": Floats{q.Low, q.Q1, q.Median, q.Q3, q.High}, "itemStyle": object{"color": hex(mix(colourOf(i), white, 0.7)), "borderColor": hex(colourOf(i)), "borderWidth": 2}})
		for _, v := range q.Outliers {
			far = append(far, object{"value": Floats{float64(i), v}, "itemStyle": object{"color": hex(colourOf(i)), "opacity": 0.6}})
		}
	}
	o["tooltip"] = object{"trigger": "item", "confine": true}
	o["xAxis"] = object{"type": "category", "data": names, "name": f.X.Name, "nameLocation": "middle", "nameGap": 32}
	o["yAxis"] = f.Y.option(true)
	o["series"] = []object{{"type": "boxplot", "data": boxes}, {"type": "scatter", "name": f.say("outliers", "异常值"), "data": far, "symbolSize": 5}}
}

// MarshalOption is [Figure.Option] as JSON that can stand in a script.
func (f *Figure) MarshalOption() (string, error) {
	b, err := json.Marshal(f.Option())
	if err != nil {
		return "", fmt.Errorf("the chart %q: %w", f.Title, err)
	}
	return string(b), nil // json.Marshal escapes <, > and &
}
