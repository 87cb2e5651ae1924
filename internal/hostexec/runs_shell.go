package hostexec

import "strings"

// script adds the parts of the commands in a script for a shell.
func (r *reader) script(text string) {
	if r.depth >= maxDepth {
		return
	}
	r.depth++
	defer func() { r.depth-- }()
	for _, words := range r.split(text) {
		for len(words) > 0 && strings.Contains(" if then else elif while until do ! { time ", " "+words[0]+" ") {
			words = words[1:]
		}
		r.command(words, true)
	}
}

// split returns the words of the commands in a script. It knows quotes, variables and what
// parts commands, and reads what is substituted as commands of its own. It is no shell: what
// a word becomes only when the script runs stays as it is written.
func (r *reader) split(text string) (commands [][]string) {
	var words []string
	var b strings.Builder
	inWord, skip := false, false
	endWord := func() {
		if inWord && !skip {
			words = append(words, b.String())
		}
		if inWord {
			skip = false
		}
		b.Reset()
		inWord = false
	}
	end := func() {
		endWord()
		if skip = false; len(words) > 0 {
			commands = append(commands, words)
		}
		words = nil
	}
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote == '\'' && c != '\'':
			b.WriteByte(c)
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, inWord = c, true
		case c == '\\' && i+1 < len(text):
			if i++; text[i] != '\n' {
				b.WriteByte(text[i])
				inWord = true
			}
		case c == '`', strings.HasPrefix(text[i:], "$("):
			inside := text[i+1:]
			if c == '$' {
				inside = inside[1:]
				inside = inside[:closing(inside)]
				i += len(inside) + 2
			} else if n := strings.IndexByte(inside, '`'); n >= 0 {
				inside = inside[:n]
				i += n + 1
			}
			commands = append(commands, r.split(inside)...)
			inWord = true
		case c == '$':
			n, value := r.variable(text[i:])
			b.WriteString(value)
			i += n - 1
			inWord = true
		case quote != 0:
			b.WriteByte(c)
		case c == '#' && !inWord:
			if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
				i += n - 1
			} else {
				i = len(text)
			}
		case c == ' ' || c == '\t':
			endWord()
		case strings.IndexByte(";&|()\n", c) >= 0:
			if c == '&' && i > 0 && text[i-1] == '>' { // 2>&1
				continue
			}
			end()
		case c == '<' || c == '>':
			if strings.Trim(b.String(), "0123456789") == "" {
				b.Reset()
				inWord = false
			}
			endWord()
			skip = true // a file is read or written, and not run
		default:
			b.WriteByte(c)
			inWord = true
		}
	}
	end()
	return commands
}

// closing returns where the parenthesis closes that was opened before text.
func closing(text string) int {
	depth := 1
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

// variable returns how long a variable at the beginning of text is, and its value; one that
// is not known stands for itself.
func (r *reader) variable(text string) (int, string) {
	name, n := text[1:], 0
	if rest, ok := strings.CutPrefix(name, "{"); ok {
		inside, _, closed := strings.Cut(rest, "}")
		if !closed {
			return len(text), text
		}
		name, n = inside, len(inside)+3
	} else {
		for n = 0; n < len(name) && (name[n] == '_' || name[n] >= '0' && name[n] <= '9' || name[n]|0x20 >= 'a' && name[n]|0x20 <= 'z'); n++ {
		}
		name, n = name[:n], n+1
	}
	if value, ok := r.env[name]; ok {
		return n, value
	}
	return n, text[:n]
}
