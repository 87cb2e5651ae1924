package messages

import (
	"regexp"
	"slices"
	"strings"
)

// New returns the encoder for a model. What is zero is known from the name:
// how many tokens a reply may have, and how the model is asked to reason.
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

// Betas are the names of what is asked for beyond the version. Models that
// have a budget think between calls too if asked so, as the newer ones do
// anyway; Claude 3.7 does not, and elsewhere than at Anthropic it is refused.
func (m *Encoder) Betas() []string {
	if _, number := version(m.Model); m.Thinking != Budget || number == "3-7" {
		return nil
	}
	return []string{"interleaved-thinking-2025-05-14"}
}

// version returns the family and version that a model's name tells, such as
// "opus" and "4-6", whatever stands around it; "" if it tells none.
func version(model string) (family, number string) {
	name := regexp.MustCompile(`claude-(?:(\d(?:[-.]\d)?)-)?([a-z]+)(?:-(\d{1,2}(?:[-.]\d{1,2})?)(?:\D|$))?`).FindStringSubmatch(strings.ToLower(model))
	if name == nil {
		return "", ""
	}
	return name[2], strings.ReplaceAll(name[1]+name[3], ".", "-")
}

// mostOutput is how many tokens a reply of the model may have.
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

// thinking is how the model is asked to reason. What the name does not tell is
// taken for a model that is newer than this.
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
