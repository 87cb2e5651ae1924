package lawtest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// A piping journal stores what goes through its pipes some time later. The driver hears of
// it when tell, if not nil, has returned; those who follow the journal hear of it before.
type piping struct {
	*tamper
	tell func(bodies []openmanus.Body)
}

// Pipe implements [openmanus.Pipeliner].
func (j piping) Pipe(session string, after int64) openmanus.Pipe {
	stored := make(chan struct{})
	close(stored)
	return &slowPipe{j: j, session: session, after: after, before: &slowCommit{stored: stored}}
}

type slowPipe struct {
	j       piping
	session string
	after   int64
	before  *slowCommit
}

type slowCommit struct {
	stored chan struct{} // closed when err is set
	err    error
}

// Append implements [openmanus.Pipe].
func (p *slowPipe) Append(ctx context.Context, bodies ...openmanus.Body) ([]openmanus.Event, func() error, error) {
	_, events, err := journal.Codec{Blobs: p.j.Memory}.Round(ctx, bodies...)
	if err != nil {
		return nil, nil, err
	}
	for i := range events {
		p.after++
		events[i].Seq, events[i].Time = p.after, journal.Now()
	}
	c, before := &slowCommit{stored: make(chan struct{})}, p.before
	p.before = c
	go func() {
		defer close(c.stored)
		<-before.stored
		for range 10 { // others have their turn
			runtime.Gosched()
		}
		if before.err != nil {
			c.err = openmanus.ErrMoved
			return
		}
		c.err = p.j.store(ctx, p.session, events[0].Seq-1, bodies)
	}()
	return events, func() error {
		<-c.stored
		if c.err == nil && p.j.tell != nil {
			p.j.tell(bodies)
		}
		return c.err
	}, nil
}

// store appends bodies after the event after, with the others' hands in it.
func (j *tamper) store(ctx context.Context, session string, after int64, bodies []openmanus.Body) error {
	n := j.n.Add(1)
	if j.before != nil {
		if err := j.before(n, session, bodies); err != nil {
			return err
		}
	}
	err := j.appendAfter(ctx, session, after, bodies)
	if err == nil && j.after != nil {
		err = j.after(n, session, bodies)
	}
	return err
}

func (j *tamper) appendAfter(ctx context.Context, session string, after int64, bodies []openmanus.Body) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, err := range j.Memory.Events(ctx, session, after) {
		return errors.Join(err, openmanus.ErrMoved)
	}
	_, err := j.Memory.Append(ctx, session, bodies...)
	return err
}

// piped is an epic whose driver does not wait for its journal.
func piped(t *testing.T) *epic {
	e := newEpic(t)
	e.pipe = true
	return e
}

// A driver that goes on while its events are stored gets to the same end as
// one that waits, killed at any append.
func TestKilledAtEveryAppendAPipelineReachesTheSameTranscript(t *testing.T) {
	want, _ := undisturbed(t)
	for n := int64(1); ; n++ {
		for _, stored := range []bool{false, true} {
			e := piped(t)
			dies := func(at int64, _ string, _ []openmanus.Body) error { return deadAfter(n-1, at) }
			if stored {
				e.j.after = dies
				e.j.before = func(at int64, _ string, _ []openmanus.Body) error { return deadAfter(n, at) }
			} else {
				e.j.before = dies
			}
			err := e.live(t)
			if err == nil && e.j.n.Load() < n {
				return
			}
			if !errors.Is(err, errCrash) {
				t.Fatalf("killed at append %d (stored: %v), Wake returns %v", n, stored, err)
			}
			e.j.before, e.j.after = nil, nil
			if err := e.live(t); err != nil {
				t.Fatal(err)
			}
			e.check(t)
			if got := e.transcript(t); got != want {
				t.Fatalf("killed at append %d (stored: %v):\n%s\nwant\n%s\n%s", n, stored, got, want, e.logs(t))
			}
		}
	}
}

// Whatever others append while a driver goes on, it hears it, and takes back
// what it built on other events.
func TestOthersAppendWhileAPipelineIsUnderWay(t *testing.T) {
	for _, words := range []struct {
		name   string
		body   openmanus.Body
		resume openmanus.Body // nil: the session finishes by itself
	}{
		{"a message", userSays("steering", "be brief"), nil},
		{"a note", openmanus.Noted{ID: "note", Text: "a note"}, nil},
		{"a title", openmanus.Titled{ID: "t", Title: "a title"}, nil},
		{"an interrupt", openmanus.Interrupted{ID: "x"}, openmanus.Resumed{ID: "on"}},
	} {
		t.Run(words.name, func(t *testing.T) {
			spoken := 0
			othersIn(t, piped, func(t *testing.T, e *epic) {
				spoken++
				if _, err := e.j.say(t.Context(), sess, words.body); err != nil {
					t.Error(err)
				}
			}, func(t *testing.T, e *epic) {
				if words.resume != nil {
					put(t, e.j.Memory, words.resume)
					if err := e.live(t); err != nil {
						t.Fatal(err)
					}
				}
				ended(t, load(t, e.j.Memory, sess), openmanus.Finished, "")
			})
			if spoken < 10 {
				t.Errorf("%d words were spoken: the epic has more appends", spoken)
			}
		})
	}
}

// Subscribers see only stored events.
func TestAPipelineShowsNothingBeforeItIsStored(t *testing.T) {
	e := piped(t)
	l := local(piping{tamper: e.j}, e.flows...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready, seen := make(chan struct{}), make(chan error, 1)
	go func() {
		last, first := int64(0), true
		for ev, err := range l.Watch(ctx, sess, 0) {
			if first {
				close(ready)
				first = false
			}
			switch {
			case err != nil:
				seen <- err
				return
			case ev.Seq > 0 && ev.Seq != last+1:
				seen <- fmt.Errorf("event %d after event %d", ev.Seq, last)
				return
			case ev.Seq > 0:
				last = ev.Seq
				if n := len(events(t, e.j.Memory, sess)); int64(n) < ev.Seq {
					seen <- fmt.Errorf("event %d is seen, and %d are stored", ev.Seq, n)
					return
				}
			}
		}
		seen <- nil
	}()
	<-ready
	for {
		if err := l.Wake(t.Context(), sess); err != nil {
			t.Fatal(err)
		}
		if !e.answer(t) {
			break
		}
	}
	cancel()
	if err := <-seen; err != nil {
		t.Fatal(err)
	}
}

// A reply that was recorded while the events before it were being stored, and that the
// journal refuses because another process was first, is recorded anew: the driver does
// not ask the model once more.
func TestAReplyIsKeptIfWhatItAnswersIsStored(t *testing.T) {
	for range 50 {
		asked := make([]atomic.Int64, 3)
		m := &llmtest.Model{Reply: func(req *llm.Request) llm.Message {
			turn := 0
			for _, msg := range req.Messages {
				if msg.Role == llm.Assistant {
					turn++
				}
			}
			asked[turn].Add(1)
			if turn == 2 {
				return llmtest.Say("done")
			}
			return llmtest.Use(fmt.Sprint(turn), "look", map[string]any{})
		}}
		spec := openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "look"}, Hints: openmanus.Hints{ReadOnly: true}}
		look := openmanus.Func(spec, func(context.Context, openmanus.Call, struct{}) (openmanus.Result, error) {
			return openmanus.TextResult("nothing"), nil
		})
		a := &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{look}, Gate: openmanus.AllowAll}
		j := &tamper{Memory: new(journal.Memory)}
		said := userSays("1", "look twice")
		if err := openmanus.Open(t.Context(), j.Memory, sess, a, &said); err != nil {
			t.Fatal(err)
		}
		once := false
		j.before = func(_ int64, _ string, bodies []openmanus.Body) error {
			for _, b := range bodies {
				if r, ok := b.(openmanus.ModelSaid); ok && r.Turn == 1 && !once {
					once = true
					_, err := j.say(t.Context(), sess, openmanus.Noted{ID: "n", Text: "a note"})
					return err
				}
			}
			return nil
		}
		if err := local(piping{tamper: j}, a).Wake(t.Context(), sess); err != nil {
			t.Fatal(err)
		}
		ended(t, load(t, j.Memory, sess), openmanus.Finished, "")
		if n := asked[1].Load(); !once || n != 1 {
			t.Fatalf("the model was asked %d times for the reply that was refused (%v)", n, once)
		}
	}
}

// Nothing that streams comes after the event that records it: a subscriber would show it
// twice. Here the driver hears of a result, and of the reply to it, after those who follow
// the journal.
func TestAPipelineShowsAReplyBeforeItIsRecorded(t *testing.T) {
	for range 20 {
		spec := openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "look"}, Hints: openmanus.Hints{ReadOnly: true}}
		look := openmanus.Func(spec, func(_ context.Context, call openmanus.Call, _ struct{}) (openmanus.Result, error) {
			fmt.Fprint(call.Live, "looking")
			return openmanus.TextResult("nothing"), nil
		})
		m := llmtest.Script(llmtest.Use("1", "look", map[string]any{}), llmtest.Use("2", "look", map[string]any{}), llmtest.Say("done"))
		a := &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{look}, Gate: openmanus.AllowAll}
		j := &tamper{Memory: new(journal.Memory)}
		said := userSays("1", "look twice")
		if err := openmanus.Open(t.Context(), j.Memory, sess, a, &said); err != nil {
			t.Fatal(err)
		}
		l := local(piping{j, func(bodies []openmanus.Body) {
			for _, b := range bodies {
				if done, ok := b.(openmanus.CallDone); ok {
					untilReplied(t, j, done)
				}
			}
		}}, a)
		ready, seen := make(chan struct{}), make(chan error, 1)
		go func() {
			next := sync.OnceFunc(func() { close(ready) })
			turn, streamed := 0, 0 // replies before turn are recorded
			done := make(map[string]bool)
			for ev, err := range l.Watch(t.Context(), sess, 0) {
				next()
				switch b := ev.Body.(type) {
				case openmanus.ModelSaid:
					turn = b.Turn + 1
				case openmanus.CallDone:
					done[b.Call] = true
				case openmanus.Typing:
					streamed++
					if b.Turn < turn {
						err = fmt.Errorf("a delta of turn %d comes after the reply", b.Turn)
					}
				case openmanus.Output:
					streamed++
					if done[b.Call] {
						err = fmt.Errorf("output of call %s comes after its result", b.Call)
					}
				}
				if err == nil && turn == 3 && streamed < 5 {
					err = fmt.Errorf("%d pieces streamed", streamed)
				}
				if err != nil || turn == 3 {
					seen <- err
					return
				}
			}
			seen <- t.Context().Err()
		}()
		<-ready
		if err := l.Wake(t.Context(), sess); err != nil {
			t.Fatal(err)
		}
		if err := <-seen; err != nil {
			t.Fatal(err)
		}
	}
}

// untilReplied returns some time after the reply to the result was stored.
func untilReplied(t *testing.T, j *tamper, done openmanus.CallDone) {
	var at int64
	for ev, err := range j.Memory.Follow(t.Context(), sess, 0) {
		if err != nil {
			return // the test has ended
		}
		switch b := ev.Body.(type) {
		case openmanus.CallDone:
			if b.Call == done.Call {
				at = ev.Seq
			}
		case openmanus.ModelSaid:
			if at > 0 && b.Re >= at {
				for range 100 {
					runtime.Gosched()
				}
				return
			}
		}
	}
}
