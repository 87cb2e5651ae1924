// Package tokens counts tokens as models do: text by the vocabularies of
// OpenAI's models, which are in the program and read when something is
// counted first; images by the rules of each provider.
//
// For models of other providers, whose vocabularies are not public, text is
// counted as OpenAI's newest would count it.
package tokens

import (
	"hash/maphash"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/openmanus-go/openmanus/llm"
)

// A Counter is an [llm.Counter]. It remembers what it counted last, so that to
// count a conversation that has grown costs what was added.
type Counter struct {
	vocabulary func() *codec.Codec
	image      func(width, height int) int

	seed maphash.Seed
	mu   sync.Mutex
	kept map[uint64]int
}

// For returns the counter for a provider's model. It reads no vocabulary yet.
func For(provider, name string) *Counter {
	c := &Counter{vocabulary: o200k, image: openAIImage, seed: maphash.MakeSeed(), kept: make(map[uint64]int)}
	name = strings.ToLower(name)
	switch {
	case strings.Contains(name, "claude"):
		c.image = anthropicImage
	case strings.Contains(name, "gemini") || strings.Contains(name, "gemma"):
		c.image = googleImage
	case name == "gpt-4" || strings.HasPrefix(name, "gpt-4-") || strings.HasPrefix(name, "gpt-3.5"):
		c.vocabulary = cl100k
	}
	return c
}

// The vocabularies, shared by all counters: they do not change.
var (
	o200k  = sync.OnceValue(codec.NewO200kBase)
	cl100k = sync.OnceValue(codec.NewCl100kBase)
)

const (
	worthKeeping = 256  // bytes
	mostKept     = 1024 // counts
)

// Text implements [llm.Counter].
func (c *Counter) Text(text string) int {
	if len(text) < worthKeeping {
		return c.count(text)
	}
	key := maphash.String(c.seed, text)
	c.mu.Lock()
	n, ok := c.kept[key]
	c.mu.Unlock()
	if ok {
		return n
	}
	n = c.count(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.kept) >= mostKept {
		clear(c.kept)
	}
	c.kept[key] = n
	return n
}

// longRun is how many bytes without a space are counted at once. The time
// that merging takes grows faster than its length, so that a longer run is
// counted in pieces: a token more for each.
const longRun = 2048

func (c *Counter) count(text string) (n int) {
	v := c.vocabulary()
	for text != "" {
		end := firstRunEnd(text)
		k, err := v.Count(text[:end])
		if err != nil { // its pattern has no time limit that it could exceed
			k = llm.HalfTheBytes{}.Text(text[:end])
		}
		n += k
		text = text[end:]
	}
	return n
}

// firstRunEnd returns where in the first run of text that is too long a piece
// ends, or the length of text.
func firstRunEnd(text string) int {
	run := 0
	for i, r := range text {
		if unicode.IsSpace(r) {
			run = 0
			continue
		}
		if run += utf8.RuneLen(r); run >= longRun {
			return i
		}
	}
	return len(text)
}
