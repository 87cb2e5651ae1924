package agents

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
)

// A Command is a request that a person has written down, in a Markdown file: /NAME
// stands for its text. A front matter may say what it is for and with what it begins.
type Command struct {
	Path string
	From string // where it was found: "workspace" or "user"

	Name        string // without the slash
	Description string // "": the file has none
	Arguments   string // what is written after the name, for people
	Agent       string // of a session that begins with it; "": the configured one
	Model       string // from here on; "": the model does not change
	Mode        string // likewise, one of [openmanus.Modes]
	Text        string
}

// ParseCommand parses the file of a command, whose name is that of the file without its
// ending. It does not set From.
func ParseCommand(name string, data []byte) (*Command, error) {
	var f struct {
		Description string `yaml:"description"`
		Arguments   string `yaml:"arguments"`
		Hint        string `yaml:"argument-hint"` // as other programs call it
		Agent       string `yaml:"agent"`
		Model       string `yaml:"model"`
		Mode        string `yaml:"mode"`
	}
	text, err := cutFront(data, &f)
	if err != nil {
		return nil, err
	}
	c := &Command{
		Path: name, Name: strings.TrimSuffix(path.Base(name), path.Ext(name)), Description: foreignLine(f.Description),
		Arguments: foreignLine(cmp.Or(f.Arguments, f.Hint)), Agent: f.Agent, Model: f.Model, Mode: f.Mode, Text: strings.TrimSpace(text),
	}
	switch {
	case !fileName.MatchString(c.Name) || len(c.Name) > 64:
		return nil, fmt.Errorf("the name %q must consist of lower-case letters and digits, in words joined by - or _", c.Name)
	case c.Text == "":
		return nil, errors.New("it has no text: write below the front matter what the agent is to do")
	case f.Mode != "" && !slices.Contains(openmanus.Modes, f.Mode):
		return nil, fmt.Errorf("mode: %q is not one of %s", f.Mode, strings.Join(openmanus.Modes, ", "))
	}
	return c, nil
}

// Expand returns the request that /NAME with these arguments stands for. In the text,
// $ARGUMENTS stands for all of them as they were written, $1 to $9 for single ones, which
// quotes may hold together, and $$ for a dollar sign. A text without any of these is
// followed by the arguments. Inserted text is not expanded again.
func (c *Command) Expand(arguments string) string {
	arguments = strings.TrimSpace(arguments)
	words := splitArguments(arguments)
	var b strings.Builder
	used := false
	for rest := c.Text; ; {
		before, after, ok := strings.Cut(rest, "$")
		b.WriteString(before)
		if !ok {
			break
		}
		switch {
		case strings.HasPrefix(after, "ARGUMENTS"):
			b.WriteString(arguments)
			after, used = after[len("ARGUMENTS"):], true
		case strings.HasPrefix(after, "$"):
			b.WriteString("$")
			after = after[1:]
		case after != "" && '1' <= after[0] && after[0] <= '9' && (len(after) == 1 || after[1] < '0' || after[1] > '9'):
			if n := int(after[0] - '1'); n < len(words) {
				b.WriteString(words[n])
			}
			after, used = after[1:], true
		default:
			b.WriteString("$")
		}
		rest = after
	}
	if !used && arguments != "" {
		b.WriteString("\n\n" + arguments)
	}
	return strings.TrimSpace(b.String())
}

// splitArguments returns the words of a text. Quotes, ' or ", hold a word together; one
// that is not closed goes to the end.
func splitArguments(text string) (words []string) {
	var b strings.Builder
	var quote rune
	in := false
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, in = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if in {
				words = append(words, b.String())
			}
			b.Reset()
			in = false
		default:
			b.WriteRune(r)
			in = true
		}
	}
	if in {
		words = append(words, b.String())
	}
	return words
}

// Commands reads the commands in the directory commands of dir. It returns a problem for
// each file that it cannot use, beside the other commands.
func Commands(dir fs.FS, from string) (commands []*Command, problems []error) {
	entries, err := fs.ReadDir(dir, "commands")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, []error{err}
	}
	for _, e := range entries {
		name := path.Join("commands", e.Name())
		if e.IsDir() || strings.ToLower(path.Ext(name)) != ".md" || strings.EqualFold(e.Name(), "README.md") {
			continue
		}
		data, err := readFile(dir, name)
		if err == nil {
			var c *Command
			if c, err = ParseCommand(name, data); err == nil {
				c.From = from
				commands = append(commands, c)
				continue
			}
		}
		problems = append(problems, fmt.Errorf("%s: %w", name, err))
	}
	return commands, problems
}
