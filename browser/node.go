package browser

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// errStale is the error for an element that is no longer on the page.
var errStale = errors.New("it is no longer on the page: look at the elements as they are now")

// world is a context of a frame in which our functions run, apart from the
// page's scripts.
func (t *Tab) world(ctx context.Context, r ref) (runtime.ExecutionContextID, error) {
	t.b.mu.Lock()
	id, ok := t.worlds[r.frame]
	t.b.mu.Unlock()
	if ok {
		return id, nil
	}
	res, err := cdp.Call(ctx, r.s, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: r.frame, WorldName: "openmanus"})
	if err != nil {
		return 0, err
	}
	t.b.note(func() { t.worlds[r.frame] = res.ExecutionContextID })
	return res.ExecutionContextID, nil
}

// object is a node as a value of our world.
func (t *Tab) object(ctx context.Context, r ref) (runtime.RemoteObjectID, error) {
	for try := 0; ; try++ {
		world, err := t.world(ctx, r)
		if err != nil {
			return "", staleOr(err)
		}
		var res struct {
			Object struct {
				ID runtime.RemoteObjectID `json:"objectId"`
			} `json:"object"`
		}
		err = r.s.Call(ctx, "DOM.resolveNode", map[string]any{"backendNodeId": r.node, "executionContextId": world, "objectGroup": group}, &res)
		if err == nil {
			return res.Object.ID, nil
		}
		if try > 0 || !strings.Contains(err.Error(), "context") {
			return "", staleOr(err)
		}
		t.b.note(func() { delete(t.worlds, r.frame) }) // that of an older document
	}
}

const group = "openmanus"

// release lets go of what an action held in the page.
func (t *Tab) release(s *session) {
	s.send(runtime.CommandReleaseObjectGroup, runtime.ReleaseObjectGroupParams{ObjectGroup: group})
}

// staleOr is err, or errStale if it says that a node or its frame has gone.
func staleOr(err error) error {
	var e *cdproto.Error
	if errors.As(err, &e) && (strings.Contains(e.Message, "node") || strings.Contains(e.Message, "Node") || strings.Contains(e.Message, "frame") || strings.Contains(e.Message, "ontext")) {
		return errStale
	}
	return err
}

// call calls a function of ours with a node as this, and waits for what it
// promises.
func (t *Tab) call(ctx context.Context, r ref, function string, result any, args ...any) error {
	id, err := t.object(ctx, r)
	if err != nil {
		return err
	}
	return t.callOn(ctx, r.s, id, function, result, args...)
}

// onObject is a call of a function with a value of our world as this.
func onObject(id runtime.RemoteObjectID, function string) runtime.CallFunctionOnParams {
	return runtime.CallFunctionOnParams{FunctionDeclaration: function, ObjectID: id, ReturnByValue: ptr(true), AwaitPromise: ptr(true), UserGesture: ptr(true)}
}

func (t *Tab) callOn(ctx context.Context, s *session, id runtime.RemoteObjectID, function string, result any, args ...any) error {
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

// Eval evaluates an expression in the page's own world and decodes its value.
// It is for tests and programs, not for models.
func (t *Tab) Eval(ctx context.Context, expression string, result any) error {
	res, err := cdp.Call(ctx, t.s, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ReturnByValue: ptr(true), AwaitPromise: ptr(true)})
	if err != nil {
		return err
	}
	if res.ExceptionDetails != nil {
		return fmt.Errorf("the page says: %s", res.ExceptionDetails.Text)
	}
	if result == nil || len(res.Result.Value) == 0 {
		return nil
	}
	return decode(res.Result.Value, result)
}

// A Point is a place in the view, in CSS pixels.
type Point struct{ X, Y float64 }

type quads struct {
	Quads [][]float64 `json:"quads"`
}

// middle is the middle of the first part of a node that can be hit, in the
// view of its process.
func (q quads) middle() (Point, bool) {
	for _, k := range q.Quads {
		if len(k) != 8 {
			continue
		}
		w, h := max(k[0], k[2], k[4], k[6])-min(k[0], k[2], k[4], k[6]), max(k[1], k[3], k[5], k[7])-min(k[1], k[3], k[5], k[7])
		if w > 0.5 && h > 0.5 {
			return Point{(k[0] + k[2] + k[4] + k[6]) / 4, (k[1] + k[3] + k[5] + k[7]) / 4}, true
		}
	}
	return Point{}, false
}
