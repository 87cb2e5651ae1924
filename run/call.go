package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/sight"
	"github.com/openmanus-go/openmanus/llm"
)

// claim returns the event that precedes running a call: an
// [openmanus.CallStarted]. If the call started once before, and no one knows how
// that ended, it returns a result that says so, unless the call is safe to
// repeat: law 4. It returns none if the call may not run.
func (w *Worker) claim(ctx context.Context, x *Session, id string) ([]openmanus.Body, error) {
	c := x.State.Call(id)
	if c == nil || c.Done != nil || !c.Allowed() {
		return nil, nil
	}
	why, err := w.heldBack(ctx, x, c)
	if err != nil {
		return nil, err
	}
	if why != "" {
		return []openmanus.Body{openmanus.FailedCall(id, why)}, nil
	}
	var bodies []openmanus.Body
	if c.Running && w.Changes != nil && mayChange(c.Hints) && !c.Followed {
		if snapped := w.Changes.Broken(ctx, x.ID, x.State, c); snapped != nil {
			bodies = append(bodies, snapped)
		}
	}
	if !c.Running || c.Hints.ReadOnly || c.Hints.Idempotent {
		return append(bodies, openmanus.CallStarted{Call: id, Attempt: c.Attempts + 1, Worker: w.Name}), nil
	}
	if w.Spool != nil {
		if printed := w.Spool.Printed(x.ID, id); strings.TrimSpace(printed) != "" {
			done, err := w.partial(ctx, x, c, openmanus.TextResult("%s", printed))
			return append(bodies, done), err
		}
	}
	return append(bodies, openmanus.FailedCall(id, openmanus.InDoubt)), nil
}

// A Spool keeps what running calls print until their results are stored, so that it
// is not lost if the process is killed. It is safe for concurrent use, and keeps the
// end of what is long. It has no errors: output that it cannot keep is lost.
type Spool interface {
	// Writer returns where the output of a call goes that starts now. It forgets
	// what an earlier attempt printed.
	Writer(session, call string) io.WriteCloser
	// Printed returns what the last attempt of a call has printed, or "".
	Printed(session, call string) string
	// Remove forgets what a call has printed.
	Remove(session, call string)
}

// partial returns the event of a call that was interrupted after it had printed what
// is in res.
func (w *Worker) partial(
	ctx context.Context, x *Session, c *openmanus.CallState, res openmanus.Result,
) (openmanus.Body, error) {
	d := openmanus.CallDone{Call: c.ID, IsError: true, Partial: true, Parts: res.Parts}
	if call, spec, err := w.prepare(x, c); err == nil {
		d.Sources = sourcesOf(x.State, spec, call.Input, res)
	}
	if err := w.shorten(context.WithoutCancel(ctx), x.State, &d, false); err != nil {
		return nil, err
	}
	return d, nil
}

// A Follower follows what calls change in the workspaces of sessions. The bodies
// that it returns are [openmanus.Snapped]. It is safe for concurrent use.
type Follower interface {
	// Begin is called before a call runs that may change files. If the session
	// has not recorded what the workspace contains, or others have changed that,
	// Begin returns what is to be recorded, and is called again once it is: then
	// State.Call(…).Snapped is set. Otherwise it returns a function that is called
	// once after the call, even if ctx has ended by then. While it reads files, which
	// may take long, it calls reading now and then with how many it has read, and with
	// 0 at the end.
	Begin(
		ctx context.Context, session string, s *openmanus.State, call openmanus.Call, spec openmanus.ToolSpec,
		reading func(files int),
	) (first openmanus.Body, end func(ctx context.Context) Followed)

	// Added is called after a call that claimed to change nothing and has made the files
	// with these names, which are new. It returns what is to be recorded, or nil.
	Added(ctx context.Context, session string, s *openmanus.State, c *openmanus.CallState, names []string) openmanus.Body

	// Broken is called for a call that was running when another process ended. It
	// returns what is to be recorded of the workspace, or nil.
	Broken(ctx context.Context, session string, s *openmanus.State, c *openmanus.CallState) openmanus.Body

	// Restore is called when a session goes on whose files are not all put back:
	// State.Unfinished says how far. It puts them back, and returns what is to be
	// recorded.
	Restore(ctx context.Context, session string, s *openmanus.State) (openmanus.Body, error)
}

// Followed is what changed in a workspace while a call ran.
type Followed struct {
	Own       []openmanus.FileChange // what the call created, changed and deleted
	Meanwhile []openmanus.FileChange // what others may have changed
	Seen      []openmanus.SeenFile   // of Own, what the session knows by that: it wrote it
	First     openmanus.Body         // what the workspace contained before, where that is not recorded; nil
	Snapped   openmanus.Body         // what the workspace contains now; nil: nothing is to be recorded
}

// mayChange reports whether a call with these hints may change files of the workspace.
func mayChange(h openmanus.Hints) bool { return !h.ReadOnly && !h.Internal && !h.Final }

// use runs a call that x has claimed. It returns the result, or the question that the
// tool asks, preceded by what changed in the workspace. It may return that together
// with an error.
func (w *Worker) use(ctx context.Context, x *Session, id string) ([]openmanus.Body, error) {
	c := x.State.Call(id)
	failed := func(why string) ([]openmanus.Body, error) {
		return []openmanus.Body{openmanus.FailedCall(id, why)}, nil
	}
	t := x.Flow.Agent().Tool(c.Name)
	if t == nil {
		return failed("the tool " + c.Name + " is no longer there")
	}
	call, spec, err := w.prepare(x, c)
	if err != nil {
		return failed(changedArguments(c) + err.Error())
	}
	gate, err := w.gateOf(ctx, x)
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", c.Name, err)
	}
	places, known := openmanus.PlacesOf(gate, call, spec)
	err = errors.Join(w.beyond(ctx, x, gate, call, spec), cmp.Or(elsewhere(c, places), w.outdated(ctx, x.State, t, c, call)))
	if err != nil {
		return failed(err.Error())
	}
	if known {
		ctx = withRuled(ctx, c, places)
	}
	ended := func(context.Context) (none Followed) { return none }
	if w.Changes != nil && mayChange(spec.Hints) {
		first, end := w.Changes.Begin(ctx, x.ID, x.State, call, spec, func(files int) {
			if w.Live != nil {
				w.Live(x.ID, openmanus.Reading{Call: id, Files: files})
			}
		})
		if first != nil {
			return []openmanus.Body{first}, nil
		}
		ended = end
	}
	body, followed, err := w.runCall(ctx, x, c, t, call, spec, ended)
	var bodies []openmanus.Body
	for _, b := range []openmanus.Body{followed.First, followed.Snapped} {
		if b != nil {
			bodies = append(bodies, b)
		}
	}
	if body != nil {
		bodies = append(bodies, body)
	}
	return bodies, err
}

// runCall runs a call, and returns its event, or nil, and what changed until ended was
// called.
func (w *Worker) runCall(
	ctx context.Context, x *Session, c *openmanus.CallState, t openmanus.Tool, call openmanus.Call, spec openmanus.ToolSpec,
	ended func(context.Context) Followed,
) (openmanus.Body, Followed, error) {
	if c.Ruled.Input == "" || c.Ruling == nil {
		if call.Scope = c.Ruled.Scope; call.Scope == "" && c.Ruling != nil {
			call.Scope = c.Ruling.Scope
		}
	}
	live := &outputStream{w: w, session: x.ID, call: c.ID, clean: w.Secrets.Redactor()}
	if w.Spool != nil {
		live.spool = w.Spool.Writer(x.ID, c.ID)
	}
	defer live.end()
	call.Live = live
	seen, before := sightOf(x.State, spec.Hints), openmanus.Body(nil)
	if !mayChange(spec.Hints) && w.Changes != nil && x.State.Snapshot.Tree == "" {
		seen.First = func() {
			first, end := w.Changes.Begin(ctx, x.ID, x.State, call, spec, func(int) {})
			if before = first; first == nil {
				end(context.WithoutCancel(ctx))
			}
		}
	}
	ctx = sight.With(ctx, seen)
	res, err := Call(ctx, t, call)
	followed := ended(context.WithoutCancel(ctx))
	if !mayChange(spec.Hints) {
		followed = w.added(ctx, x, c, seen, before)
	}
	for _, text := range slices.Backward(seen.Said()) {
		res.Parts = append(llm.Parts{llm.Text{Text: "(" + text + ")\n"}}, res.Parts...)
	}
	body, err := w.outcome(ctx, x, c, spec, call, live, res, err)
	if done, ok := body.(openmanus.CallDone); ok {
		done.Files, done.Meanwhile = followed.Own, followed.Meanwhile
		done.Seen = followed.Seen
		for _, f := range seen.Seen() {
			if file := openmanus.SeenFile(f); !slices.Contains(done.Seen, file) {
				done.Seen = append(done.Seen, file)
			}
		}
		if _, differs := t.(openmanus.ArgumentHinter); differs && !done.IsError {
			done.Wrote = writtenPaths(spec, call.Input)
		}
		body = done
	}
	return body, followed, err
}

// sightOf returns what a call with these hints may replace: what its session has seen. One
// that claims to change nothing replaces nothing, whatever its tool does.
func sightOf(s *openmanus.State, h openmanus.Hints) *sight.Sight {
	looks := !mayChange(h)
	return &sight.Sight{Known: s.Seen, KnownPath: s.SeenPath, Partly: s.SeenPartly, Looks: looks, Never: looks && openmanus.Mode(s.Config.Approve).LooksOnly()}
}

// added returns the files that a call made which claims to change nothing, such as a
// download that a page began. before is what is to be recorded of the workspace as it was
// then, or nil.
func (w *Worker) added(ctx context.Context, x *Session, c *openmanus.CallState, seen *sight.Sight, before openmanus.Body) (f Followed) {
	var names []string
	for _, n := range seen.Writes() {
		names = append(names, n.Path)
		f.Own = append(f.Own, openmanus.FileChange{Path: n.Path, Change: openmanus.FileCreated})
	}
	if len(names) == 0 || w.Changes == nil {
		return f
	}
	if f.First = before; before != nil {
		x = x.clone()
		x.foresee(before)
	}
	f.Snapped = w.Changes.Added(context.WithoutCancel(ctx), x.ID, x.State, c, names)
	return f
}

// outcome returns the event of a call that ran, or nil if nothing is known of it
// because ctx has ended.
func (w *Worker) outcome(
	ctx context.Context, x *Session, c *openmanus.CallState, spec openmanus.ToolSpec, call openmanus.Call,
	live *outputStream, res openmanus.Result, err error,
) (openmanus.Body, error) {
	id := c.ID
	if err != nil && ctx.Err() != nil {
		if res.Parts.Text() == "" {
			res.Parts = openmanus.TextResult("%s", live.printed()).Parts
		}
		if strings.TrimSpace(res.Parts.Text()) == "" {
			return nil, ctx.Err()
		}
		return w.partial(ctx, x, c, res)
	}
	ask := (*openmanus.Ask)(nil)
	if errors.As(err, &ask) && ask.Owner && w.isGuest(x) {
		err = fmt.Errorf("%s", notForGuests(call, spec))
	} else if ask != nil {
		return openmanus.Asked{
			Call: id, N: c.AskCount(), Kind: openmanus.AskText, Question: ask.Question, Schema: ask.Schema,
		}, nil
	}
	if note := changedArguments(c); note != "" {
		res.Parts = append(llm.Parts{llm.Text{Text: note}}, res.Parts...)
	}
	res.Sources = sourcesOf(x.State, spec, call.Input, res)
	if x.State.Pictures >= maxPictures {
		res.Picture = nil
	}
	return w.result(ctx, x.State, id, res, err)
}

// changedArguments returns a note for the model if a call ran with other
// arguments than it wrote, or "".
func changedArguments(c *openmanus.CallState) string {
	if input := c.ChangedInput(); input != "" {
		return "(with changed arguments: " + input + ")\n"
	}
	return ""
}

// result returns the event of a tool's result: its text as valid UTF-8 within
// the limit, followed by the error.
func (w *Worker) result(
	ctx context.Context, s *openmanus.State, id string, res openmanus.Result, err error,
) (openmanus.Body, error) {
	d := openmanus.CallDone{Call: id, Parts: res.Parts, IsError: err != nil, Failed: res.Failed, Waited: res.Waited, Source: res.Source, Sources: res.Sources}
	if res.Detail != nil {
		d.Detail = encodeDetail(res.Detail)
	}
	if err != nil {
		text := err.Error()
		view := len(res.Parts) // what the call has said comes before the error, and a view after it
		for view > 0 && isView(res.Parts[view-1]) {
			view--
		}
		if view > 0 {
			text = "\n" + text
		}
		d.Parts = slices.Insert(slices.Clone(res.Parts), view, llm.Part(llm.Text{Text: text}))
	}
	if len(res.Picture) > 0 || slices.ContainsFunc(d.Parts, isPicture) {
		if text := d.Parts.Text(); w.Secrets.Replace(text) != text { // a picture cannot be redacted
			d.Parts, res.Picture = slices.DeleteFunc(slices.Clone(d.Parts), isPicture), nil
		}
	}
	d.Picture = w.storePicture(ctx, res.Picture)
	if err := w.shorten(context.WithoutCancel(ctx), s, &d, res.Reading); err != nil {
		return nil, err
	}
	return d, nil
}

// maxPictures is how many results of a session have a picture for people.
const maxPictures = 500

// isPicture reports whether p is a picture that is a view.
func isPicture(p llm.Part) bool {
	b, ok := p.(llm.Blob)
	return ok && b.View
}

// isView reports whether p is a view: see [llm.Result].
func isView(p llm.Part) bool {
	switch p := p.(type) {
	case llm.Text:
		return p.View
	case llm.Blob:
		return p.View
	}
	return false
}

// encodeDetail encodes the Detail of a result. If that is impossible, it
// returns an object that says why: a result is worth more than its detail.
func encodeDetail(detail any) (data json.RawMessage) {
	failed := func(why any) {
		// A map of strings always encodes.
		data, _ = json.Marshal(map[string]string{"error": fmt.Sprint("the detail cannot be encoded: ", why)})
	}
	defer func() {
		if p := recover(); p != nil {
			failed(p)
		}
	}()
	data, err := json.Marshal(detail)
	if err != nil {
		failed(err)
	}
	return data
}

// shorten makes the texts of a result valid UTF-8 and joins them into one. If that is
// longer than the model's window allows, it keeps the whole as a blob and leaves out
// the middle, or the end of a text that is read from its beginning: a marker says how
// much is missing and how to read it. Its decision is in the event, so that every
// request has the same bytes.
func (w *Worker) shorten(ctx context.Context, s *openmanus.State, d *openmanus.CallDone, reading bool) error {
	fits := s.ResultSize()
	limit, cut := fits.Output, withoutMiddle
	if reading { // a tool that cuts by itself adds a few lines to a text of this size
		limit, cut = fits.Text+fits.Text/4, withoutEnd
	}
	var said, shown strings.Builder // shown has the views
	var parts llm.Parts
	for _, p := range d.Parts {
		t, ok := p.(llm.Text)
		t.Text = strings.ToValidUTF8(t.Text, "\uFFFD")
		switch {
		case !ok:
			parts = append(parts, p)
		case t.View:
			shown.WriteString(t.Text)
		default:
			said.WriteString(t.Text)
		}
	}
	text, view := said.String(), shown.String()
	if whole := text + view; len(whole) > limit {
		ref, err := w.blobs().Put(ctx, []byte(whole))
		if err != nil {
			return fmt.Errorf("keeping the output of %s: %w", d.Call, err)
		}
		d.Whole, whole = ref, cut(whole, limit, openmanus.ShortRef(s.Refs(), ref))
		rest, ok := strings.CutPrefix(whole, text)
		if view = rest; !ok || rest == "" { // what was cut is not in the view alone
			text, view = whole, ""
		}
	}
	if view != "" {
		parts = append(llm.Parts{llm.Text{Text: view, View: true}}, parts...)
	}
	if text == "" && len(parts) == 0 {
		text = "(no output)"
	}
	if text != "" {
		parts = append(llm.Parts{llm.Text{Text: text}}, parts...)
	}
	d.Parts = parts
	return nil
}

// withoutMiddle returns text with its middle replaced by a marker. The result
// has at most limit bytes, unless limit is too small for the marker.
func withoutMiddle(text string, limit int, ref string) string {
	marker := func(missing, offset int) string {
		return fmt.Sprintf("\n\n[... %d bytes left out; read_output {\"ref\":%q,\"offset\":%d} shows them ...]\n\n", missing, ref, offset)
	}
	room := max(0, limit-len(marker(len(text), len(text))))
	head, tail := room-room/2, len(text)-room/2
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + marker(tail-head, head) + text[tail:]
}

// withoutEnd is like withoutMiddle for a text that is read from its beginning.
func withoutEnd(text string, limit int, ref string) string {
	end := clip.Page(text, limit-100)
	return fmt.Sprintf("%s\n\n[... %d bytes left out; read_output {\"ref\":%q,\"offset\":%d} goes on ...]",
		strings.TrimRight(text[:end], "\n"), len(text)-end, ref, end)
}
