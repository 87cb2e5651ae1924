// Package chart draws charts: bar, line, area, scatter, histogram, box, pie,
// heat map and dual axis, as SVG, as PNG, and as an HTML page that is whole in
// itself. What to draw it chooses from the data where nobody says it.
//
//	fig, err := chart.Build(table, chart.Request{Y: []string{"revenue"}})
//	...
//	var fonts chart.Fonts
//	png, err := fig.PNG(&fonts)
//
// Colours can be told apart by people who do not see all of them (the palette
// of Okabe and Ito). Large data is thinned where it is drawn, so that what is
// seen stays the same.
package chart
