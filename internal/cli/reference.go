package cli

import (
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown writes the help of a command and of all commands within it as a
// page in Markdown.
func (c *Command) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	c.markdown(&b, 1)
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *Command) markdown(b *strings.Builder, level int) {
	path := strings.TrimSuffix(c.usage(), " [FLAGS]")
	if c.Parent == nil {
		path = c.Name
	} else if i := strings.IndexAny(path, "<["); i > 0 {
		path = strings.TrimSpace(path[:i])
	}
	path = strings.TrimSuffix(path, " COMMAND")
	fmt.Fprintf(b, "%s %s\n\n```\n%s\n```\n\n", strings.Repeat("#", min(level, 6)), path, c.usage())
	for _, text := range []string{c.Help, c.longHelp()} {
		for _, p := range blocksOf(text) {
			for _, block := range p {
				if block.exact {
					fmt.Fprintf(b, "\n```\n%s\n```\n", block.text)
				} else {
					b.WriteString(prose.Replace(block.text) + "\n")
				}
			}
			b.WriteByte('\n')
		}
	}
	flags := flagRows(c.Flags)
	if c.Parent == nil {
		flags = append(flags, row{"  -h, --help", "The help of a command."})
	}
	for _, rows := range [][]row{c.argRows(), flags} {
		for _, r := range rows {
			fmt.Fprintf(b, "- `%s`: %s\n", strings.TrimSpace(r.name), prose.Replace(r.help))
		}
		if rows != nil {
			b.WriteByte('\n')
		}
	}
	for _, name := range c.names() {
		c.Command(name).markdown(b, level+1)
	}
}

// prose replaces the characters of a help that Markdown would take for marks.
var prose = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`, "[", `\[`, "`", "\\`", "|", `\|`)
