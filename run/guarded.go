package run

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/openmanus-go/openmanus"
)

// These functions ask a tool about a call, or run it. A panic in the tool is an error that names
// it: a broken tool ends nothing but its call.

// guarded sets err if a tool crashes.
func guarded(name string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s crashed: %v", name, p)
	}
}

// Hint puts what t says of this very call into spec.
func Hint(t openmanus.Tool, call openmanus.Call, spec *openmanus.ToolSpec) (err error) {
	defer guarded(call.Name, &err)
	if h, ok := t.(openmanus.CallHinter); ok {
		spec.Hints = h.Hints(call)
	}
	if h, ok := t.(openmanus.ArgumentHinter); ok {
		spec.Arguments = h.ArgumentsOf(call)
	}
	return nil
}

// Preview returns what a call would do, "" if its tool cannot tell.
func Preview(ctx context.Context, t openmanus.Tool, call openmanus.Call) (text string, err error) {
	p, ok := t.(openmanus.Previewer)
	if !ok {
		return "", nil
	}
	defer guarded(call.Name, &err)
	return p.Preview(ctx, call)
}

// Call runs a tool. The detail of a panic has its stack.
func Call(ctx context.Context, t openmanus.Tool, call openmanus.Call) (res openmanus.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res = openmanus.Result{Detail: map[string]string{"panic": fmt.Sprint(p), "stack": string(debug.Stack())}}
			err = fmt.Errorf("%s crashed: %v", call.Name, p)
		}
	}()
	return t.Run(ctx, call)
}
