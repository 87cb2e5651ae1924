// Package chart draws charts of tables: bars, lines, areas, scatter plots,
// histograms, box plots, pies, heat maps, and bars with a line on a second
// axis.
//
// It works in two steps. [Build] turns a [data.Table] and a [Request] into a
// [Figure]: the aggregated numbers, their axes and the insights that package
// insight finds in them. Build chooses what the request leaves out, from the
// data and from the words of the title. A Figure encodes as JSON, which is the
// chart's specification file; [Parse] reads it back.
//
//	fig, err := chart.Build(table, chart.Request{Y: []string{"revenue"}})
//	...
//	var fonts chart.Fonts
//	png, err := fig.PNG(&fonts)
//
// Then a Figure becomes a picture. [Figure.PNG] and [Figure.SVG] are one
// drawing on two canvases: the type plot lays out axes, data and marks, and a
// canvas knows four primitives. Every kind of chart is written once. The
// interactive page of [Figure.HTML] holds the same Figure as JSON, and
// figure.js maps it to Apache ECharts in the reader's browser.
//
// # The contract of a specification
//
// A specification that was saved can be read by every later version: fields are
// added, never renamed, and a kind of chart keeps its name. Missing values are null.
// Times are seconds since 1970 in UTC. [Parse] checks everything that drawing relies
// on (the kind, that each value has a place, the size), so that a file that someone
// has edited gives an error and not a broken picture.
//
// # Limits
//
// A figure has at most 24 colours of points, 400 columns of cells, and 5,000 dots as
// elements of an SVG; what is beyond is grouped, left out with a note, or embedded
// as a picture. [Fonts] may be shared by any number of drawings at the same time.
//
// Pictures need no font and no program of the machine: the fonts are embedded.
// The colours are those of Okabe and Ito, which people with any kind of colour
// blindness can tell apart. Series with many points are thinned per column of
// pixels, so that the picture stays the same and drawing stays fast.
package chart
