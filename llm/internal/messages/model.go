package messages

import (
	"regexp"
	"slices"
	"strings"
)

// New returns the encoder for a model. A zero output (the tokens that a reply may
// have) or way (in which the model is asked to reason) follows from the name.
func New(model string, output int, way Thinking) *Encoder {
	m := &Encoder{Model: model, Output: output, Thinking: way}
	if output == 0 {
		m.Output = mostOutput(model)
	}
	if way == "" {
		m.Thinking = thinking(model)
	}
	return m
}

// Betas returns the names of the features that are asked for beyond the version.
// With one, models with a budget think between calls, too, as newer models always
// do. Claude 3.7 cannot, and hosts other than Anthropic refuse it.
func (m *Encoder) Betas() []string {
	if _, number := version(m.Model); m.Thinking != Budget || number == "3-7" {
		return nil
	}
	return []string{"interleaved-thinking-2025-05-14"}
}

// version returns the family and version in a model's name, such as "opus" and
// "4-6"; "" if there is none.
func version(model string) (family, number string) {
	name := regexp.MustCompile(`claude-(?:(\d(?:[-.]\d)?)-)?([a-z]+)(?:-(\d{1,2}(?:[-.]\d{1,2})?)(?:\D|$))?`).FindStringSubmatch(strings.ToLower(model))
	if name == nil {
		return "", ""
	}
	return name[2], strings.ReplaceAll(name[1]+name[3], ".", "-")
}

// mostOutput returns the most tokens of a reply of the model.
func mostOutput(model string) int {
	family, number := version(model)
	switch {
	case number == "3", number == "3-0":
		return 4096
	case number == "3-5":
		return 8192
	case family == "opus" && (number == "4" || number == "4-0" || number == "4-1"):
		return 32000
	}
	return 64000
}

// thinking returns the way in which the model is asked to reason. A name without a
// known version counts as that of a newer model.
func thinking(model string) Thinking {
	_, number := version(model)
	switch {
	case slices.Contains([]string{"2", "2-0", "2-1", "3", "3-0", "3-5"}, number):
		return None
	case slices.Contains([]string{"3-7", "4", "4-0", "4-1", "4-5"}, number):
		return Budget
	}
	return Adaptive
}
