package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// elide returns the event that replaces results and arguments of calls by references, after
// it has stored their texts as blobs. It returns nil if there is nothing to replace.
func (w *Worker) elide(ctx context.Context, s *openmanus.State, results []llm.Result, calls []llm.Call) (openmanus.Body, error) {
	if len(results)+len(calls) == 0 {
		return nil, nil
	}
	e := openmanus.Elided{N: s.Elisions}
	for _, r := range results {
		text := textOf(r.Parts)
		ref, err := w.blobs().Put(ctx, []byte(text))
		if err != nil {
			return nil, fmt.Errorf("keeping a result of %s: %w", r.ID, err)
		}
		call := s.FindCall(r.ID)
		note := fmt.Sprintf("[the result of %s was %s: %d bytes. read_output {\"ref\":%q} shows it. It begins: %q]",
			call.Name, openmanus.LeftOut, len(text), openmanus.ShortRef(s.Refs(), ref), beginning(text, 120))
		if slices.ContainsFunc(r.Parts, isPicture) && len(r.Parts.Text()) < len(note) {
			note = fmt.Sprintf("%s\n[the picture of it was %s: look again, at less at a time]", r.Parts.Text(), openmanus.LeftOut)
		}
		e.Calls = append(e.Calls, openmanus.Elision{Call: r.ID, Text: note, Whole: ref})
	}
	for _, c := range calls {
		ref, err := w.blobs().Put(ctx, []byte(c.Input))
		if err != nil {
			return nil, fmt.Errorf("keeping the arguments of %s: %w", c.ID, err)
		}
		text := withoutLongTexts(c.Input, fmt.Sprintf("the rest was %s; read_output {\"ref\":%q} shows all arguments", openmanus.LeftOut, openmanus.ShortRef(s.Refs(), ref)))
		e.Calls = append(e.Calls, openmanus.Elision{Call: c.ID, Text: text, Whole: ref, Input: true})
	}
	return e, nil
}

// maxLeftTexts is how many bytes arguments may have whose long texts were left out.
const maxLeftTexts = 400

// withoutLongTexts returns the arguments of a call with the beginning of long texts, each
// followed by a note; or the note alone, if there is much besides texts.
func withoutLongTexts(input, note string) string {
	var all map[string]any
	if json.Unmarshal([]byte(input), &all) == nil {
		for name, v := range all {
			if text, ok := v.(string); ok && len(text) > 160 {
				all[name] = fmt.Sprintf("%s [%d bytes: %s]", beginning(text, 40), len(text), note)
			}
		}
		if short, err := json.Marshal(all); err == nil && len(short) <= maxLeftTexts {
			return string(short)
		}
	}
	short, _ := json.Marshal(map[string]string{"left_out": fmt.Sprintf("%d bytes: %s", len(input), note)}) // a string has no other form
	return string(short)
}

// compact stores the older part of the conversation as a blob and has a model
// summarize it. It returns an [openmanus.Compacted]; an [openmanus.ModelFailed],
// if there is no summary; an [openmanus.Stopped], if the budget is used up; or
// nil, if there is nothing to cut. refused is the error of the provider if it
// refused a request as too large: then it also returns nil if the next would be no
// smaller.
func (w *Worker) compact(ctx context.Context, a *openmanus.Agent, s *openmanus.State, t openmanus.Task, refused error) (openmanus.Body, error) {
	room := s.Window().RequestBudget()
	if room == 0 || refused != nil {
		room = refusedRoom(s, refused)
	}
	c := s.CutFor(room, refused != nil)
	if c.End == 0 {
		return nil, nil
	}
	ref, err := w.blobs().Put(ctx, []byte(render(s.Said[:c.End], 0)))
	if err != nil {
		return nil, fmt.Errorf("keeping what is left out: %w", err)
	}
	if !smaller(s, openmanus.Compacted{N: s.Compactions, UpTo: c.UpTo, Keep: c.Keep, Whole: ref,
		Summary: summary(s, "", s.Said[:c.End], ref, room)}) {
		if refused != nil {
			return nil, nil
		}
		return openmanus.ModelFailed{Turn: t.Turn, Re: t.Re, Kind: llm.Context,
			Error: "the conversation is too large for the model's window, and a summary of it is no smaller"}, nil
	}
	if reason, why := s.OverBudget(); reason != "" {
		return openmanus.Stopped{Turn: t.Turn, Re: t.Re, Reason: reason, Error: why}, nil
	}
	prices := s.Config.Prices
	if p := a.Summarizer.Prices; p.Input != 0 || p.Output != 0 || p.Free {
		prices = p
	}
	about := estimateOf(s, prices)
	if stop := w.reserve(ctx, t, about); stop != nil {
		return stop, nil
	}
	r, h, sent, err := summarize(ctx, a, s, c, room, refused != nil)
	own, aside := usesOf(r, h, a.Fallbacks)
	if e := w.settle(ctx, about, about.spentBy(own, aside)); e != nil {
		return nil, e
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return openmanus.ModelFailed{Turn: t.Turn, Re: t.Re, Kind: llm.KindOf(err),
			Usage: own.Usage, Cost: own.Cost, Free: own.Free, By: own.By, Aside: aside, Sent: sent,
			Error: fmt.Sprintf("the conversation is too large and could not be summed up: %v", err)}, nil
	}
	b := openmanus.Compacted{N: s.Compactions, UpTo: c.UpTo, Keep: c.Keep, Whole: ref, Step: true,
		Usage: own.Usage, Cost: own.Cost, Free: own.Free, By: own.By, Aside: aside, Sent: sent}
	words := r.Message.Text()
	b.Summary = summary(s, words, s.Said[:c.End], ref, room)
	if refused != nil {
		b.Refused = refused.Error()
	}
	for n := s.SummaryBytes(room); words != "" && !smaller(s, b); n /= 2 {
		if words = shortened(words, n); n < 100 {
			words = ""
		}
		b.Summary = summary(s, words, s.Said[:c.End], ref, room)
	}
	return b, nil
}

// smaller reports whether the next request is smaller after b.
func smaller(s *openmanus.State, b openmanus.Compacted) bool {
	b.Refused = "" // which changes how sizes are counted
	then := s.Clone()
	then.Apply(openmanus.Event{Seq: s.Seq + 1, Time: s.Updated, Body: b})
	return then.Size() < s.Size()
}

// shrink returns the event that makes the next request smaller than the one that the
// provider refused as too large: a compaction, or references in place of results,
// even of those that the model has not read. It returns nil if nothing can be left
// out. Each event leaves less, so that the sequence ends.
func (w *Worker) shrink(ctx context.Context, x *Session, t openmanus.Task, refused error) (openmanus.Body, error) {
	s := x.State
	results := s.ElidableNow()
	if room := refusedRoom(s, refused); len(results) == 0 || s.CutFor(room, true).Gain > 0 {
		if b, err := w.compact(ctx, x.Flow.Agent(), s, t, refused); b != nil || err != nil {
			return b, err
		}
	}
	var calls []llm.Call
	if len(results) == 0 {
		calls = s.ElidableCallsNow()
	}
	if len(results)+len(calls) == 0 {
		results, calls = s.ElidableLeast(s.Size() / 2)
	}
	b, err := w.elide(ctx, s, results, calls)
	if e, ok := b.(openmanus.Elided); ok {
		e.Refused = refused.Error()
		b = e
	}
	return b, err
}

// leastText is the fewest bytes of a conversation that a summary is asked of.
const leastText = 1000

const askForSummary = `This conversation grows too long for you. Everything above this message, except what the person said and the latest steps, is about to be replaced by a summary that you write now. Use no tool. Write, in plain words and at most %d of them:
1. what the person wants, with every condition they named;
2. what was done and decided, and why; what was tried in vain;
3. every fact that will be needed: names, numbers, paths, URLs, commands, errors, word for word;
4. how things stand, and what comes next.
Leave out whatever can be read again. Write nothing but the summary.`

// summarize has a model summarize what is cut. It continues the conversation, so
// that the provider has most of the request in its cache; if that does not fit, or
// yields no words, it sends the text of the conversation, and less of it each time that
// the provider refuses that as too large. The reply has the usage of all attempts; sent
// is the last request. refused says that the provider has refused a request of room
// tokens.
func summarize(
	ctx context.Context, a *openmanus.Agent, s *openmanus.State, c openmanus.CutPoint, room int, refused bool,
) (r *llm.Reply, h openmanus.Helper, sent llm.Sent, err error) {
	ask := fmt.Sprintf(askForSummary, s.SummaryBytes(room)/8)
	h = a.Summarizer
	var before []llm.Aside
	attempts := max(0, s.Limits.Attempts)
	if h.Model == nil {
		h = openmanus.Helper{Model: a.Model, Name: s.Config.Model, Prices: s.Config.Prices, Window: s.Window()}
		if h.Model == nil {
			return new(llm.Reply), h, sent, fmt.Errorf("the agent %q has no model", a.Name)
		}
		fits := s.Window().RequestBudget()
		if refused {
			fits = room
		}
		if s.Fits(c.End, fits) {
			req := summaryRequest(s, c.End, ask)
			req.Settings.MaxTokens = summaryLimit(s, h, room, s.Size())
			r, err := llm.Measure(ctx, h.Model, a.Counter, req, nil)
			if err == nil && r.Message.Text() != "" || err != nil && !tooLong(err) && !noReply(err) {
				return r, h, llm.SentOf(req), err
			}
			before = append(r.Aside, llm.Aside{By: r.By, Usage: r.Usage})
		}
	}
	limit := h.Window.RequestBudget()
	limit = cmp.Or(limit, 16<<10)
	if refused && a.Summarizer.Model == nil {
		limit = min(limit, room)
	}
	var req *llm.Request
	for {
		text := renderWithin(s.Said[:c.End], limit) // at two bytes a token, half of what fits
		req = &llm.Request{Fixed: 1, Messages: []llm.Message{llm.Say(llm.User, text+"\n\n"+ask)}, Attempts: attempts}
		req.Settings.MaxTokens = summaryLimit(s, h, room, llm.Count(a.Counter, req.Messages[0]))
		r, err = llm.Measure(ctx, h.Model, a.Counter, req, nil)
		before = append(before, r.Aside...)
		if limit = min(limit, len(text)) / 2; err == nil || !tooLong(err) || limit < leastText {
			break
		}
		before = append(before, llm.Aside{By: r.By, Usage: r.Usage})
	}
	r.Aside = before
	if err == nil && r.Message.Text() == "" {
		err = &llm.Error{Kind: llm.Protocol, Err: errors.New("the model wrote no summary")}
	}
	return r, h, llm.SentOf(req), err
}

// noReply reports whether err says that a model's replies were none.
func noReply(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && e.NoReply
}

// summaryLimit returns how many tokens the reply with a summary may have, to a request of
// size tokens: several times what a summary needs, since models think before they write.
func summaryLimit(s *openmanus.State, h openmanus.Helper, room, size int) int {
	most := max(2048, s.SummaryBytes(room))
	if h.Window.Tokens > 0 {
		most = min(most, h.Window.Tokens-h.Window.RequestBudget())
	}
	return s.ReplyLimit(size, most, h.Prices)
}

// summaryRequest returns a request for a summary of the first n messages. It
// begins like the requests before it, byte for byte.
func summaryRequest(s *openmanus.State, n int, ask string) *llm.Request {
	req := s.Request(openmanus.Task{})
	req.Messages = append(slices.Clip(s.Said[:n]), llm.Say(llm.User, ask))
	req.Fixed, req.Size = n, 0
	req.Settings.Schema, req.Settings.ToolChoice = nil, ""
	return req
}

// summary returns the message that replaces what was cut: the words of the model,
// the last results of tools such as the plan, and how to read the rest.
func summary(s *openmanus.State, words string, gone []llm.Message, ref openmanus.Ref, room int) string {
	most := s.SummaryBytes(room)
	var b strings.Builder
	b.WriteString("<summary>\nWhat was said and done here was left out to make room. This is what it came to.\n\n")
	b.WriteString(shortened(strings.TrimSpace(words), most))
	for _, name := range slices.Sorted(maps.Keys(s.Kept())) {
		fmt.Fprintf(&b, "\n\nThe last word of %s:\n%s", name, shortened(s.Kept()[name], s.KeptBytes(room)))
	}
	if seen := places(gone, most/4); len(seen) > 0 {
		b.WriteString("\n\nFiles and addresses that were used, the latest first:\n" + strings.Join(seen, "\n"))
	}
	b.WriteString("\n\nAll that was left out can be read and searched word for word:")
	for _, r := range s.Recent(ref) {
		fmt.Fprintf(&b, "\nread_output {\"ref\":%q,\"pattern\":\"…\"}", openmanus.ShortRef(s.Refs(), r))
	}
	b.WriteString("\n</summary>")
	return b.String()
}

var place = regexp.MustCompile(`(?:https?://|\.{0,2}/)?[\w@%+~-]+(?:[./:][\w@%+=?&~-]+)+/?`)

// places returns the paths and URLs in the arguments of calls, the latest first,
// in at most so many bytes.
func places(msgs []llm.Message, most int) (found []string) {
	for _, m := range slices.Backward(msgs) {
		for _, c := range m.Calls() {
			for _, p := range place.FindAllString(plainInput(c.Input), -1) {
				if most -= len(p) + 1; most < 0 {
					return found
				}
				if !slices.Contains(found, p) {
					found = append(found, p)
				}
			}
		}
	}
	return found
}

// plainInput returns the strings in arguments, one a line.
func plainInput(input string) string {
	var values map[string]any
	if json.Unmarshal([]byte(input), &values) != nil {
		return input
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if v, ok := values[name].(string); ok {
			b.WriteString(v + "\n")
		}
	}
	return b.String()
}

// render returns a conversation as text. It cuts the middle out of texts with more
// than most bytes, unless most is 0.
func render(msgs []llm.Message, most int) string {
	cut := func(text string) string {
		if most > 0 {
			text = shortened(text, most)
		}
		return text
	}
	var b strings.Builder
	for _, m := range msgs {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				fmt.Fprintf(&b, "%s: %s\n", m.Role, cut(p.Text))
			case llm.Call:
				fmt.Fprintf(&b, "%s calls %s (%s): %s\n", m.Role, p.Name, p.ID, cut(p.Input))
			case llm.Result:
				fmt.Fprintf(&b, "result of %s: %s\n", p.ID, cut(textOf(p.Parts)))
			case llm.Blob:
				fmt.Fprintf(&b, "%s: %s\n", m.Role, textOf(llm.Parts{p}))
			}
		}
	}
	return b.String()
}

// renderWithin is like render, with a result of at most limit bytes.
func renderWithin(msgs []llm.Message, limit int) string {
	text := render(msgs, 0)
	for most := 4000; len(text) > limit && most > 50; most /= 2 {
		text = render(msgs, most)
	}
	return shortened(text, limit)
}

// textOf returns the text of parts, with a description of those that are not text.
func textOf(parts llm.Parts) string {
	var b strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			b.WriteString(p.Text)
		case llm.Blob:
			fmt.Fprintf(&b, "[%s %s, %d bytes]", p.Name, p.MIME, len(p.Data))
		}
	}
	return b.String()
}

// shortened returns text with its middle cut out if it has more than limit bytes.
func shortened(text string, limit int) string {
	const mark = "\n[…]\n"
	if len(text) <= limit {
		return text
	}
	room := max(0, limit-len(mark))
	return beginning(text, room-room/2) + mark + ending(text, room/2)
}

// after returns b, which follows a request in vain, with what f records that it has used.
func after(f openmanus.ModelFailed, b openmanus.Body) openmanus.Body {
	used := openmanus.ModelUses(f)
	switch next := b.(type) {
	case openmanus.Compacted:
		next.Aside = append(used, next.Aside...)
		return next
	case openmanus.Elided:
		next.Aside = used
		return next
	case openmanus.ModelFailed:
		next.Aside = append(used, next.Aside...)
		return next
	}
	return b
}

// beginning returns the first n bytes of text, or fewer where a character would be
// split.
func beginning(text string, n int) string {
	n = min(n, len(text))
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// ending returns the last n bytes of text, or fewer where a character would be
// split.
func ending(text string, n int) string {
	from := max(0, len(text)-n)
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}
