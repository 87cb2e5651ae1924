package llm

import "strings"

// A Counter counts tokens as a model does, or nearly. Implementations are safe for
// concurrent use, and always return the same count for the same input: sessions
// decide by it, and must decide the same way when they are replayed.
type Counter interface {
	Text(text string) int
	Blob(b Blob) int
}

// The tokens that providers add, about, and at most.
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

// counter returns c, or [HalfTheBytes] if c is nil.
func counter(c Counter) Counter {
	if c == nil {
		return HalfTheBytes{}
	}
	return c
}

// countParts returns how many tokens the parts take, with those of results.
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

// CountHead returns how many tokens the instructions and tools of a request take,
// which come before its messages. A nil Counter is [HalfTheBytes].
func CountHead(c Counter, system string, tools []ToolSpec) int {
	c = counter(c)
	n := perMessage + c.Text(system)
	for _, t := range tools {
		n += perTool + c.Text(t.Name) + c.Text(t.Description) + c.Text(string(t.Input))
	}
	return n
}

// HalfTheBytes is a [Counter] for models of which nothing is known. It counts two
// bytes as a token, which is more tokens than nearly all text has.
type HalfTheBytes struct{}

// Text implements [Counter].
func (HalfTheBytes) Text(text string) int { return (len(text) + 1) / 2 }

// Blob implements [Counter]. An image counts as much as at the provider that
// counts the most for it; of another file, eight bytes are a token.
func (HalfTheBytes) Blob(b Blob) int {
	const image = 1600
	if strings.HasPrefix(b.MIME, "image/") {
		return image
	}
	return image + len(b.Data)/8
}
