package mcp

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// maxName is the length of a tool's name that every provider takes.
const maxName = 64

// fixedNames are tools of ours, whose names no server's tool gets.
var fixedNames = []string{nameFind, nameUse, nameResources, namePrompts}

// An origin is what a tool is called by its server.
type origin struct{ server, tool string }

var (
	odd  = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
	runs = regexp.MustCompile(`_+`)
)

// plainName is the name that a tool gets if no other wants it:
// mcp_SERVER_TOOL, with what providers do not take as an underscore. It is
// cut if it is too long, and exact if it says all there is to say.
func plainName(o origin) (name string, exact bool) {
	name = "mcp_" + o.server + "_" + o.tool
	short := strings.Trim(runs.ReplaceAllString(odd.ReplaceAllString(name, "_"), "_"), "_")
	if len(short) > maxName {
		return short[:maxName], false
	}
	return short, true
}

// hashedName is a name that only this tool gets.
func hashedName(o origin) string {
	sum := fmt.Sprintf("_%x", sha256.Sum256([]byte(o.server+"\x00"+o.tool)))[:9]
	name, _ := plainName(o)
	return strings.TrimRight(name[:min(len(name), maxName-len(sum))], "_") + sum
}

// name gives every tool its name: the plain one if no other has it, or wants
// it at the same time. A tool keeps the name it once got.
func (c *Client) name(tools []*remote) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wanted := map[string]int{}
	for _, t := range tools {
		if _, has := c.names[t.origin]; !has {
			name, _ := plainName(t.origin)
			wanted[name]++
		}
	}
	for _, t := range tools {
		name, has := c.names[t.origin]
		if !has {
			var exact bool
			name, exact = plainName(t.origin)
			if _, taken := c.taken[name]; taken || !exact || wanted[name] > 1 {
				name = hashedName(t.origin)
			}
			c.names[t.origin], c.taken[name] = name, t.origin
		}
		if t.spec.Name == "" {
			t.spec.Name = name
		}
	}
}

// clean is what somebody else wrote, without what is not to be seen: escape
// sequences, control characters, and characters that hide or turn around what
// stands beside them.
func clean(text string) string {
	text = escapes.ReplaceAllString(text, "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == unicode.ReplacementChar, unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

var escapes = regexp.MustCompile("\x1b(\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)?|[@-Z\\\\^_])")

// line is clean text in one line, at most n runes of it.
func line(text string, n int) string {
	words := strings.Join(strings.Fields(clean(text)), " ")
	if r := []rune(words); len(r) > n {
		return string(r[:n]) + "…"
	}
	return words
}
