// Package tokens counts tokens as models do. Text is counted by the vocabularies of
// OpenAI's models, with exactly their result; the vocabularies are part of the
// program, and loaded with the first count. Images are counted by the rules of each
// provider.
//
// The vocabularies of other providers are not public: for their models, text counts
// as for OpenAI's newest models. Models at a server of one's own count
// each digit besides, as Qwen, Gemma, Mistral and SmolLM do, because their windows are small
// and their servers refuse what does not fit.
package tokens

import (
	"hash/maphash"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus/llm/tokens/internal/bpe"
)

// A Counter is an [llm.Counter]. It remembers the counts of long texts, so that a
// conversation that has grown costs only the count of what was added.
type Counter struct {
	vocabulary func() *bpe.Vocabulary
	image      func(width, height int) int
	digits     bool // each is a token

	seed maphash.Seed
	mu   sync.Mutex
	kept map[uint64]int
}

// For returns the counter for a model, which may be at a server of one's own. Models of other makers are counted with
// OpenAI's vocabulary, which is an estimate. It loads no vocabulary yet: that takes some
// milliseconds at the first count. The counter is safe for concurrent use.
func For(own bool, name string) *Counter {
	c := &Counter{vocabulary: bpe.O200k, image: detailed, digits: own, seed: maphash.MakeSeed(), kept: make(map[uint64]int)}
	name = strings.ToLower(name)
	switch {
	case strings.Contains(name, "claude"):
		c.image = anthropicImage
	case strings.Contains(name, "gemini") || strings.Contains(name, "gemma"):
		c.image = googleImage
	case name == "gpt-4" || strings.HasPrefix(name, "gpt-4-") || strings.HasPrefix(name, "gpt-3.5"):
		c.vocabulary = bpe.Cl100k
	}
	return c
}

const (
	worthKeeping = 256  // bytes
	mostKept     = 1024 // counts
)

// count counts a text anew. OpenAI's vocabularies have a token for up to three digits.
func (c *Counter) count(text string) int {
	n := c.vocabulary().Count(text)
	if !c.digits {
		return n
	}
	run := 0
	for i := range len(text) + 1 {
		if i < len(text) && '0' <= text[i] && text[i] <= '9' {
			run++
			continue
		}
		n += run - (run+2)/3
		run = 0
	}
	return n
}

// Text implements [llm.Counter]. Counts of longer texts are kept, so that counting a
// growing conversation again costs only its new messages.
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
