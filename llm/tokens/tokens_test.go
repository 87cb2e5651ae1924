package tokens

import (
	"bytes"
	"image"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/llm"
)

// TestImages is case 16 of what OpenManus counts, and the providers' examples.
func TestImages(t *testing.T) {
	for _, tt := range []struct {
		width, height int
		detail        string
		want          int
	}{
		{0, 0, "low", 85}, {4096, 2048, "low", 85}, {0, 0, "high", 765}, {4096, 2048, "high", 1105}, {512, 512, "high", 765}, {1024, 768, "medium", 765}, {0, 0, "", 1024},
		{1, 100_000, "high", 765 * 1000}, // absurd, and no crash
	} {
		got := OpenAIImage(tt.width, tt.height, tt.detail)
		if got != tt.want && tt.want < 765*1000 || got <= 0 {
			t.Errorf("%d x %d, %s: %d, want %d", tt.width, tt.height, tt.detail, got, tt.want)
		}
	}
	if a, g, s := anthropicImage(1092, 1092), googleImage(1024, 1024), googleImage(300, 300); a != 1590 || g != 4*258 || s != 258 {
		t.Errorf("%d, %d, %d", a, g, s)
	}
	var data bytes.Buffer
	if err := png.Encode(&data, image.NewGray(image.Rect(0, 0, 2048, 1024))); err != nil {
		t.Fatal(err)
	}
	b := llm.Blob{MIME: "image/png", Data: data.Bytes()}
	for name, want := range map[string]int{"gpt-5": 1105, "claude-sonnet-4-5": 1600, "gemini-2.5-pro": 6 * 258} {
		if got := For(false, name).Blob(b); got != want {
			t.Errorf("%s counts %d, want %d", name, got, want)
		}
	}
	if got := For(false, "gpt-5").Blob(llm.Blob{MIME: "image/webp", Data: []byte("?")}); got != 765 {
		t.Errorf("an image that cannot be read: %d", got)
	}
}

func TestText(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       int
	}{
		{"gpt-5", "", 0}, {"gpt-5", "hello world", 2}, {"gpt-4", "hello world", 2}, {"gpt-5", "Größe und 東京", 4}, {"gpt-5", "\xff\xfe", 1},
	} {
		if got := For(false, tt.name).Text(tt.text); got != tt.want {
			t.Errorf("%s counts %d for %q, want %d", tt.name, got, tt.text, tt.want)
		}
	}
	if a, b := For(false, "gpt-4").Text("antidisestablishmentarianism 東京都"), For(false, "gpt-4o").Text("antidisestablishmentarianism 東京都"); a == b {
		t.Errorf("both vocabularies count %d", a)
	}
}

// Models of small servers have a token for each digit, and refuse what does not fit.
func TestDigits(t *testing.T) {
	for _, tt := range []struct {
		own  bool // a server of one's own
		text string
		want int
	}{
		{false, "1234567", 3}, {true, "1234567", 7}, {true, "12 a 3456b", 2 + 1 + 1 + 4 + 1}, {true, "", 0}, {true, "7", 1},
		{false, strings.Repeat("1234567 x\n", 100), 500}, {true, strings.Repeat("1234567 x\n", 100), 900},
	} {
		if got := For(tt.own, "qwen3").Text(tt.text); got != tt.want {
			t.Errorf("own %v: %d for %q, want %d", tt.own, got, tt.text, tt.want)
		}
	}
}

// TestLongRuns: a run without spaces is merged whole, and in time.
func TestLongRuns(t *testing.T) {
	for _, name := range []string{"gpt-5", "gpt-4"} {
		if got := For(false, name).Text(strings.Repeat("a", 1<<20)); got != 1<<17 { // of aaaaaaaa
			t.Errorf("%s: %d", name, got)
		}
	}
}

// TestIsSteady: what is remembered is what would be counted.
func TestIsSteady(t *testing.T) {
	c := For(false, "gpt-5")
	r := rand.New(rand.NewPCG(1, 2))
	var texts []string
	for range 1500 {
		texts = append(texts, strings.Repeat(string(rune('a'+r.IntN(26)))+" ", 150+r.IntN(50)))
	}
	for _, text := range texts {
		if got, want := c.Text(text), c.vocabulary().Count(text); got != want || c.Text(text) != want {
			t.Fatalf("%d, want %d", got, want)
		}
	}
}
