package llm

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Overflow returns what the text of a refusal says of a request that was too large: how
// many tokens fit, reply included, and how many the request had. A number that it does not say is 0.
// So are both if the text does not speak of tokens, or of a context, but of characters or bytes.
func Overflow(text string) (fit, had int) {
	text = overflowWords().status.ReplaceAllString(strings.ToLower(strings.ReplaceAll(text, ",", "")), "")
	if !overflowWords().tokens.MatchString(text) || overflowWords().other.MatchString(text) {
		return 0, 0
	}
	fit, had = number(overflowWords().fit, text), number(overflowWords().had, text)
	if fit < leastWindow {
		fit = 0
	}
	if had <= fit {
		had = 0
	}
	return fit, had
}

// TooLong reports whether the text of a refusal, without a number, is about how many tokens a
// request has: it does not speak of characters or bytes, nor is it that of a gateway, which
// does not know of tokens.
func TooLong(text string) bool {
	text = strings.ToLower(text)
	return !overflowWords().other.MatchString(text) && !strings.HasSuffix(text, "(http 413)")
}

// leastWindow is the fewest tokens that a window has: a smaller number in a refusal is of
// something else.
const leastWindow = 256

// overflowWords returns what stands around both numbers, the most certain first.
var overflowWords = sync.OnceValue(func() (w struct {
	fit, had      []*regexp.Regexp
	tokens, other *regexp.Regexp // what the numbers are of
	status        *regexp.Regexp // numbers that are of nothing: see [Error.Error]
}) {
	w.status = regexp.MustCompile(`\bhttp \d{3}\b|\bstatus(?: code)?\W{0,4}\d{3}\b|\bcode\W{0,4}\d{3,5}\b|<\d{3}>`)
	w.tokens = regexp.MustCompile(`token|context|n_ctx|model_len|range of input length`)
	w.other = regexp.MustCompile(`\b(strings?|[kmg]?i?b|(?:mega|kilo)?bytes?|body|characters?|chars)\b`)
	for _, p := range []string{
		`n_ctx\W{1,4}(\d+)`,
		`\[\d+ (\d+)\]`, // DashScope: a range
		`context (?:length|window|size)\D{0,40}?(\d+)`,
		`max_(?:seq_len|model_len|num_tokens)\D{0,12}(\d+)`,
		`(\d+) maximum`,
		`> (\d+)`,
		`(?:<=|at most|limit of|limit:|up to) (\d+)`,
		`maximum (?:model |prompt |input |allowed input |supported sequence )*length\D{0,20}?(\d+)`,
		`maximum number of tokens allowed \D{0,3}(\d+)`,
		`cannot exceed (\d+)`,
		`only (\d+) (?:tokens )?fit`,
	} {
		w.fit = append(w.fit, regexp.MustCompile(p))
	}
	for _, p := range []string{
		`n_prompt_tokens\W{1,4}(\d+)`,
		`(?:requested|resulted in|contains|given:|has|input \(|request \(|prompt is|too long:|requested:) ?(?:about )?(\d+)`,
		`(?:input length|token count|prompt length)\D{0,6}(\d+)`,
		`\(length (\d+)\)`,
		`(\d+) tokens? (?:>|exceeds)`,
	} {
		w.had = append(w.had, regexp.MustCompile(p))
	}
	return w
})

// number returns the number that the first of the expressions finds in text; 0: none does.
func number(in []*regexp.Regexp, text string) int {
	for _, re := range in {
		if m := re.FindStringSubmatch(text); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil {
				return n
			}
		}
	}
	return 0
}
