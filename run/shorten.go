package run

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// defaultMaxOutput is the default of [Worker].MaxOutput.
const defaultMaxOutput = 10_000

// shorten makes the texts of a result valid UTF-8 and, if they are too long
// together, cuts them in the middle: the whole goes into a blob, and a marker
// says how much is missing and how to read it.
func (w *Worker) shorten(ctx context.Context, d *openmanus.CallDone) error {
	limit := cmp.Or(w.MaxOutput, defaultMaxOutput)
	var whole strings.Builder
	var parts llm.Parts
	for _, p := range d.Parts {
		t, ok := p.(llm.Text)
		if !ok {
			parts = append(parts, p)
			continue
		}
		whole.WriteString(strings.ToValidUTF8(t.Text, "\uFFFD"))
	}
	text := whole.String()
	if len(text) > limit {
		ref, err := w.blobs().Put(ctx, []byte(text))
		if err != nil {
			return fmt.Errorf("keeping the output of %s: %w", d.Call, err)
		}
		d.Whole, text = ref, middle(text, limit, ref)
	}
	if text == "" && len(parts) == 0 {
		text = "(no output)"
	}
	if text != "" {
		parts = append(llm.Parts{llm.Text{Text: text}}, parts...)
	}
	d.Parts = parts
	return nil
}

// middle returns text with its middle left out, marker included within limit
// unless limit is too small for the marker.
func middle(text string, limit int, ref openmanus.Ref) string {
	marker := func(left, offset int) string {
		return fmt.Sprintf("\n\n[... %d bytes left out; read_output {\"ref\":%q,\"offset\":%d} shows them ...]\n\n", left, ref, offset)
	}
	room := max(0, limit-len(marker(len(text), len(text))))
	head, tail := room-room/2, len(text)-room/2
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + marker(tail-head, head) + text[tail:]
}
