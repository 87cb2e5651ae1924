// figure.js draws the specification of a chart with Apache ECharts 6.
//
// drawChart(id, chart) draws into the element with that id, in place of what
// is in it, and follows its width. chartOption(chart) returns the option that
// it sets, and is what the tests look at. A chart is what Figure.ScriptData in
// html.go writes: the figure, and what it leaves to Go (colours, the ends of
// axes).
"use strict";

const [TEXT, , TIME] = [0, 1, 2]; // data.Kind

function drawChart(id, chart) {
  const place = document.getElementById(id);
  place.replaceChildren(); // the drawing for pages without scripts
  const view = echarts.init(place, null, { renderer: "canvas" });
  view.setOption(chartOption(chart));
  addEventListener("resize", () => view.resize());
}

function chartOption(chart) {
  const f = chart.figure, points = f.series.reduce((n, s) => n + (s.y || []).length, 0);
  const option = {
    useUTC: true,
    animation: points < 2000,
    backgroundColor: "#fff",
    title: { text: f.title, subtext: f.subtitle || "", left: chart.rtl ? "right" : "left", textStyle: { fontSize: 20, color: chart.ink } },
    tooltip: { trigger: ["line", "area", "bar", "histogram", "dual"].includes(f.kind) ? "axis" : "item", confine: true },
    toolbox: { [chart.rtl ? "left" : "right"]: 8, feature: { dataZoom: {}, restore: {}, saveAsImage: { pixelRatio: 2 } } },
    aria: { enabled: true },
    grid: { left: 24, right: 40, bottom: 56, top: 120, containLabel: true },
    color: chart.colours,
  };
  if (f.series.length > 1 && f.kind != "box" && f.kind != "heatmap") {
    option.legend = { type: "scroll", top: 62, left: 0 };
  }
  const parts = { pie, heatmap, box }[f.kind] || axes;
  return Object.assign(option, parts(chart, points));
}

const named = (a, gap) => ({ name: a.name || "", nameLocation: "middle", nameGap: gap });

// number writes the labels of an axis: 20K, 1.5M, 0.25, $300, 12%.
const number = unit => v => {
  const notation = Math.abs(v) >= 1e4 ? "compact" : "standard";
  const s = new Intl.NumberFormat("en", { notation, maximumSignificantDigits: 6 }).format(v);
  return unit == "%" ? s + unit : /^[$€£¥₹]$/.test(unit) ? unit + s : s;
};

function axis(a, soft, scale) {
  const o = {
    type: "value", name: a.name || "", scale,
    nameTextStyle: { color: soft, align: "left" },
    axisLabel: { formatter: number(a.unit), hideOverlap: true },
  };
  if (a.kind == TIME) Object.assign(o, { type: "time", name: "", axisLabel: {} });
  else if (a.labels) Object.assign(o, { type: "category", data: a.labels, axisLabel: {} });
  else if (a.log) o.type = "log";
  return o;
}

// axes is the option of every chart with two axes of values but box plots.
function axes(chart, points) {
  const f = chart.figure, option = {};
  const fromZero = ["bar", "histogram", "area", "dual"].includes(f.kind);
  const x = axis(f.x, chart.soft, true), y = axis(f.y, chart.soft, !fromZero);
  Object.assign(x, { nameLocation: "middle", nameGap: 32, nameTextStyle: { color: chart.soft } });
  [y.min, y.max] = chart.range;
  if (chart.step) y.interval = chart.step;
  option.xAxis = x;
  option.yAxis = y;
  if (f.horizontal) {
    Object.assign(x, { inverse: true, nameLocation: "start" });
    [option.xAxis, option.yAxis] = [y, x];
  } else if (points > 60) {
    option.dataZoom = [{ type: "inside" }, { type: "slider", height: 18, bottom: 8 }];
  }
  if (f.kind == "dual") {
    const second = axis(f.y2, chart.soft, true);
    Object.assign(second, { splitLine: { show: false }, nameTextStyle: { color: chart.soft, align: "right" } });
    option.yAxis = [y, second];
  }
  option.series = f.series.map((s, i) => series(chart, s, i));
  return option;
}

function series(chart, s, i) {
  const f = chart.figure, out = { name: s.name || "", data: pairs(f, s) };
  if (f.kind == "scatter") {
    Object.assign(out, { type: "scatter", symbolSize: 8, itemStyle: { opacity: 0.7 } });
    if (s.y.length > 2000) Object.assign(out, { large: true, symbolSize: 3, itemStyle: { opacity: 0.3 } });
  } else if (f.kind == "line" || f.kind == "area" || s.second) {
    Object.assign(out, { type: "line", showSymbol: out.data.length <= 24, lineStyle: { width: 2 } });
    if (!f.stacked) out.sampling = "lttb";
    if (s.second) out.yAxisIndex = 1;
    if (f.kind == "area") out.areaStyle = { opacity: 0.4 };
  } else {
    out.type = "bar";
    if (f.series.length == 1 && f.x.labels) { // the category "other"
      out.data = out.data.map((value, i) => f.x.labels[s.x[i]] == chart.other ? { value, itemStyle: { color: chart.grey } } : value);
    }
    if (f.kind == "histogram") Object.assign(out, { barCategoryGap: "1%", barWidth: "99%" });
  }
  if (f.stacked) out.stack = "all";
  return Object.assign(out, marks(chart, s, i));
}

// place is a point in the order and the units that ECharts expects.
function place(f, x, y) {
  if (f.x.kind == TIME) x *= 1000;
  return f.horizontal ? [y, x] : [x, y];
}

// pairs are the points of a series; a bin of a histogram is at its middle.
// ECharts stacks values by their index, so every stacked series gets a value
// wherever any has one.
function pairs(f, s) {
  if (f.stacked) {
    const at = new Map(f.series.flatMap(o => o.x.map(x => [x, 0])));
    s.x.forEach((x, i) => at.set(x, s.y[i] ?? 0));
    return [...at].sort((a, b) => a[0] - b[0]).map(([x, y]) => place(f, x, y));
  }
  return s.x.map((x, i) => place(f, x + (f.x.step || 0) / 2, s.y[i]));
}

// marks draws what the shown insights mark, on the series that they are about
// or, if they are about none, on the first.
function marks(chart, s, i) {
  const f = chart.figure, point = [], line = [], area = [], color = chart.marking;
  const shown = (f.shown || []).flatMap(id => (f.insights || []).filter(n => n.id == id));
  for (const m of shown.flatMap(n => n.marks || [])) {
    const known = f.series.some(o => (o.name || "") == (m.series || ""));
    if (known ? (m.series || "") != (s.name || "") : i > 0) continue;
    const text = m.label || "";
    const label = { show: text != "", formatter: text.replace(/[{}|]/g, " "), color, fontWeight: "bold" };
    if (m.kind == "point") {
      point.push({ coord: place(f, m.x, m.y), symbol: "circle", symbolSize: 9, label: { ...label, position: "top" }, itemStyle: { color } });
    } else if (m.kind == "line") {
      const [a, b] = cut(m, s.second ? chart.range2 : chart.range);
      line.push([
        { coord: place(f, ...a), symbol: "none", label: { ...label, position: "insideEndTop" }, lineStyle: { color, type: "dashed", width: 2 } },
        { coord: place(f, ...b), symbol: "none" },
      ]);
    } else if (m.kind == "span") {
      area.push([{ xAxis: place(f, m.x, 0)[0], label, itemStyle: { color, opacity: 0.08 } }, { xAxis: place(f, m.x2, 0)[0] }]);
    }
  }
  const out = {};
  if (point.length) out.markPoint = { data: point, animation: false };
  if (line.length) out.markLine = { data: line, animation: false };
  if (area.length) out.markArea = { data: area, animation: false };
  return out;
}

// cut ends a line at the edges of the field: ECharts does not draw one that
// goes on beyond them.
function cut(m, [lo, hi]) {
  const to = (x, y, x2, y2) => {
    const limit = Math.min(Math.max(y, lo), hi);
    return limit == y || y2 == y ? [x, y] : [x + (x2 - x) * (limit - y) / (y2 - y), limit];
  };
  const [x, y, x2, y2] = [m.x, m.y, m.x2 || 0, m.y2 || 0];
  return [to(x, y, x2, y2), to(x2, y2, x, y)];
}

function pie(chart) {
  const f = chart.figure, s = f.series[0];
  const slices = s.x.map((x, i) => ({ name: f.x.labels[x], value: s.y[i] })).filter(o => o.value > 0);
  for (const o of slices) if (o.name == chart.other) o.itemStyle = { color: chart.grey };
  return {
    legend: { orient: "vertical", right: 24, top: "middle", type: "scroll" },
    series: [{
      type: "pie", radius: ["38%", "68%"], center: ["38%", "56%"], data: slices,
      label: { formatter: "{b} {d}%" }, itemStyle: { borderColor: "#fff", borderWidth: 2 },
    }],
  };
}

function heatmap(chart) {
  const f = chart.figure, { min, max, colours } = chart.heat;
  const cells = f.series.flatMap((s, row) => s.x.map((x, i) => [x, row, s.y[i]])).filter(c => c[2] != null);
  return {
    xAxis: { type: "category", data: f.x.labels, ...named(f.x, 32) },
    yAxis: { type: "category", data: f.series.map(s => s.name || ""), inverse: true },
    visualMap: { min, max, calculable: true, orient: "horizontal", right: 24, top: 62, inRange: { color: colours } },
    series: [{ type: "heatmap", name: f.y.name || "", data: cells, label: { show: f.x.labels.length <= 24 && cells.length <= 200 } }],
  };
}

function box(chart) {
  const f = chart.figure, boxes = [], far = [];
  f.series.forEach((s, i) => {
    const q = s.box, color = chart.colours[i];
    boxes.push({ value: [q.low, q.q1, q.median, q.q3, q.high], itemStyle: { color: chart.light[i], borderColor: color, borderWidth: 2 } });
    for (const v of q.outliers || []) far.push({ value: [i, v], itemStyle: { color, opacity: 0.6 } });
  });
  return {
    xAxis: { type: "category", data: f.series.map(s => s.name || ""), ...named(f.x, 32) },
    yAxis: axis(f.y, chart.soft, true),
    series: [{ type: "boxplot", data: boxes }, { type: "scatter", name: chart.outliers, data: far, symbolSize: 5 }],
  };
}
