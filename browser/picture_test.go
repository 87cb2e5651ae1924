package browser

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"net/http"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// decoded returns a picture for people, which is small.
func decoded(t *testing.T, what string, data []byte) image.Image {
	t.Helper()
	img, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if len(data) > smallBytes || img.Bounds().Dx() > smallWidth {
		t.Errorf("%s has %d bytes and is %v", what, len(data), img.Bounds().Size())
	}
	return img
}

// reds returns how many pixels are red: frames of the element 0 are.
func reds(img image.Image) (n int) {
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			if r, g, b, _ := img.At(x, y).RGBA(); r>>8 > 150 && g>>8 < 100 && b>>8 < 100 {
				n++
			}
		}
	}
	return n
}

// TestPictures: people get a small picture after each act, whether the model sees or
// not; the model's is a view; and there is none of an empty page.
func TestPictures(t *testing.T) {
	url := site(t, map[string]http.HandlerFunc{
		"/": serve(`<title>P</title><button onclick="this.textContent='Off'">On</button>`), "/white": serve(``),
	})
	for _, vision := range []bool{false, true} {
		p := newPlayer(t, Config{Vision: vision})
		for _, tt := range []struct {
			input string
			has   bool
		}{
			{`{"action":"go_to_url","url":"` + url + `/"}`, true},
			{`{"action":"click_element","index":0}`, true},
			{`{"action":"click_element","index":77}`, true}, // it fails
			{`{"action":"get_text"}`, false},
			{`{"action":"go_to_url","url":"` + url + `/white"}`, false},
			{`{"action":"open_tab","url":"about:blank"}`, false},
		} {
			res, _ := p.tool.Run(t.Context(), callOf(tt.input))
			if tt.has {
				decoded(t, tt.input, res.Picture)
			} else if res.Picture != nil {
				t.Errorf("%s has a picture", tt.input)
			}
			views := 0
			for _, part := range res.Parts {
				if b, ok := part.(llm.Blob); ok && b.View {
					views++
				}
			}
			if want := map[bool]int{tt.has && vision: 1}[true]; views != want {
				t.Errorf("%s, with a model that sees %v: %d pictures", tt.input, vision, views)
			}
		}
	}
}

// TestDepict: the question about an act shows its elements, framed, wherever they are
// on the page.
func TestDepict(t *testing.T) {
	url := site(t, map[string]http.HandlerFunc{
		"/": serve(`<title>D</title><div style="height:3000px">top</div><button style="background:#fff;color:#000">Far</button>` +
			`<script>onresize = () => document.title = 'resized'</script>`),
		"/asks": serve(`<title>A</title><button style="background:#fff;color:#000" onclick="confirm('Sure?')">Go</button> <input>`),
	})
	p := newPlayer(t, Config{})
	depict := func(input string) []byte {
		t.Helper()
		call := callOf(input)
		data, err := openmanus.Depicter(p.tool).Depict(t.Context(), call)
		if err != nil {
			t.Fatalf("%s: %v", input, err)
		}
		return data
	}
	p.line("go_to_url url=" + url + "/")
	if data := depict(`{"action":"go_to_url","url":"x"}`); data != nil {
		t.Error("going somewhere is depicted")
	}
	p.line("want Title: D")
	img := decoded(t, "far", depict(`{"action":"click_element","index":0}`))
	if n := reds(img); n < 20 || img.Bounds().Dy() > 2*margin+60 {
		t.Errorf("%d pixels are red in %v", n, img.Bounds())
	}
	p.line("wait seconds=0")
	p.line("want Title: D")
	p.line("go_to_url url=" + url + "/asks")
	for _, input := range []string{
		`{"action":"click_element","index":0}`, `{"action":"fill_form","fields":[{"index":1,"text":"x"}],"submit":0}`,
		`{"action":"drag","index":0,"to_index":1}`,
	} {
		if n := reds(decoded(t, input, depict(input))); n < 20 {
			t.Errorf("%s: %d pixels are red", input, n)
		}
	}
	decoded(t, "a script", depict(`{"action":"execute_js","script":"1"}`))
	p.line("click_element index=0")
	if data := depict(`{"action":"handle_dialog","accept":true}`); data != nil {
		t.Error("a page that cannot be drawn is depicted")
	}
	p.line("handle_dialog accept=true")
	if _, err := p.tool.Depict(t.Context(), callOf(fmt.Sprintf(`{"action":"click_element","index":%d}`, 99))); err == nil {
		t.Error("an element that there is not is depicted")
	}
}
