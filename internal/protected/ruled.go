package protected

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
)

// Ruled are the files that a tool call was seen to change when it was decided that it may
// run.
type Ruled struct {
	Names []string // as the call has them, slash-separated and relative to the workspace
	Real  []string // the same files without symbolic links
}

// ruledKey is the key of a [Ruled] in a context.
type ruledKey struct{}

// WithRuled returns the context of a call that was ruled on. See [Refuse].
func WithRuled(ctx context.Context, r Ruled) context.Context {
	return context.WithValue(ctx, ruledKey{}, r)
}

// Refuse returns why a file may not be changed. A call names it name, and what is about to
// be changed is real, the name without symbolic links. The name may lead to another
// file than when it was ruled on: another call of the same reply, or a program in the
// background, has put a link in its way. So the one who writes asks here, with the name that is
// really written.
//
// With [WithRuled], a file that the ruling was about must be the one that it was then, and
// a protected file must be one of them. Without, a name that is not protected must not lead
// to one that is.
func Refuse(ctx context.Context, name, real string) error {
	r, ruled := ctx.Value(ruledKey{}).(Ruled)
	switch {
	case name != real && ruled && slices.Contains(r.Names, name) && !slices.Contains(r.Real, real):
		return fmt.Errorf("it leads to %s now, which is not what the call was allowed to change: "+
			"if that is what you mean, make the call again with that name: %w", real, fs.ErrPermission)
	case !Is(real), !ruled && (name == real || Is(name)), slices.Contains(r.Real, real):
		return nil
	case name != real:
		return fmt.Errorf("it leads to %s, from which programs outside the sandbox take orders, and the call was not allowed to "+
			"change that: make the call again with that name: %w", real, fs.ErrPermission)
	}
	return fmt.Errorf("programs outside the sandbox take orders from it, and the call was not allowed to change it: "+
		"write it with a call that names it: %w", fs.ErrPermission)
}
