package run

import (
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// tooLong reports whether err refuses a request as larger than the model's window: it is
// known to, or it speaks of length, tokens or context as servers do whose words nobody
// has written down yet.
func tooLong(err error) bool {
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind == llm.Context {
		return llm.KindOf(err) == llm.Context
	}
	if e.Kind != llm.Protocol && (e.Kind != llm.Network || e.Status != 500) || e.Images != "" {
		return false
	}
	text := strings.ToLower(e.Err.Error())
	return lengthWords().about.MatchString(text) && !lengthWords().other.MatchString(text)
}

// lengthWords returns what matches a refusal for length, and what matches others that
// speak of lengths.
var lengthWords = sync.OnceValue(func() (w struct{ about, other *regexp.Regexp }) {
	w.about = regexp.MustCompile(`\b(context|prompt|input|inputs|sequence|conversation|history|messages)\b.{0,80}\b(tokens?|lengths?|long|longer|large|larger|limit|size|window|exceed\w*|overflow\w*)\b|` +
		`\b(tokens?|length)\b.{0,80}\b(exceed\w*|limit|maximum|max|at most|longer|larger|range|too (many|long|large))|` +
		`too (many tokens|long|large)\b|context.?overflow`)
	w.other = regexp.MustCompile(`max_?(completion|output|new)?_?tokens\b.{0,40}(must be|invalid|supports|at least|positive|unsupported|not supported)|completion tokens|` +
		`rate.?limit|per.?min|quota|please wait|\btools?\b|tool_|function|array too long|string too long|api.?key|temperature|` +
		`\b(images?|audio)\b|unsupported|unrecognized|unknown|schema|format`)
	return w
})

// outgrown reports whether err is worth leaving something out for, and asking once more: it
// refuses the request for its length, or seems to. A guess is made once between two replies.
func outgrown(s *openmanus.State, err error) bool {
	return llm.KindOf(err) == llm.Context || !s.TooLarge && tooLong(err)
}

// refusedRoom returns how many tokens a request has, at most, where the provider has
// refused one as too large: what it said of its window, and what it refused, say more
// than what is known of that.
func refusedRoom(s *openmanus.State, refused error) int {
	size := s.Size()
	room := size
	if known := s.Window().RequestBudget(); known > 0 {
		room = min(room, known)
	}
	if refused == nil {
		return room
	}
	fit, had := llm.Overflow(refused.Error())
	if fit == 0 {
		return room
	}
	told := openmanus.Window{Tokens: fit, Reply: s.Window().Reply}.RequestBudget()
	if had > 0 { // the provider counts otherwise than we do
		told = int(int64(told) * int64(size) / int64(had))
	}
	return min(room, told)
}
