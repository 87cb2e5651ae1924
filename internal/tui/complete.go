package tui

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// offers are completions of the word before the caret.
type offers struct {
	from int // where the word begins
	all  []offer
	at   int
}

// An offer is what a word may become.
type offer struct {
	text  string // in place of the word
	about string // foreign
	file  string // attach this file instead, whose name cannot stand in a text
}

// maxOffers bounds the completions, and maxEntries the directory that they come from.
const (
	maxOffers  = 50
	maxEntries = 10_000
)

// offer returns the completions of what stands before the caret: of a command at the
// beginning, and of a path after @.
func (c *composer) offer(p *program) offers {
	before := c.text[:c.at]
	if strings.HasPrefix(before, "/") && !strings.ContainsAny(before, " \n") {
		var all []offer
		for _, s := range p.commands() {
			if strings.HasPrefix(s.name, before) && s.name != before {
				text := s.name
				if s.args != "" {
					text += " "
				}
				all = append(all, offer{text: text, about: strings.TrimSpace(s.args + "  " + s.help)})
			}
		}
		return offers{all: all}
	}
	from := strings.LastIndexAny(before, " \n") + 1
	if word, ok := strings.CutPrefix(before[from:], "@"); ok && c.dir != "" {
		return offers{from: from, all: c.paths(word)}
	}
	return offers{}
}

// paths returns the files and directories whose paths begin with word, ignoring case, at
// most maxOffers. Hidden ones are left out unless word names them. A directory that cannot
// be read offers nothing.
func (c *composer) paths(word string) (all []offer) {
	dir, base := filepath.Split(word)
	full := dir
	if !filepath.IsAbs(full) {
		full = filepath.Join(c.dir, dir)
	}
	f, err := os.Open(full)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxEntries) // what could be read counts
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		name := e.Name()
		hidden := strings.HasPrefix(name, ".") && !strings.HasPrefix(base, ".")
		if hidden || !strings.HasPrefix(strings.ToLower(name), strings.ToLower(base)) || len(all) == maxOffers {
			continue
		}
		o := offer{text: "@" + dir + name + " "}
		switch plain := !strings.ContainsAny(name, " \t\n") && clip.Visible(name) == name; {
		case e.IsDir() && plain:
			o.text = "@" + dir + name + "/"
		case e.IsDir():
			continue
		case !plain:
			o.file = dir + name
		}
		all = append(all, o)
	}
	return all
}

// choose handles a key while there are completions. It returns false for other keys, and
// for an Enter that is meant for the text itself.
func (c *composer) choose(name string) bool {
	o := &c.offers
	switch name {
	case "esc":
		*o = offers{}
	case "up", "ctrl+p":
		o.at = (o.at + len(o.all) - 1) % len(o.all)
	case "down", "ctrl+n":
		o.at = (o.at + 1) % len(o.all)
	case "tab":
		c.take(o.all[o.at])
	case "enter":
		if o.from == 0 && strings.HasPrefix(c.text, "/") && o.at == 0 && len(o.all) > 1 {
			return false // what is typed counts, unless another line was chosen or only one is left
		}
		c.take(o.all[o.at])
	default:
		return false
	}
	return true
}

// take puts an offer in place of the word before the caret. A file becomes a chip, which
// one key removes.
func (c *composer) take(o offer) {
	from := c.offers.from
	c.offers = offers{}
	c.cut(from)
	if o.file != "" {
		c.chip("file", clip.OneLine(clip.Visible(filepath.Base(o.file))), paste{file: o.file})
		c.insert(" ")
		return
	}
	c.insert(o.text)
}

// view returns the completions, at most height lines, with the chosen one among them.
// Texts that come from files are made harmless.
func (o offers) view(t Theme, width, height int) (lines []string) {
	from := max(0, min(o.at-height/2, len(o.all)-height))
	for i := from; i < len(o.all) && len(lines) < height; i++ {
		text := clip.Fit(clip.OneLine(clip.Visible(o.all[i].text)), max(8, width/2))
		about := clip.Fit(clip.OneLine(clip.Visible(o.all[i].about)), max(1, width-clip.Width(text)-5))
		if i == o.at {
			lines = append(lines, t.ask("› ")+t.bold(text)+"  "+t.dim(about))
		} else {
			lines = append(lines, "  "+text+"  "+t.dim(about))
		}
	}
	return lines
}
