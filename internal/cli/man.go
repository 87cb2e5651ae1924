package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Pages returns the commands that have a manual page of their own: the program, and
// the commands directly below it that are not hidden.
func (root *Command) Pages() []*Command {
	pages := []*Command{root}
	for _, name := range root.names() {
		pages = append(pages, root.Command(name))
	}
	return pages
}

// Page returns the name of the command's manual page: openmanus-run for the command run.
// A command further down stands on the page of the command above it.
func (c *Command) Page() string {
	if c.Parent == nil {
		return c.Name
	}
	return c.Parent.Page() + "-" + c.Name
}

// WriteMan writes the manual page of a command and of all commands within it, for
// section 1, in the macros of man(7). date is that of the version; the zero time stands for none.
func (c *Command) WriteMan(w io.Writer, version string, date time.Time) error {
	root := c
	for root.Parent != nil {
		root = root.Parent
	}
	m := manual{}
	m.line(`.TH %s 1 %s "%s %s" "User Commands"`, quoted(strings.ToUpper(c.Page())), dateOf(date), root.Name, escaped(version))
	m.section("NAME")
	about, _, _ := strings.Cut(c.Help, "\n")
	m.line(`%s \- %s`, escaped(c.Page()), escaped(strings.TrimSuffix(about, ".")))
	m.section("SYNOPSIS")
	m.line(".B %s", escaped(c.usage()))
	m.section("DESCRIPTION")
	m.paragraphs(c.Help)
	m.paragraphs(c.longHelp())
	m.rows("ARGUMENTS", c.argRows())
	if c == root {
		m.rows("COMMANDS", c.commandRows())
	} else if c.Commands != nil {
		m.section("COMMANDS")
		m.commands(c)
	}
	if c != root {
		m.rows("OPTIONS", c.flagRows())
	}
	m.rows("OPTIONS OF EVERY COMMAND", append([]row{{"  -h, --help", "This help."}}, flagRows(root.Flags)...))
	m.section("SEE ALSO")
	var others []string
	for _, p := range root.Pages() {
		if p != c && (c == root || p == root) {
			others = append(others, `.BR `+escaped(p.Page())+` (1)`)
		}
	}
	m.line("%s", strings.Join(others, ",\n"))
	_, err := io.WriteString(w, m.b.String())
	return err
}

// dateOf returns the date at the foot of a page.
func dateOf(t time.Time) string {
	if t.IsZero() {
		return `""`
	}
	return t.UTC().Format(time.DateOnly)
}

// A manual is the text of a manual page so far.
type manual struct {
	b     strings.Builder
	fresh bool // nothing has been written since a heading
}

func (m *manual) line(format string, args ...any) {
	fmt.Fprintf(&m.b, format+"\n", args...)
	m.fresh = strings.HasPrefix(format, ".S")
}

func (m *manual) section(title string) { m.line(".SH %s", quoted(title)) }

// commands writes what is within a command, at any depth.
func (m *manual) commands(c *Command) {
	for _, name := range c.names() {
		below := c.Command(name)
		m.line(".SS %s", quoted(below.usage()))
		m.paragraphs(below.Help)
		m.paragraphs(below.longHelp())
		m.entries(append(below.argRows(), flagRows(below.Flags)...))
		m.commands(below)
	}
}

func (m *manual) rows(title string, rows []row) {
	if rows != nil {
		m.section(title)
		m.entries(rows)
	}
}

func (m *manual) entries(rows []row) {
	for _, r := range rows {
		m.line(".TP\n.B %s\n%s", escaped(strings.TrimSpace(r.name)), escaped(strings.TrimSpace(r.help)))
	}
}

// paragraphs writes a text. The first paragraph of a section has no macro of its own.
func (m *manual) paragraphs(text string) {
	for _, p := range blocksOf(text) {
		if !m.fresh {
			m.line(".PP")
		}
		for _, b := range p {
			if b.exact {
				m.line(".nf\n%s\n.fi", escaped(b.text))
			} else {
				m.line("%s", escaped(b.text))
			}
		}
	}
}

// escaped returns a text as roff prints it: with hyphens that can be copied, and
// without lines that are taken for requests.
func escaped(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\t", "    ").Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// quoted returns a text as one argument of a macro.
func quoted(text string) string {
	return `"` + strings.ReplaceAll(escaped(text), `"`, `""`) + `"`
}
