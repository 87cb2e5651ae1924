package chart

import "image/color"

type point struct{ x, y float64 }

type anchor int

const (
	start anchor = iota
	middle
	end
)

// A style is how text stands.
type style struct {
	size   float64
	bold   bool
	colour color.NRGBA
	at     anchor  // which part of the text is at its place
	turn   float64 // degrees against the clock
	halo   bool    // with a white edge, to be read on top of something
}

// A canvas is what a figure is drawn on. Coordinates are pixels from the left
// and the top; text stands on its y.
type canvas interface {
	fill(shape []point, c color.NRGBA)
	stroke(path []point, width float64, c color.NRGBA, dashed bool)
	dots(at []point, radius float64, c color.NRGBA)
	text(x, y float64, s string, st style)
}

func rect(x, y, w, h float64) []point {
	if w < 0 {
		x, w = x+w, -w
	}
	if h < 0 {
		y, h = y+h, -h
	}
	return []point{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}}
}
