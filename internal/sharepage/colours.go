package sharepage

import (
	"regexp"
	"strings"
)

// lexemes are what stands out in code of nearly every language: remarks, strings, numbers and words.
// Which of # and -- begins a remark depends on the language.
const lexeme = "(?s)(?P<rem>%REM%//[^\n]*|/\\*.*?(?:\\*/|$))|" +
	"(?P<str>\"\"\".*?(?:\"\"\"|$)|\"(?:[^\"\\\\\n]|\\\\.)*(?:\"|$)|'(?:[^'\\\\\n]|\\\\.)*(?:'|$)|`[^`]*(?:`|$))|" +
	"(?P<num>\\b\\d[\\w.]*)|(?P<word>[\\pL_$][\\w$]*)"

var (
	slashes = regexp.MustCompile(strings.Replace(lexeme, "%REM%", "", 1))
	hashes  = regexp.MustCompile(strings.Replace(lexeme, "%REM%", "#[^\n]*|", 1))
	dashes  = regexp.MustCompile(strings.Replace(lexeme, "%REM%", "--[^\n]*|", 1))
)

// languages are those that get colours, by the names that Markdown and files use for them.
var languages = func() map[string]*regexp.Regexp {
	all := make(map[string]*regexp.Regexp)
	for re, names := range map[*regexp.Regexp]string{
		slashes: "c h cpp hpp cc cs csharp css go java js javascript jsx json kt kotlin mjs php rs rust scala svelte swift ts tsx typescript vue zig",
		hashes:  "bash dockerfile ini makefile py python r rb ruby sh shell toml yaml yml zsh",
		dashes:  "sql lua haskell hs",
	} {
		for _, name := range strings.Fields(names) {
			all[name] = re
		}
	}
	return all
}()

// keywords are those of all of them together: a word that is one in another language is rarely used.
var keywords = func() map[string]bool {
	all := make(map[string]bool)
	for _, w := range strings.Fields(`abstract and as async await begin bool boolean break case catch char class const continue
		crate def default defer del delete do done double echo elif else elsif end enum except export extends extern false False fi final
		finally float fn for foreach from func function go goto if impl implements import in include int interface internal is lambda
		let local long loop match mod module mut namespace new nil None not null nullptr of operator or override package pass private
		protected pub public raise range record ref return self short signed static string struct super switch template then this throw
		throws trait true True try type typedef typeof undefined union unless unsafe unsigned until use using val var virtual void
		volatile when where while with yield SELECT FROM WHERE JOIN LEFT RIGHT INNER ON GROUP BY ORDER LIMIT INSERT INTO VALUES UPDATE SET
		DELETE CREATE TABLE INDEX DROP ALTER AND OR NOT NULL AS DISTINCT HAVING UNION PRIMARY KEY`) {
		all[w] = true
	}
	return all
}()

// maxColoured is how many bytes of one text get colours.
const maxColoured = 100_000

// colours is code as HTML, with marks on what stands out if its language is known.
func colours(code, language string) string {
	re := languages[strings.ToLower(language)]
	if re == nil || len(code) > maxColoured {
		return exact(code)
	}
	var b strings.Builder
	at := 0
	for _, m := range re.FindAllStringSubmatchIndex(code, -1) {
		for i, class := range []string{"rem", "str", "num", "word"} {
			from, to := m[2*i+2], m[2*i+3]
			if from < 0 {
				continue
			}
			if class == "word" {
				if class = "key"; !keywords[code[from:to]] {
					break
				}
			}
			b.WriteString(exact(code[at:from]) + `<span class="` + class + `">` + exact(code[from:to]) + "</span>")
			at = to
			break
		}
	}
	return b.String() + exact(code[at:])
}
