package browser

import (
	"context"
	"errors"
	"strings"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// errStale is the error of an element that is no longer in the document.
var errStale = errors.New("it is no longer on the page: look at the elements as they are now")

// objectGroup names the values that we hold in pages, so that they can be
// released together.
const objectGroup = "openmanus"

// world returns the context of a frame in which our functions run: an isolated
// world, which shares the document with the page's own scripts and nothing else.
// They cannot see or change our functions.
func (t *Tab) world(ctx context.Context, r ref) (runtime.ExecutionContextID, error) {
	id := locked(t.b, func() runtime.ExecutionContextID { return t.worlds[r.frame] })
	if id != 0 {
		return id, nil
	}
	p := page.CreateIsolatedWorldParams{FrameID: r.frame, WorldName: "openmanus"}
	res, err := cdp.Call(ctx, r.s, page.CreateIsolatedWorld, p)
	if err != nil {
		return 0, err
	}
	t.b.note(func() { t.worlds[r.frame] = res.ExecutionContextID })
	return res.ExecutionContextID, nil
}

// object returns a node as a value of our world. The page keeps it until
// [Tab.release]. If the world has ended with an older document, object makes
// another one.
func (t *Tab) object(ctx context.Context, r ref) (runtime.RemoteObjectID, error) {
	for try := 0; ; try++ {
		world, err := t.world(ctx, r)
		if err != nil {
			return "", staleOr(err)
		}
		p := dom.ResolveNodeParams{BackendNodeID: r.node, ExecutionContextID: world, ObjectGroup: objectGroup}
		res, err := cdp.Call(ctx, r.s, dom.ResolveNode, p)
		if err == nil {
			return res.Object.ObjectID, nil
		}
		if try > 0 || !strings.Contains(err.Error(), "context") {
			return "", staleOr(err)
		}
		t.b.note(func() { delete(t.worlds, r.frame) }) // it belonged to an older document
	}
}

// release releases the values that an action held in the page.
func (t *Tab) release(s *session) {
	s.send(runtime.CommandReleaseObjectGroup, runtime.ReleaseObjectGroupParams{ObjectGroup: objectGroup})
}

// staleOr returns errStale if err says that a node or its frame is gone, else err.
// The protocol has no codes for this, only texts.
func staleOr(err error) error {
	var e *cdproto.Error
	if !errors.As(err, &e) {
		return err
	}
	for _, word := range []string{"node", "Node", "frame", "ontext"} {
		if strings.Contains(e.Message, word) {
			return errStale
		}
	}
	return err
}

// call calls one of our functions with a node as this.
func (t *Tab) call(ctx context.Context, r ref, function string, result any, args ...any) error {
	id, err := t.object(ctx, r)
	if err != nil {
		return err
	}
	return t.callOn(ctx, r.s, id, function, result, args...)
}

// onObject returns the command that calls a function with a value as this, and
// waits for what the function promises.
func onObject(id runtime.RemoteObjectID, function string) runtime.CallFunctionOnParams {
	return runtime.CallFunctionOnParams{
		FunctionDeclaration: function,
		ObjectID:            id,
		ReturnByValue:       ptr(true),
		AwaitPromise:        ptr(true),
		UserGesture:         ptr(true),
	}
}

// callOn calls a function with a value as this and decodes what it returns into
// result, which may be nil. The text of an exception becomes the error.
func (t *Tab) callOn(
	ctx context.Context, s *session, id runtime.RemoteObjectID, function string, result any, args ...any,
) error {
	p := onObject(id, function)
	for _, a := range args {
		if obj, ok := a.(runtime.RemoteObjectID); ok {
			p.Arguments = append(p.Arguments, &runtime.CallArgument{ObjectID: obj})
			continue
		}
		v, err := jsonv2.Marshal(a)
		if err != nil {
			return err
		}
		p.Arguments = append(p.Arguments, &runtime.CallArgument{Value: v})
	}
	res, err := cdp.Call(ctx, s, runtime.CallFunctionOn, p)
	if err != nil {
		return staleOr(err)
	}
	if e := res.ExceptionDetails; e != nil {
		text := e.Text
		if e.Exception != nil && e.Exception.Description != "" {
			text, _, _ = strings.Cut(e.Exception.Description, "\n    at ")
		}
		return errors.New(strings.TrimPrefix(text, "Error: "))
	}
	if result == nil || res.Result == nil || len(res.Result.Value) == 0 {
		return nil
	}
	return decode(res.Result.Value, result)
}
