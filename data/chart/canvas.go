package chart

import "image/color"

// A point is a place on a canvas: pixels from its left and top edges.
type point struct{ x, y float64 }

// An anchor says which part of a text stands at its point.
type anchor int

const (
	start anchor = iota
	middle
	end
)

// A style is how a line of text is set.
type style struct {
	size   float64 // in pixels
	bold   bool
	colour color.NRGBA
	at     anchor
	turn   float64 // degrees, counterclockwise
	halo   bool    // on a light background, to be legible above other shapes
	within float64 // the most pixels it may take, for plot.text; 0 means any
}

// The styles of charts.
var (
	titleText = style{size: 20, bold: true, colour: ink}
	labelText = style{size: 13, colour: ink}
	tickText  = style{size: 12, colour: soft}
	smallText = style{size: 11, colour: soft}
	markText  = style{size: 12, bold: true, colour: marking, halo: true}
)

// anchored, fitting and in return the style with another anchor, within so many
// pixels, and in another colour.
func (s style) anchored(at anchor) style   { s.at = at; return s }
func (s style) fitting(most float64) style { s.within = most; return s }
func (s style) in(c color.NRGBA) style     { s.colour = c; return s }

// A canvas is what a plot is drawn on. Its coordinates are those of the
// figure: (0, 0) is the top left corner, one unit is one pixel of the figure's
// width and height. Later calls paint over earlier ones.
//
// Errors are kept by the canvas and returned when the picture is encoded.
type canvas interface {
	// fill paints the inside of a closed shape.
	fill(shape []point, c color.NRGBA)
	// stroke draws an open path.
	stroke(path []point, width float64, c color.NRGBA, dashed bool)
	// dots paints a disc at each point.
	dots(at []point, radius float64, c color.NRGBA)
	// text sets one line; y is its baseline.
	text(x, y float64, s string, st style)
}

// rect is a rectangle as a shape that begins at its top left corner. Width and
// height may be negative.
func rect(x, y, w, h float64) []point {
	if w < 0 {
		x, w = x+w, -w
	}
	if h < 0 {
		y, h = y+h, -h
	}
	return []point{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}}
}
