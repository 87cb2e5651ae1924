package cli

import (
	"io"
	"strings"
	"unicode/utf8"
)

// WriteHelp writes the help of a command, in lines of at most width characters,
// or 80 if width is less than 40.
func (c *Command) WriteHelp(w io.Writer, width int) error {
	if width < 40 {
		width = 80
	}
	h := help{width: width}
	h.wrap("Usage: ", c.usage(), "       ")
	h.paragraphs(c.Help)
	h.paragraphs(c.longHelp())
	h.section("Arguments:", c.argRows())
	h.section("Commands:", c.commandRows())
	root := c
	for root.Parent != nil {
		root = root.Parent
	}
	everywhere := append([]row{{"  -h, --help", "This help."}}, flagRows(root.Flags)...)
	if c == root {
		h.section("Flags of every command:", everywhere)
	} else {
		h.section("Flags:", c.flagRows())
		h.section("Flags of every command:", everywhere)
	}
	if len(c.Commands) > 0 {
		h.paragraphs("More of each: " + strings.TrimSpace(root.Name+" "+c.Path()) + " COMMAND --help")
	}
	_, err := io.WriteString(w, h.b.String())
	return err
}

// longHelp returns what the type of the command says of it beside its help, or "".
func (c *Command) longHelp() string {
	if t, ok := c.Target().(interface{ Help() string }); ok {
		return t.Help()
	}
	return ""
}

// usage returns the command with its arguments, as in "x run <file> [FLAGS]".
func (c *Command) usage() string {
	line := c.Name
	for at := c.Parent; at != nil; at = at.Parent {
		line = at.Name + " " + line
	}
	switch {
	case c.usual != "":
		line += " [COMMAND]"
	case len(c.Commands) > 0:
		line += " COMMAND"
	}
	for _, a := range c.Args {
		line += " " + a.shape()
	}
	return line + " [FLAGS]"
}

// shape returns an argument as it is written in a usage line.
func (v *Value) shape() string {
	s := "<" + v.Name + ">"
	if v.Many {
		s += " ..."
	}
	if v.Optional {
		s = "[" + s + "]"
	}
	return s
}

// placeholder returns the name of a flag's value.
func (v *Value) placeholder() string {
	switch {
	case v.Placeholder != "":
		return v.Placeholder
	case v.Enum != nil:
		return strings.ToUpper(v.Name)
	}
	return "VALUE"
}

// A row is an entry of the help with its description.
type row struct{ name, help string }

// argRows returns the arguments that have a description.
func (c *Command) argRows() (rows []row) {
	for _, a := range c.Args {
		if a.Help != "" {
			rows = append(rows, row{"  " + a.shape(), a.Help})
		}
	}
	return rows
}

// commandRows returns the commands within c, without hidden ones.
func (c *Command) commandRows() (rows []row) {
	for _, below := range c.Commands {
		if !below.Hidden {
			rows = append(rows, row{"  " + below.Name, below.Help})
		}
	}
	return rows
}

// flagRows returns the flags of c and its parents, without the program's.
func (c *Command) flagRows() []row {
	var rows []row
	for at := c; at.Parent != nil; at = at.Parent {
		rows = append(rows, flagRows(at.Flags)...)
	}
	return rows
}

// flagRows returns flags with their placeholders and defaults.
func flagRows(flags []*Value) (rows []row) {
	for _, f := range flags {
		name := "      --" + f.Name
		if f.Short != "" {
			name = "  -" + f.Short + ", --" + f.Name
		}
		help := f.Help
		if !f.Switch() {
			name += "=" + f.placeholder()
			if f.Default != "" && !strings.Contains(help, "Default:") {
				help += " Default: " + f.Default + "."
			}
		}
		rows = append(rows, row{name, help})
	}
	return rows
}

// A help is the text of a help page so far.
type help struct {
	b     strings.Builder
	width int
}

// section writes rows in two columns under a title.
func (h *help) section(title string, rows []row) {
	if rows == nil {
		return
	}
	wide := 0
	for _, r := range rows {
		wide = max(wide, utf8.RuneCountInString(r.name))
	}
	wide = min(wide, h.width/2)
	h.b.WriteString("\n" + title + "\n")
	blank := strings.Repeat(" ", wide+4)
	for _, r := range rows {
		head := r.name + strings.Repeat(" ", max(0, wide+4-utf8.RuneCountInString(r.name)))
		if utf8.RuneCountInString(r.name) > wide {
			h.b.WriteString(r.name + "\n")
			head = blank
		}
		h.wrap(head, r.help, blank)
	}
}

// paragraphs writes paragraphs that are separated by empty lines, wrapped. It
// keeps indented lines.
func (h *help) paragraphs(text string) {
	for _, p := range blocksOf(text) {
		h.b.WriteByte('\n')
		for _, b := range p {
			if b.exact {
				h.b.WriteString(b.text + "\n")
			} else {
				h.wrap("", b.text, "")
			}
		}
	}
}

// A block is a part of a paragraph: words, or indented lines that stay as they are.
type block struct {
	text  string
	exact bool
}

// blocksOf returns the paragraphs of a text.
func blocksOf(text string) (all [][]block) {
	text = strings.Trim(text, "\n")
	if text == "" {
		return nil
	}
	for _, p := range strings.Split(text, "\n\n") {
		var blocks []block
		for line := range strings.SplitSeq(p, "\n") {
			b := block{line, strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")}
			if n := len(blocks) - 1; n >= 0 && blocks[n].exact == b.exact {
				blocks[n].text += "\n" + line
			} else {
				blocks = append(blocks, b)
			}
		}
		all = append(all, blocks)
	}
	return all
}

// wrap writes words in lines of the width of the page, the first one after head
// and the others after indent. A word that is too long gets a line of its own.
func (h *help) wrap(head, words, indent string) {
	line, n, begun := head, utf8.RuneCountInString(head), false
	for _, word := range strings.Fields(words) {
		l := utf8.RuneCountInString(word)
		if begun && n+1+l > h.width {
			h.b.WriteString(line + "\n")
			line, n, begun = indent, len(indent), false
		}
		if begun {
			line, n = line+" ", n+1
		}
		line, n, begun = line+word, n+l, true
	}
	h.b.WriteString(strings.TrimRight(line, " ") + "\n")
}
