package gate

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A command is one simple command of a script.
type command struct {
	words   []string   // a word whose value is not known has only its literal parts
	wrapped [][]string // words, and the commands that this one runs
}

// A script is what parsing a shell script tells before it runs. Rules that deny
// look at everything in it, rules that allow need it to be plain: then the
// words are what will run.
type script struct {
	commands []command
	writes   []string // files into which output is redirected
	plain    bool     // it consists of commands with literal words, and nothing else
	unread   bool     // it runs a command whose name is not known
}

// maxNested is how deep scripts within scripts are parsed.
const maxNested = 4

// readScript parses a script. One that is not valid, or too deep, is unread.
func readScript(text string, depth int) script {
	s := script{plain: true}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil || depth > maxNested {
		return script{unread: true}
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		s.visit(n, depth)
		return true
	})
	return s
}

// visit looks at a node of the syntax tree. Whatever the value of a word or the
// meaning of a name depends on makes the script less than plain.
func (s *script) visit(n syntax.Node, depth int) {
	switch n := n.(type) {
	case *syntax.CallExpr:
		if len(n.Assigns) > 0 {
			s.plain = false
		}
		s.call(n.Args, depth)
	case *syntax.Redirect:
		s.redirect(n)
	case *syntax.DeclClause, *syntax.FuncDecl, *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ParamExp,
		*syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.ExtGlob, *syntax.CoprocClause,
		*syntax.TestClause:
		s.plain = false
	}
}

// redirect notes a file that is written. Reading from a file, a here-document
// or another descriptor has no effect.
func (s *script) redirect(r *syntax.Redirect) {
	switch r.Op {
	case syntax.RdrIn, syntax.DplIn, syntax.DplOut, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return
	}
	name, fixed := literal(r.Word)
	switch {
	case !fixed:
		s.plain = false
	case name != "/dev/null":
		s.writes = append(s.writes, name)
	}
}

// readWords returns the script of a command that is given as a list of words.
// If one is no string, the script is not plain.
func readWords(list []any) script {
	s := script{plain: true}
	var words []string
	for i, v := range list {
		word, ok := v.(string)
		if !ok {
			s.plain = false
			s.unread = s.unread || i == 0
		}
		words = append(words, word)
	}
	s.add(words, 0)
	return s
}

// call adds the command with the words args.
func (s *script) call(args []*syntax.Word, depth int) {
	var words []string
	for i, a := range args {
		word, fixed := literal(a)
		if !fixed {
			s.plain = false
			s.unread = s.unread || i == 0
		}
		words = append(words, word)
	}
	if len(words) > 0 && strings.ContainsAny(words[0], "*?[{~") {
		s.plain, s.unread = false, true // the shell expands it to a file name
	}
	s.add(words, depth)
}

// add adds the command with these words, and the commands that it runs.
func (s *script) add(words []string, depth int) {
	if len(words) == 0 {
		return
	}
	c := command{words: words}
	for _, inner := range within(words) {
		if inner.script {
			more := readScript(strings.Join(inner.words, " "), depth+1)
			s.commands = append(s.commands, more.commands...)
			s.writes = append(s.writes, more.writes...)
			s.plain, s.unread = false, s.unread || more.unread
			continue
		}
		c.wrapped = append(c.wrapped, inner.words)
	}
	s.commands = append(s.commands, c)
}

// An inner is what a command runs: another command, or a script.
type inner struct {
	words  []string
	script bool
}

// wrappers are commands whose arguments are a command.
var wrappers = strings.Fields(`sudo doas env nice ionice nohup time timeout command builtin exec xargs stdbuf
	setsid chroot watch parallel busybox unshare flock strace script`)

// shells are commands that run the argument of -c as a script.
var shells = strings.Fields("sh bash dash zsh ksh ash su")

// within returns the command itself and the commands that it runs. Where a
// wrapper's command begins depends on the wrapper's options, which are not
// known here: each word that is no option is taken for a beginning.
func within(words []string) []inner {
	all := []inner{{words: words}}
	name := path.Base(words[0])
	switch {
	case name == "eval":
		return append(all, inner{words[1:], true})
	case slices.Contains(shells, name):
		for i, w := range words {
			if i > 0 && strings.HasPrefix(w, "-") && strings.HasSuffix(w, "c") && i+1 < len(words) {
				return append(all, inner{words[i+1 : i+2], true})
			}
		}
	case slices.Contains(wrappers, name):
		for i := 1; i < len(words); i++ {
			if w := words[i]; !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
				all = append(all, within(words[i:])...)
			}
		}
	case name == "find":
		for i, w := range words {
			if slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, w) && i+1 < len(words) {
				all = append(all, within(words[i+1:])...)
			}
		}
	}
	return all
}

// literal returns the literal text of a word, and whether that is all of it.
func literal(w *syntax.Word) (string, bool) {
	if w == nil {
		return "", false
	}
	return literals(w.Parts)
}

// literals returns the literal text of the parts of a word. Text in double
// quotes is literal as far as nothing in it is expanded.
func literals(parts []syntax.WordPart) (string, bool) {
	var b strings.Builder
	fixed := true
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(unescaped(p.Value))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
			fixed = fixed && !p.Dollar
		case *syntax.DblQuoted:
			text, ok := literals(p.Parts)
			b.WriteString(text)
			fixed = fixed && ok
		default:
			fixed = false
		}
	}
	return b.String(), fixed
}

// unescaped returns text as the shell reads it outside quotes: without
// backslashes.
func unescaped(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
			if text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
