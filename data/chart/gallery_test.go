package chart

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/data"
)

var update = flag.Bool("update", false, "write docs/gallery anew")

const gallery = "../../docs/gallery"

// charts are the gallery: each is drawn as docs/gallery/NAME.png.
var charts = []struct {
	name, file string
	req        Request
	shown      []string // kinds of insights that are drawn
}{
	{"line-seasonality", "airpassengers.csv", Request{Title: "Airline passengers, 1949 to 1960", Subtitle: "Thousands a month", Note: "Source: Box & Jenkins"}, []string{"trend", "seasonality"}},
	{"line-series", "stocks.csv", Request{Title: "Stock prices", Y: []string{"price"}, Series: "symbol"}, nil},
	{"bar-horizontal", "gapminder-health-income.csv", Request{Kind: "bar", X: "country", Y: []string{"population"}, Top: 15, Title: "Where people live"}, nil},
	{"scatter-correlation", "mtcars.csv", Request{Kind: "scatter", X: "wt", Y: []string{"mpg"}, Title: "Heavier cars go less far"}, []string{"correlation"}},
	{"histogram", "seattle-weather.csv", Request{Kind: "histogram", X: "temp_max", Title: "Daily maximum temperature in Seattle"}, nil},
	{"box", "penguins.json", Request{Kind: "box", X: "Species", Y: []string{"Flipper Length (mm)"}, Title: "Flipper length by species"}, nil},
	{"pie", "seattle-weather.csv", Request{Kind: "pie", X: "weather", Aggregate: "count", Title: "Days by weather in Seattle"}, nil},
	{"heatmap", "seattle-weather.csv", Request{Kind: "heatmap", X: "date", Bucket: "month", Series: "weather", Aggregate: "count", Title: "Weather by month"}, nil},
	{"dual-axis", "seattle-weather.csv", Request{Kind: "dual", X: "date", Bucket: "month", Y: []string{"precipitation", "temp_max"}, Title: "Rain and warmth take turns"}, nil},
	{"area-stacked", "stocks.csv", Request{Kind: "stacked area", X: "date", Y: []string{"price"}, Series: "symbol", Bucket: "quarter", Title: "Prices on top of each other"}, nil},
	{"cjk", "cities.csv", Request{Title: "各城市销售额", Lang: "zh"}, []string{"majority"}},
	{"right-to-left", "arabic.csv", Request{Title: "المبيعات حسب المدينة", Kind: "bar"}, nil},
	{"line-turning-point", "nile.csv", Request{Title: "Flow of the Nile at Aswan", Subtitle: "10⁸ m³ a year", Kind: "line"}, []string{"trend", "extremes"}},
	{"bar-stacked", "stocks.csv", Request{Kind: "stacked bar", X: "date", Y: []string{"price"}, Series: "symbol", Bucket: "year", Aggregate: "mean", Title: "Mean price by year"}, nil},
}

func figure(t testing.TB, file string, req Request) *Figure {
	t.Helper()
	dir := "../testdata"
	if _, err := os.Stat(filepath.Join("testdata", file)); err == nil {
		dir = "testdata"
	}
	tab, err := data.Read(context.Background(), os.DirFS(dir), file, data.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := Build(tab, req)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestGallery draws every chart and compares it with the picture that a person
// has looked at.
func TestGallery(t *testing.T) {
	var fonts Fonts
	for _, c := range charts {
		t.Run(c.name, func(t *testing.T) {
			f := figure(t, c.file, c.req)
			for _, kind := range c.shown {
				found := false
				for _, i := range f.Insights {
					if i.Kind == kind {
						f.Shown, found = append(f.Shown, i.ID), true
						break
					}
				}
				if !found {
					t.Errorf("there is no %s to show: %+v", kind, f.Insights)
				}
			}
			got, err := f.PNG(&fonts)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.SVG(&fonts); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(gallery, c.name+".png")
			if *update {
				if err := os.WriteFile(name, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err, "\nlook at it after -update")
			}
			if d := difference(t, got, want); d > 0.002 {
				out := filepath.Join(t.ArtifactDir(), c.name+".png")
				if err := os.WriteFile(out, got, 0o644); err != nil {
					t.Error(err)
				}
				t.Errorf("%.2f %% of the picture differs from %s: look at %s; -update accepts it", 100*d, name, out)
			}
		})
	}
}

// difference is the share of pixels that differ by more than a shade.
func difference(t testing.TB, a, b []byte) float64 {
	t.Helper()
	x, y := decodePNG(t, a), decodePNG(t, b)
	if x.Bounds() != y.Bounds() {
		return 1
	}
	n := 0
	for i := 0; i < len(x.Pix); i += 4 {
		if far(x.Pix[i], y.Pix[i]) || far(x.Pix[i+1], y.Pix[i+1]) || far(x.Pix[i+2], y.Pix[i+2]) {
			n++
		}
	}
	return float64(n) / float64(len(x.Pix)/4)
}

func far(a, b uint8) bool { return max(a, b)-min(a, b) > 40 }

func decodePNG(t testing.TB, data []byte) *image.RGBA {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out := image.NewRGBA(img.Bounds())
	draw.Draw(out, out.Bounds(), img, image.Point{}, draw.Src)
	return out
}

// TestDifferenceCanFail: a chart with one other value is another picture.
func TestDifferenceCanFail(t *testing.T) {
	var fonts Fonts
	f := figure(t, "cities.csv", Request{Kind: "bar"})
	a, err := f.PNG(&fonts)
	if err != nil {
		t.Fatal(err)
	}
	f.Series[0].Y[0] /= 2
	b, err := f.PNG(&fonts)
	if err != nil {
		t.Fatal(err)
	}
	if d := difference(t, a, b); d < 0.002 {
		t.Errorf("only %.4f of the picture differs", d)
	}
}

// TestSpecificationIsWhole: a figure read back from its file is the same chart.
func TestSpecificationIsWhole(t *testing.T) {
	var fonts Fonts
	for _, c := range charts {
		f := figure(t, c.file, c.req)
		spec, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse(spec)
		if err != nil {
			t.Fatal(c.name, err)
		}
		a, err := f.SVG(&fonts)
		if err != nil {
			t.Fatal(err)
		}
		b, err := back.SVG(&fonts)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s: another chart", c.name)
		}
	}
}

// TestHTMLIsWholeInItself: nothing is loaded, and no data gets out of the
// script it stands in.
func TestHTMLIsWholeInItself(t *testing.T) {
	f := figure(t, "cities.csv", Request{Kind: "bar", Title: `</script><script>alert(1)</script>`})
	f.X.Labels[0] = `</script><img src=x onerror=alert(2)>`
	page, err := f.HTML(new(Fonts))
	if err != nil {
		t.Fatal(err)
	}
	script, err := Script()
	if err != nil {
		t.Fatal(err)
	}
	rest := strings.Replace(string(page), string(script), "", 1)
	for _, bad := range []string{"src=\"", "href=", "http://", "https://", "<script>alert", "</script><img", "@import"} {
		if strings.Contains(rest, bad) {
			t.Errorf("the page has %q:\n%s", bad, rest)
		}
	}
	for _, want := range []string{`<div id="chart" role="img" aria-label="&lt;/script`, "<svg ", "&lt;/script&gt;&lt;img"} { // what is seen without scripts
		if !strings.Contains(rest, want) {
			t.Errorf("the page lacks %q:\n%s", want, rest)
		}
	}
}
