//go:build unix

package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// shrink rewrites the pictures of a directory with the 256 colours that each has most.
func shrink(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.png"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var out bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, paletted(img)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// apart reports whether an eye can tell two colours apart.
func apart(a, b color.Color) bool {
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	return max(ar, br)-min(ar, br) > 0x700 || max(ag, bg)-min(ag, bg) > 0x700 || max(ab, bb)-min(ab, bb) > 0x700
}

// paletted returns a picture with its most frequent colours; others become the nearest of them.
func paletted(img image.Image) *image.Paletted {
	counts := make(map[color.Color]int)
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			counts[img.At(x, y)]++
		}
	}
	colours := make(color.Palette, 0, len(counts))
	for c := range counts {
		colours = append(colours, c)
	}
	slices.SortFunc(colours, func(a, b color.Color) int { return counts[b] - counts[a] })
	var palette color.Palette
	for _, c := range colours {
		if len(palette) < 256 && (len(palette) == 0 || apart(c, palette.Convert(c))) {
			palette = append(palette, c)
		}
	}
	out := image.NewPaletted(b, palette)
	nearest := make(map[color.Color]uint8, len(counts))
	for c := range counts {
		nearest[c] = uint8(out.Palette.Index(c))
	}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			out.SetColorIndex(x, y, nearest[img.At(x, y)])
		}
	}
	return out
}
