package llm

import "strings"

// A Counter counts tokens as a model does, or nearly. Implementations are safe
// for concurrent use and always give the same answer to the same question.
type Counter interface {
	Text(text string) int
	Blob(b Blob) int
}

// What a provider adds to what is sent, in tokens, at most and about.
const (
	perMessage = 4
	perCall    = 8 // and result
	perTool    = 12
)

// Count returns how many tokens a message takes. A nil Counter is
// [HalfTheBytes].
func Count(c Counter, m Message) int {
	return perMessage + countParts(counter(c), m.Parts)
}

func counter(c Counter) Counter {
	if c == nil {
		return HalfTheBytes{}
	}
	return c
}

func countParts(c Counter, parts Parts) (n int) {
	for _, p := range parts {
		switch p := p.(type) {
		case Text:
			n += c.Text(p.Text)
		case Thinking:
			n += c.Text(p.Text)
		case Call:
			n += perCall + c.Text(p.Name) + c.Text(p.Input)
		case Result:
			n += perCall + countParts(c, p.Parts)
		case Blob:
			n += c.Blob(p)
		}
	}
	return n
}

// CountHead returns how many tokens come before the messages of a request:
// its instructions and tools.
func CountHead(c Counter, system string, tools []ToolSpec) int {
	c = counter(c)
	n := perMessage + c.Text(system)
	for _, t := range tools {
		n += perTool + c.Text(t.Name) + c.Text(t.Description) + c.Text(string(t.Input))
	}
	return n
}

// HalfTheBytes is the [Counter] of who knows nothing of a model: two bytes to
// a token, which is more tokens than there are in nearly all text.
type HalfTheBytes struct{}

// Text implements [Counter].
func (HalfTheBytes) Text(text string) int { return (len(text) + 1) / 2 }

// Blob implements [Counter]: an image takes what it takes where most is taken
// for it; of another file, eight bytes are a token.
func (HalfTheBytes) Blob(b Blob) int {
	const image = 1600
	if strings.HasPrefix(b.MIME, "image/") {
		return image
	}
	return image + len(b.Data)/8
}
