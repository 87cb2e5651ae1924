package tools

import (
	"context"
	"fmt"

	"github.com/openmanus-go/openmanus"
)

// hinted is a tool whose calls differ in what they may do, and which shows
// what that would be, if show is not nil.
type hinted struct {
	openmanus.Tool
	hints func(openmanus.Call) openmanus.Hints
	show  func(context.Context, openmanus.Call) (string, error)
}

// Hints implements [openmanus.CallHinter].
func (h hinted) Hints(call openmanus.Call) openmanus.Hints { return h.hints(call) }

// Preview implements [openmanus.Previewer].
func (h hinted) Preview(ctx context.Context, call openmanus.Call) (string, error) {
	if h.show == nil {
		return "", nil
	}
	return h.show(ctx, call)
}

// onlyText declares that all arguments of a tool are content, which the call
// does nothing with outside its session.
var onlyText = openmanus.Argument{Name: "*", Kind: openmanus.TextArgument}

// A refusal is an error in the words of OpenManus, which models know.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, a ...any) error { return refusal(fmt.Sprintf(format, a...)) }

// required is the refusal for a parameter that one command needs and others
// do not, so that the schema cannot say it.
func required(param, command string) error {
	return refuse("Parameter `%s` is required for command: %s", param, command)
}
