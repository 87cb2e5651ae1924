package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/bench/server"
)

// The script of B7, and at which requests what happens to it.
const (
	b7Steps  = 200
	b7Window = 32_000 // tokens, so that a conversation of 200 steps has to be cut
	b7Say    = 60     // a person speaks while the model is asked for the 60th time
	b7Kill   = 90     // the process is killed while the model is asked for the 90th time
	b7Fork   = 20     // a fork begins so many replies before the end
	b7Words  = "Take the scenic route from here on."
	b7Other  = "Take the other road."
)

// b7 measures how much of each request is at the beginning of the next one,
// with the command-line program and its own tools.
func (b *bench) b7(ctx context.Context) error {
	home, err := os.MkdirTemp(b.dir, "journey-")
	if err != nil {
		return err
	}
	j := &traveller{bench: b, home: home}
	if err := j.pack(); err != nil {
		return err
	}
	run, err := j.travel(ctx)
	if err != nil {
		return err
	}
	if err := atTheEnd(run); err != nil {
		return err
	}
	cuts, fork, forked, err := j.fork(ctx)
	if err != nil {
		return err
	}
	p, err := run.Prefix()
	if err != nil {
		return err
	}
	t := &table{head: []string{"what", "value", "target", "met"}}
	prefixRows(t, p, cuts)
	same, heard, late := byteEqual(run, b7Kill), said(run, "user", b7Words), said(run, "tool", "late-20: done") && said(run, "tool", "late-150: done")
	t.row("the request after kill -9 and resume is byte-equal", yes(same), "yes", yes(same))
	t.row("the words said meanwhile are in the conversation", yes(heard), "yes", yes(heard))
	t.row("a tool that came late was found and called", yes(late), "yes", yes(late))
	if err := forkRows(t, run, fork, forked); err != nil {
		return err
	}
	t.print(b.out, fmt.Sprintf("B7: %d requests, window %d tokens, %d failing calls, a plan and its update, two images, tools that come late, a message while the model speaks, kill -9 while the model speaks, kill -9 while a call runs, %d compactions, %d times results that gave way, a fork",
		len(run.Records), b7Window, journeyErrors(b7Steps), cuts.compactions, cuts.elisions))
	return nil
}

// atTheEnd reports whether the script ended, and was asked for no more than
// its replies, the one that was killed, and summaries.
func atTheEnd(run *server.Run) error {
	script, err := journey(fmt.Sprintf("journey-%d", b7Steps))
	if err != nil {
		return err
	}
	n := len(run.Records)
	for _, r := range run.Records {
		if r.Summary {
			n--
		}
	}
	if want := requests(script) + 1; n != want || !run.Records[len(run.Records)-1].Last {
		return fmt.Errorf("%d requests arrived at the model server, not %d", n, want)
	}
	return nil
}

// A declared counts the cuts that a journal has.
type declared struct{ compactions, elisions int }

func prefixRows(t *table, p server.Prefix, cuts declared) {
	share := func(kept, of int) string {
		return fmt.Sprintf("%.6f (%d of %d)", float64(kept)/float64(max(1, of)), kept, of)
	}
	t.row("cached prefix: bytes of tools, system and messages kept, outside of cuts", share(p.Kept, p.Of), ">= 0.999", yes(p.Kept*1000 >= p.Of*999 && p.Of > 0))
	t.row("requests whose prompt was not wholly kept, outside of cuts", fmt.Sprint(len(p.Breaks), " ", p.Breaks), "0", yes(len(p.Breaks) == 0))
	all := cuts.compactions + cuts.elisions
	t.row("the same where the journal has a cut", fmt.Sprint(len(p.Cuts), " ", p.Cuts), fmt.Sprint("<= ", all), yes(0 < all && len(p.Cuts) <= all))
	t.row("requests for a summary", p.Summaries, fmt.Sprint(cuts.compactions), yes(p.Summaries == cuts.compactions && p.Summaries > 0))
	t.row("of their bytes, at the beginning of the request before", share(p.SharedKept, p.SharedOf), ">= 0.999", yes(p.SharedKept*1000 >= p.SharedOf*999 && p.SharedOf > 0))
	t.row("messages of the moment, left out", p.Moments, "-", "-")
}

// forkRows compares the first request of a fork with those of the session
// that it was made of, and the further ones with each other.
func forkRows(t *table, run, fork *server.Run, seq int64) error {
	first, err := prompt(fork, 1)
	if err != nil {
		return err
	}
	p, err := fork.Prefix()
	if err != nil {
		return err
	}
	kept, of := 0, 0
	for body := range run.Bodies() {
		q, err := server.ParsePrompt(body)
		if err != nil {
			return err
		}
		n, all := first.Before().In(q)
		kept, of = max(kept, n), all
	}
	t.row(fmt.Sprintf("a fork at event %d: bytes of its first request before the new words, in one of the session's", seq),
		fmt.Sprintf("%.6f (%d of %d)", float64(kept)/float64(max(1, of)), kept, of), ">= 0.999", yes(kept*1000 >= of*999 && of > 0))
	t.row("the fork's own requests: bytes kept", fmt.Sprintf("%.6f (%d of %d)", p.Ratio(), p.Kept, p.Of), ">= 0.999", yes(p.Kept*1000 >= p.Of*999 && p.Of > 0))
	return nil
}

func yes(ok bool) string {
	if ok {
		return "yes"
	}
	return "no"
}

// byteEqual reports whether request n (from 1) and the one after it have the
// same body.
func byteEqual(run *server.Run, n int) bool {
	a, b := body(run, n), body(run, n+1)
	return a != nil && bytes.Equal(a, b)
}

// body is that of request n, from 1, of those that ask for no summary; or nil.
func body(run *server.Run, n int) []byte {
	i := 0
	for body := range run.Bodies() {
		if !run.Records[i].Summary {
			n--
		}
		if i++; n == 0 {
			return bytes.Clone(body)
		}
	}
	return nil
}

func prompt(run *server.Run, n int) (server.Prompt, error) {
	data := body(run, n)
	if data == nil {
		return server.Prompt{}, fmt.Errorf("there is no request %d", n)
	}
	return server.ParsePrompt(data)
}

// said reports whether some request has these words of that role.
func said(run *server.Run, role, words string) bool {
	for body := range run.Bodies() {
		p, err := server.ParsePrompt(body)
		if err == nil && slices.ContainsFunc(p.Values, func(v server.Value) bool {
			return v.Role == role && strings.Contains(string(v.Raw), words)
		}) {
			return true
		}
	}
	return false
}
