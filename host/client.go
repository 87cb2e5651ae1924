package host

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/tools"
)

// ErrClientTool is wrapped by the error of a spec whose client brings a tool that cannot
// be offered.
var ErrClientTool = errors.New("a tool of the client")

// addClient gives an agent what a client asks for: instructions, tools that the client
// runs, and settings of replies. The error names a tool that cannot be offered.
func addClient(a *openmanus.Agent, c *openmanus.Client) error {
	if c == nil {
		return nil
	}
	if c.MustCall { // nothing else ends the work
		a.Tools = slices.DeleteFunc(slices.Clone(a.Tools), func(t openmanus.Tool) bool { return t.Spec().Name == tools.TerminateName })
		a.Settings.ToolChoice = "required"
	}
	var names []string
	for _, spec := range c.Tools {
		t, err := tools.NewClientTool(spec, !c.OneByOne)
		if a.Tool(spec.Name) != nil {
			err = fmt.Errorf("the agent has a tool %q already: give yours another name", spec.Name)
		}
		if err != nil {
			return mistake(fmt.Errorf("%w: %w", ErrClientTool, err))
		}
		a.Tools, names = append(a.Tools, t), append(names, spec.Name)
	}
	a.Settings.Effort = cmp.Or(c.Effort, a.Settings.Effort)
	if c.Temperature != nil {
		a.Settings.Temperature = c.Temperature
	}
	if c.Instructions != "" {
		a.Instructions += "\n\n# Of the program that gives you this work\n\n" + c.Instructions
	}
	if c.MustCall {
		a.Instructions += "\n\nYou end this work by calling one of these tools, not with words: " + strings.Join(names, ", ") + "."
	}
	return nil
}
