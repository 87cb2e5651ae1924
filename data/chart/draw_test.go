package chart

import (
	"encoding/json"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/openmanus-go/openmanus/data/insight"
)

// A listing is a canvas that lists what is drawn, a line each, in whole pixels.
type listing struct{ strings.Builder }

func (l *listing) points(path []point) {
	for _, p := range path {
		fmt.Fprintf(l, " %.0f,%.0f", p.x, p.y)
	}
	l.WriteString("\n")
}

func shade(c color.NRGBA) string {
	if c.A < 255 {
		return fmt.Sprintf("%s/%.0f%%", hex(c), float64(c.A)/2.55)
	}
	return hex(c)
}

func (l *listing) fill(shape []point, c color.NRGBA) {
	if b := bounds(shape, 0); len(shape) == 4 {
		fmt.Fprintf(l, "rect   %s %.0f,%.0f %.0fx%.0f\n", shade(c), b[0].x, b[0].y, b[1].x-b[0].x, b[1].y-b[0].y)
	} else {
		fmt.Fprintf(l, "shape  %s around %.0f,%.0f %.0fx%.0f\n", shade(c), b[0].x, b[0].y, b[1].x-b[0].x, b[1].y-b[0].y)
	}
}

func (l *listing) stroke(path []point, width float64, c color.NRGBA, dashed bool) {
	dash := ""
	if dashed {
		dash = " dashed"
	}
	fmt.Fprintf(l, "line   %s %g%s", shade(c), width, dash)
	l.points(path)
}

func (l *listing) dots(at []point, radius float64, c color.NRGBA) {
	fmt.Fprintf(l, "dots   %s r=%g", shade(c), radius)
	l.points(at)
}

func (l *listing) text(x, y float64, s string, st style) {
	fmt.Fprintf(l, "text   %.0f,%.0f %q %s\n", x, y, s, [...]string{"start", "middle", "end"}[st.at])
}

// TestDrawing draws the figures of testdata/draw. Each file has a table, a
// request, and the list of what is drawn; -update writes that list, for a
// person to read.
func TestDrawing(t *testing.T) {
	files, err := filepath.Glob("testdata/draw/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var fonts Fonts
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			section := make(map[string]string)
			for _, f := range a.Files {
				section[f.Name] = string(f.Data)
			}
			var req Request
			if err := json.Unmarshal([]byte(section["request.json"]), &req); err != nil {
				t.Fatal(err)
			}
			f, err := Build(tableOf(t, section["table.csv"]), req)
			if err != nil {
				t.Fatal(err)
			}
			if marks := section["marks.json"]; marks != "" {
				f.Insights, f.Shown = []insight.Insight{{ID: 1}}, []int{1}
				if err := json.Unmarshal([]byte(marks), &f.Insights[0].Marks); err != nil {
					t.Fatal(err)
				}
			}
			var got listing
			f.draw(&got, &fonts)
			if *update {
				a.Files[len(a.Files)-1].Data = []byte(got.String())
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if want := section["drawn"]; got.String() != want {
				t.Errorf("drawn:\n%swant:\n%s", got.String(), want)
			}
		})
	}
}

// field is a plot with a field of 100 by 100 pixels at 0,0 in which data and
// pixels have the same coordinates.
func field(f *Figure) (*plot, *listing) {
	l := &listing{}
	same := scale{lo: 0, hi: 100, a: 0, b: 100}
	return &plot{Figure: f, c: l, fonts: &Fonts{}, w: 100, h: 100, r: 100, b: 100, x: same, y: same, y2: same}, l
}

// TestLabelsAvoidEachOther: a label moves below and above until it is free, and
// is left out where nothing is.
func TestLabelsAvoidEachOther(t *testing.T) {
	p, l := field(&Figure{})
	var taken [][]point
	for range 7 {
		p.label(&taken, 50, 40, "x", middle)
	}
	p.label(&taken, 500, 90, "right", middle) // kept inside
	p.label(&taken, 50, 40, "", middle)       // nothing to write
	var ys []string
	for line := range strings.Lines(l.String()) {
		ys = append(ys, strings.TrimSuffix(strings.Split(line, ",")[1], "\n"))
	}
	if got := strings.Join(ys, ";"); got != `40 "x" start;70 "x" start;24 "x" start;86 "x" start;8 "x" start;90 "right" start` {
		t.Errorf("%s\n%s", got, l)
	}
	if b := taken[len(taken)-1]; b[1].x > 100 {
		t.Errorf("the label reaches to %v", b[1].x)
	}
}

func TestClip(t *testing.T) {
	p, _ := field(&Figure{})
	for _, c := range []struct {
		a, b point
		want string
	}{
		{point{10, 10}, point{90, 90}, "10,10 90,90"},
		{point{-100, 50}, point{200, 50}, "0,50 100,50"},
		{point{-50, -50}, point{50, 50}, "0,0 50,50"},
		{point{50, 150}, point{50, 50}, "50,100 50,50"},
		{point{-10, 0}, point{-10, 100}, "outside"},
		{point{0, 150}, point{150, 300}, "outside"},
	} {
		got := "outside"
		if a, b, ok := p.clip(c.a, c.b); ok {
			got = fmt.Sprintf("%g,%g %g,%g", a.x, a.y, b.x, b.y)
		}
		if got != c.want {
			t.Errorf("%v to %v: %s, want %s", c.a, c.b, got, c.want)
		}
	}
}

func TestStack(t *testing.T) {
	s := newStack()
	got := ""
	for _, v := range []float64{3, -2, 4, -1} {
		from, to := s.add(7, v)
		got += fmt.Sprintf("%g..%g ", from, to)
	}
	if from, to := s.add(8, 1); from != 0 || to != 1 {
		t.Error("another place begins at", from)
	}
	if want := "0..3 0..-2 3..7 -2..-3 "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestThinned: of a long line, the ends and the extremes of each half pixel
// stay.
func TestThinned(t *testing.T) {
	var run []point
	for i := range 10_000 {
		run = append(run, point{float64(i) / 1000, float64(i % 7)})
	}
	run[4321].y, run[1234].y = 50, -50
	out := thinned(run)
	if len(out) > 4*20 || out[0] != run[0] || out[len(out)-1] != run[9999] {
		t.Errorf("%d points, from %v to %v", len(out), out[0], out[len(out)-1])
	}
	found := 0
	for _, p := range out {
		if p == run[4321] || p == run[1234] {
			found++
		}
	}
	if found != 2 {
		t.Error("an extreme is lost")
	}
	if short := run[:100]; len(thinned(short)) != 100 {
		t.Error("a short line was thinned")
	}
}

func TestDashes(t *testing.T) {
	path := []point{{0, 0}, {10, 0}, {10, 9}}
	var got []string
	for _, part := range dashes(path, 6, 4) {
		var l listing
		l.points(part)
		got = append(got, strings.TrimSpace(l.String()))
	}
	if want := "0,0 6,0;10,0 10,6"; strings.Join(got, ";") != want {
		t.Errorf("%q, want %s", got, want)
	}
	if dashes(nil, 6, 4) != nil {
		t.Error("dashes of nothing")
	}
	corner := dashes([]point{{0, 0}, {4, 0}, {4, 4}}, 6, 4)
	if len(corner) != 1 || len(corner[0]) != 3 || corner[0][2] != (point{4, 2}) {
		t.Errorf("a dash round a corner: %v", corner)
	}
}

func TestWedge(t *testing.T) {
	const half = 3.14159265
	b := bounds(wedge(50, 50, 10, 40, 0, half), 0)
	if b[0].x > 11 || b[1].x < 89 || b[0].y < 49 || b[1].y < 89 {
		t.Errorf("the lower half of a ring is within %v", b)
	}
}

func TestHeat(t *testing.T) {
	for _, c := range []struct {
		v, lo, hi float64
		want      string
	}{
		{0, 0, 10, "#EEF4FA"}, {10, 0, 10, "#062456"}, {5, 0, 10, "#3D8DC3"}, {7, 7, 7, "#3D8DC3"},
		{0, -5, 10, "#F7F7F7"}, {10, -5, 10, "#054A8C"}, {-10, -10, 5, "#B35806"},
	} {
		if got := hex(heat(c.v, c.lo, c.hi)); got != c.want {
			t.Errorf("heat(%v, %v, %v) = %s, want %s", c.v, c.lo, c.hi, got, c.want)
		}
	}
	if readable(white) != ink || readable(colourOf(0)) != white {
		t.Error("text is not readable on its background")
	}
	if colourOf(0) == colourOf(len(palette)) {
		t.Error("the ninth series has the colour of the first")
	}
}
