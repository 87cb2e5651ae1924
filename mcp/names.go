package mcp

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// maxName is the length of a tool's name that every provider accepts.
const maxName = 64

// fixedNames are names of the client's own tools, which no tool of a server
// gets.
var fixedNames = []string{nameFind, nameUse, nameResources, namePrompts}

// An origin identifies a tool by the names of its server and of the tool there.
type origin struct{ server, tool string }

var (
	odd  = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
	runs = regexp.MustCompile(`_+`)
)

// plainName returns the name that a tool gets if no other tool wants it:
// mcp_SERVER_TOOL, with an underscore for what providers do not accept. It is
// cut if it is too long. exact reports whether it was not cut.
func plainName(o origin) (name string, exact bool) {
	name = "mcp_" + o.server + "_" + o.tool
	short := strings.Trim(runs.ReplaceAllString(odd.ReplaceAllString(name, "_"), "_"), "_")
	if len(short) > maxName {
		return short[:maxName], false
	}
	return short, true
}

// hashedName returns a name that only this tool gets.
func hashedName(o origin) string {
	sum := fmt.Sprintf("_%x", sha256.Sum256([]byte(o.server+"\x00"+o.tool)))[:9]
	name, _ := plainName(o)
	return strings.TrimRight(name[:min(len(name), maxName-len(sum))], "_") + sum
}

// name gives every tool its name: the plain one, unless another tool has it or
// wants it at the same time. A tool keeps its name for the life of the client,
// because the record of a session refers to it.
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
		if t.spec.Name == "" { // what has its name is read by others meanwhile
			t.spec.Name = name
		}
	}
}

// line returns foreign text in one line, at most n characters of it.
func line(text string, n int) string { return clip.Text(clip.OneLine(clip.Clean(text)), n) }
