package llm

import (
	"context"
	"iter"
	"strings"
	"sync/atomic"
)

// KeepTools returns a Model that notices a server which leaves tools out of what the model
// reads, without an error: it reports far fewer tokens than a request with its tools has,
// about as many as one without, and the model calls none. Then the reply is void, and
// tools are described as text: see [PromptTools]. After two such replies, with no call
// between them, so they are from then on. The second may instead be one with a call that is
// written as text, because not every server counts as c does. Dropped counts them, for all
// models that share it; c counts tokens; onDrop, if not nil, is called once.
func KeepTools(m Model, c Counter, dropped *atomic.Int32, onDrop func()) Model {
	return &keeping{m, PromptTools(m), c, dropped, onDrop}
}

// A keeping is the Model of [KeepTools].
type keeping struct {
	Model
	prompted Model
	counter  Counter
	dropped  *atomic.Int32
	onDrop   func()
}

// fewTools is how many tokens tools have, at least, for their absence to be told from a
// server that counts otherwise.
const fewTools = 800

// sureDrops is how many replies show that a server leaves tools out: one may have been
// counted wrongly.
const sureDrops = 2

// Stream implements [Model].
func (k *keeping) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	if k.dropped.Load() >= sureDrops {
		return k.inWords(ctx, req)
	}
	tools := CountHead(k.counter, "", req.Tools)
	if tools < fewTools {
		return k.Model.Stream(ctx, req)
	}
	return func(yield func(Delta, error) bool) {
		var used Usage
		var text strings.Builder
		called, drop := false, false
		for d, err := range k.Model.Stream(ctx, req) {
			if d.Usage != nil {
				used = *d.Usage
			}
			switch p := d.Piece.(type) {
			case Text:
				text.WriteString(p.Text)
			case Call:
				called = true
				if n := k.dropped.Load(); n < sureDrops {
					k.dropped.CompareAndSwap(n, 0) // it has its tools
				}
			}
			if err == nil && d.Stop == End && !called &&
				(k.without(req, tools, used.Input) || k.dropped.Load() > 0 && written(req.Tools, text.String())) {
				drop = true
				break
			}
			if !yield(d, err) || err != nil || d.Stop != "" {
				return
			}
		}
		if !drop {
			return // it broke off
		}
		if k.dropped.Add(1) == sureDrops && k.onDrop != nil {
			k.onDrop()
		}
		if !yield(Delta{Reset: true, Aside: []Aside{{Usage: used}}}, nil) {
			return
		}
		for d, err := range k.inWords(ctx, req) {
			if !yield(d, err) {
				return
			}
		}
	}
}

// inWords asks with tools in words.
func (k *keeping) inWords(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	told := *req
	told.Memo = req.Memo.under(promptedKey{k.dropped})
	return k.prompted.Stream(ctx, &told)
}

// without reports whether a request that the provider counts as so many tokens was read
// without its tools, which have so many.
func (k *keeping) without(req *Request, tools, read int) bool {
	rest := CountHead(k.counter, req.System, nil)
	for _, m := range req.Messages {
		if m.HasBlobs() {
			return false // nobody knows how many tokens a picture has there
		}
		rest += Count(k.counter, m)
	}
	return read > rest/3 && read < rest+tools/4 && 2*read < rest+tools // less than a third: only what was not cached
}
