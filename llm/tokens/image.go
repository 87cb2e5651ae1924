package tokens

import (
	"bytes"
	"image"
	_ "image/gif" // how large images are
	_ "image/jpeg"
	_ "image/png"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
)

// Blob implements [llm.Counter]. An image whose size cannot be read counts as
// one of 1024 x 1024; of another file, eight bytes are a token.
func (c *Counter) Blob(b llm.Blob) int {
	if !strings.HasPrefix(b.MIME, "image/") {
		return llm.HalfTheBytes{}.Blob(b)
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(b.Data))
	if err != nil || size.Width <= 0 || size.Height <= 0 {
		size.Width, size.Height = 1024, 1024
	}
	return c.image(size.Width, size.Height)
}

// The rules of the providers:
//
//   - https://platform.openai.com/docs/guides/images-vision#calculating-costs
//   - https://docs.anthropic.com/en/docs/build-with-claude/vision#calculate-image-costs
//   - https://ai.google.dev/gemini-api/docs/tokens#multimodal-tokens

// OpenAIImage returns what OpenAI counts for an image: of detail "low" always
// the same; of others by tiles of 512 pixels, after it was made to fit into
// 2048 x 2048 and its short side to 768. An image of unknown size, which is
// 0, counts as 1024 x 1024 if its detail is "high", and 1024 tokens if not.
func OpenAIImage(width, height int, detail string) int {
	switch {
	case detail == "low":
		return 85
	case width > 0 && height > 0:
		return openAIImage(width, height)
	case detail == "high":
		return openAIImage(1024, 1024)
	}
	return 1024
}

// detailed is what counts where nothing is said of the detail, as in all that
// is sent from here: OpenAI looks closely then.
func detailed(width, height int) int { return OpenAIImage(width, height, "high") }

// openAIImage returns the tokens of an image of high detail: 85 for all of it, and
// 170 for each tile. A small image is enlarged first.
func openAIImage(width, height int) int {
	w, h := float64(width), float64(height)
	if most := max(w, h); most > 2048 {
		w, h = w*2048/most, h*2048/most
	}
	least := min(w, h)
	w, h = w*768/least, h*768/least
	return tiles(w, 512)*tiles(h, 512)*170 + 85
}

// anthropicImage returns the tokens of an image for Claude: one for 750 pixels of
// area, after it was made to fit into 1568 x 1568. About 1,600 are the most.
func anthropicImage(width, height int) int {
	w, h := float64(width), float64(height)
	if most := max(w, h); most > 1568 {
		w, h = w*1568/most, h*1568/most
	}
	return min(int(w*h/750)+1, 1600)
}

// googleImage returns the tokens of an image for Gemini: 258 for each tile of 768
// pixels. An image of at most 384 x 384 is one tile.
func googleImage(width, height int) int {
	if width <= 384 && height <= 384 {
		return 258
	}
	return tiles(float64(width), 768) * tiles(float64(height), 768) * 258
}

// tiles is how many tiles of a size cover a length.
func tiles(length, size float64) int {
	n := int(length / size)
	if float64(n)*size < length-1e-6 {
		n++
	}
	return n
}
