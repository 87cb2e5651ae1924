package tools

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// A linePattern is a regular expression that is applied to lines.
type linePattern struct {
	re   *regexp.Regexp // no match reaches beyond a line
	must []byte         // a part of every match; none if nothing is known
	fold bool           // must is in lower case, and text is compared in lower case
}

// newLinePattern compiles an expression in the language of RE2. In a text of
// many lines it finds what it would find in each line alone: like ripgrep, it
// removes line ends from what the expression can match. ^ and $ are those of
// the line, whether it ends with "\n" or "\r\n".
func newLinePattern(expr string, literal, ignoreCase bool) (*linePattern, error) {
	flags := syntax.Perl &^ syntax.OneLine
	if ignoreCase {
		flags |= syntax.FoldCase
	}
	if literal {
		expr = regexp.QuoteMeta(expr)
	}
	tree, err := syntax.Parse(expr, flags)
	if err != nil {
		return nil, fmt.Errorf("the pattern is not a valid regular expression: %w", err)
	}
	if err := byLine(tree); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(tree.String())
	if err != nil {
		return nil, fmt.Errorf("the pattern cannot be used: %w", err)
	}
	p := &linePattern{re: re}
	exact, folded := mustHave(tree)
	if p.must = []byte(exact); exact == "" {
		p.must, p.fold = []byte(folded), folded != ""
	}
	return p, nil
}

// byLine changes the expression so that it matches no line end, because lines are searched
// one by one. A pattern that needs one is an error.
func byLine(re *syntax.Regexp) error {
	switch re.Op {
	case syntax.OpLiteral:
		if slices.Contains(re.Rune, '\n') {
			return errors.New("the pattern contains a line break, but lines are searched one by one: " +
				"search for a part that is within one line")
		}
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpCharClass:
		re.Rune = withoutLineEnd(re.Rune)
	case syntax.OpBeginText:
		re.Op = syntax.OpBeginLine
	case syntax.OpEndText, syntax.OpEndLine:
		cr := &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{'\r'}}
		*re = syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{
			{Op: syntax.OpQuest, Sub: []*syntax.Regexp{cr}},
			{Op: syntax.OpEndLine},
		}}
		return nil
	}
	for _, sub := range re.Sub {
		if err := byLine(sub); err != nil {
			return err
		}
	}
	return nil
}

// withoutLineEnd removes '\n' from a class, which is a list of ranges.
func withoutLineEnd(class []rune) []rune {
	var out []rune
	for i := 0; i+1 < len(class); i += 2 {
		lo, hi := class[i], class[i+1]
		if lo > '\n' || hi < '\n' {
			out = append(out, lo, hi)
			continue
		}
		if lo < '\n' {
			out = append(out, lo, '\n'-1)
		}
		if hi > '\n' {
			out = append(out, '\n'+1, hi)
		}
	}
	return out
}

// mustHave returns the longest text that every match of re contains, as far as
// that is easy to see; and the longest text that every match contains once it
// is in lower case.
func mustHave(re *syntax.Regexp) (exact, folded string) {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return "", foldable(re.Rune)
		}
		if !slices.Contains(re.Rune, utf8.RuneError) { // it matches any byte that is not UTF-8
			return string(re.Rune), ""
		}
	case syntax.OpCapture, syntax.OpPlus:
		return mustHave(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return mustHave(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			e, f := mustHave(sub)
			exact, folded = longer(exact, e), longer(folded, f)
		}
	}
	return exact, folded
}

func longer(a, b string) string {
	if len(b) > len(a) {
		return b
	}
	return a
}

// foldable returns the longest part of a text in lower case whose case variants
// are all ASCII. K and S have others: U+212A and U+017F.
func foldable(text []rune) string {
	longest := ""
	for part := range strings.FieldsFuncSeq(strings.ToLower(string(text)), func(r rune) bool {
		return r >= utf8.RuneSelf || r == 'k' || r == 's'
	}) {
		longest = longer(longest, part)
	}
	return longest
}

// appendLower appends text with ASCII letters in lower case.
func appendLower(to, text []byte) []byte {
	n := len(to)
	to = append(to, text...)
	for i, c := range to[n:] {
		if 'A' <= c && c <= 'Z' {
			to[n+i] = c | 0x20
		}
	}
	return to
}
