package journaltest

import (
	"context"
	"errors"
	"io"
	"iter"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/journal"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// A broken journal breaks one promise of a sound one.
type broken struct {
	*journal.Memory
	append  func(context.Context, string, ...openmanus.Body) ([]openmanus.Event, error)
	events  func(context.Context, string, int64) iter.Seq2[openmanus.Event, error]
	follow  func(context.Context, string, int64) iter.Seq2[openmanus.Event, error]
	put     func(context.Context, []byte) (openmanus.Ref, error)
	get     func(context.Context, openmanus.Ref) (io.ReadCloser, error)
	lock    func(context.Context, string) (openmanus.Lease, error)
	restore func(context.Context, string, []openmanus.Event) error
}

func (b *broken) Append(ctx context.Context, s string, bodies ...openmanus.Body) ([]openmanus.Event, error) {
	if b.append == nil {
		return b.Memory.Append(ctx, s, bodies...)
	}
	return b.append(ctx, s, bodies...)
}

func (b *broken) Events(ctx context.Context, s string, after int64) iter.Seq2[openmanus.Event, error] {
	if b.events == nil {
		return b.Memory.Events(ctx, s, after)
	}
	return b.events(ctx, s, after)
}

func (b *broken) Follow(ctx context.Context, s string, after int64) iter.Seq2[openmanus.Event, error] {
	if b.follow == nil {
		return b.Memory.Follow(ctx, s, after)
	}
	return b.follow(ctx, s, after)
}

func (b *broken) Put(ctx context.Context, data []byte) (openmanus.Ref, error) {
	if b.put == nil {
		return b.Memory.Put(ctx, data)
	}
	return b.put(ctx, data)
}

func (b *broken) Get(ctx context.Context, ref openmanus.Ref) (io.ReadCloser, error) {
	if b.get == nil {
		return b.Memory.Get(ctx, ref)
	}
	return b.get(ctx, ref)
}

func (b *broken) Lock(ctx context.Context, s string) (openmanus.Lease, error) {
	if b.lock == nil {
		return b.Memory.Lock(ctx, s)
	}
	return b.lock(ctx, s)
}

func (b *broken) Restore(ctx context.Context, s string, evs []openmanus.Event) error {
	if b.restore == nil {
		return b.Memory.Restore(ctx, s, evs)
	}
	return b.restore(ctx, s, evs)
}

type lease struct{}

func (lease) Lost() <-chan struct{} { return nil }
func (lease) Release() error        { return nil }

// TestBrokenJournalsAreFoundOut breaks one promise at a time and names a case
// that must notice.
func TestBrokenJournalsAreFoundOut(t *testing.T) {
	for _, tt := range breakages() {
		t.Run(tt.what, func(t *testing.T) {
			for _, c := range cases() {
				if c.name == tt.noticed {
					if !fails(t, c, tt.breaks) {
						t.Errorf("the case %q does not notice", c.name)
					}
					return
				}
			}
			t.Fatalf("there is no case %q", tt.noticed)
		})
	}
}

// fails reports whether a case fails with journals that are broken so.
func fails(t *testing.T, c testCase, breaks func(*broken)) bool {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // what a case waits for in vain
	defer cancel()
	r := &recorder{TB: t, ctx: ctx}
	shared := make(map[string]*broken)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.run(r, func(_ testing.TB, o Options) openmanus.Journal {
			if shared[o.Dir] == nil {
				shared[o.Dir] = &broken{Memory: &journal.Memory{Secrets: o.Secrets}}
				breaks(shared[o.Dir])
			}
			return shared[o.Dir]
		})
	}()
	<-done
	return r.failed.Load()
}

// A recorder is a testing.TB that takes note of failure, and does not fail.
type recorder struct {
	testing.TB
	ctx    context.Context
	failed atomic.Bool
}

func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Helper()                  {}
func (r *recorder) Error(...any)             { r.failed.Store(true) }
func (r *recorder) Errorf(string, ...any)    { r.failed.Store(true) }
func (r *recorder) Fatal(...any)             { r.failed.Store(true); runtime.Goexit() }
func (r *recorder) Fatalf(string, ...any)    { r.failed.Store(true); runtime.Goexit() }

type breakage struct {
	what    string
	noticed string
	breaks  func(*broken)
}

func breakages() []breakage {
	return append(append(brokenAppends(), brokenReads()...), brokenRest()...)
}

func brokenAppends() []breakage {
	type events = []openmanus.Event
	ctx := context.Background()
	on := func(f func(b *broken, s string, bodies []openmanus.Body) (events, error)) func(*broken) {
		return func(b *broken) {
			b.append = func(_ context.Context, s string, bodies ...openmanus.Body) (events, error) { return f(b, s, bodies) }
		}
	}
	oneByOne := func(b *broken, s string, bodies []openmanus.Body) (evs events, err error) {
		for _, body := range bodies {
			some, err := b.Memory.Append(ctx, s, body)
			if err != nil {
				return some, err
			}
			evs = append(evs, some...)
		}
		return evs, nil
	}
	return []breakage{
		{"appends one by one", "bodies are stored together or not at all", on(oneByOne)},
		{"a batch with a bad body stores the good ones", "a provisional body is refused with all that came along", on(oneByOne)},
		{"conflicts are taken for agreement", "another answer is a conflict", on(func(b *broken, s string, bodies []openmanus.Body) (events, error) {
			evs, err := b.Memory.Append(ctx, s, bodies...)
			if errors.Is(err, openmanus.ErrConflict) {
				err = openmanus.ErrExists
			}
			return evs, err
		})},
		{"agreement is taken for a conflict", "the same answer again is good news", on(func(b *broken, s string, bodies []openmanus.Body) (events, error) {
			evs, err := b.Memory.Append(ctx, s, bodies...)
			if errors.Is(err, openmanus.ErrExists) {
				err = openmanus.ErrConflict
			}
			return evs, err
		})},
		{"everybody wins", "of many answers to one question one wins", on(func(b *broken, s string, bodies []openmanus.Body) (events, error) {
			evs, err := b.Memory.Append(ctx, s, bodies...)
			if errors.Is(err, openmanus.ErrExists) {
				err = nil
			}
			return evs, err
		})},
		{"returns what it was given", "what append returns is what events yields, of every type", on(func(b *broken, s string, bodies []openmanus.Body) (events, error) {
			evs, err := b.Memory.Append(ctx, s, bodies...)
			for i := range evs {
				evs[i].Body = reflect.ValueOf(&bodies[i]).Elem().Interface().(openmanus.Body)
				evs[i].Time = evs[i].Time.Add(1)
			}
			return evs, err
		})},
		{"opens what nobody opened", "a session that was not opened takes nothing", on(func(b *broken, s string, bodies []openmanus.Body) (events, error) {
			b.Memory.Append(ctx, s, opening())
			return b.Memory.Append(ctx, s, bodies...)
		})},
		{"takes names for the same that differ by case", "a session id may have odd characters", on(func(b *broken, s string, bodies []openmanus.Body) (events, error) {
			return b.Memory.Append(ctx, strings.ToLower(s), bodies...)
		})},
		{"takes nothing for success", "an append of nothing is refused", on(func(b *broken, s string, bodies []openmanus.Body) (events, error) {
			if len(bodies) == 0 {
				return nil, nil
			}
			return b.Memory.Append(ctx, s, bodies...)
		})},
		{"refuses the future", "a type from the future is kept with its key", on(func(b *broken, s string, bodies []openmanus.Body) (events, error) {
			if _, ok := bodies[0].(openmanus.Foreign); ok {
				return nil, errors.New("what is that?")
			}
			return b.Memory.Append(ctx, s, bodies...)
		})},
		{"stores what it says was cancelled", "an append that was cancelled tells the truth", func(b *broken) {
			b.append = func(c context.Context, s string, bodies ...openmanus.Body) (events, error) {
				evs, err := b.Memory.Append(ctx, s, bodies...)
				if bodies[0].Key() != "open" {
					return nil, context.Canceled
				}
				return evs, err
			}
		}},
		{"knows no secrets", "known secrets are never stored", func(b *broken) { b.Memory = new(journal.Memory) }},
		{"knows no secrets in signed parts", "a signed part that holds a secret is dropped whole", func(b *broken) { b.Memory = new(journal.Memory) }},
	}
}

func brokenReads() []breakage {
	type seq = iter.Seq2[openmanus.Event, error]
	drop := func(s seq, seqs ...int64) seq {
		return func(yield func(openmanus.Event, error) bool) {
			for ev, err := range s {
				if ev.Seq == seqs[0] {
					continue
				}
				if !yield(ev, err) {
					return
				}
			}
		}
	}
	return []breakage{
		{"events begin one too soon", "events begin after a number", func(b *broken) {
			b.events = func(ctx context.Context, s string, after int64) seq { return b.Memory.Events(ctx, s, after-1) }
		}},
		{"events go on while they are read", "events may be read more than once, and left in the middle", func(b *broken) {
			b.events = func(ctx context.Context, s string, after int64) seq {
				return func(yield func(openmanus.Event, error) bool) {
					for more := true; more; {
						more = false
						for ev, err := range b.Memory.Events(ctx, s, after) {
							if after, more = ev.Seq, true; !yield(ev, err) {
								return
							}
						}
					}
				}
			}
		}},
		{"follow misses an event", "a slow reader misses nothing and slows down no one", func(b *broken) {
			b.follow = func(ctx context.Context, s string, after int64) seq { return drop(b.Memory.Follow(ctx, s, after), 100) }
		}},
		{"follow yields what was there twice", "follow begins after a number, even one to come", func(b *broken) {
			b.follow = func(ctx context.Context, s string, after int64) seq { return b.Memory.Follow(ctx, s, 0) }
		}},
		{"follow does not wait", "follow yields what is there and what comes", func(b *broken) {
			b.follow = func(ctx context.Context, s string, after int64) seq { return b.Memory.Events(ctx, s, after) }
		}},
		{"follow wants a session", "follow waits for a session that does not exist yet", func(b *broken) {
			b.follow = func(ctx context.Context, s string, after int64) seq {
				for range b.Memory.Events(ctx, s, 0) {
					return b.Memory.Follow(ctx, s, after)
				}
				return b.Memory.Events(ctx, s, after)
			}
		}},
		{"follow ends with the context's error", "follow ends without an error when its context does", func(b *broken) {
			b.follow = func(ctx context.Context, s string, after int64) seq {
				return func(yield func(openmanus.Event, error) bool) {
					for ev, err := range b.Memory.Follow(ctx, s, after) {
						if !yield(ev, err) {
							return
						}
					}
					yield(openmanus.Event{}, ctx.Err())
				}
			}
		}},
	}
}

func brokenRest() []breakage {
	return []breakage{
		{"blobs are lost", "a string over 8 KiB goes to the blobs and comes back", func(b *broken) {
			b.get = func(ctx context.Context, ref openmanus.Ref) (io.ReadCloser, error) {
				return nil, errors.New("lost")
			}
		}},
		{"blobs are named as it likes", "a blob has the name of its content", func(b *broken) {
			b.put = func(ctx context.Context, data []byte) (openmanus.Ref, error) {
				_, err := b.Memory.Put(ctx, data)
				return "blob-1", err
			}
		}},
		{"every blob is there", "a blob that is not there is an error", func(b *broken) {
			b.get = func(ctx context.Context, ref openmanus.Ref) (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader("")), nil
			}
		}},
		{"everybody drives", "the second driver is told at once", func(b *broken) {
			b.lock = func(context.Context, string) (openmanus.Lease, error) { return lease{}, nil }
		}},
		{"everybody drives at once", "of many drivers one drives", func(b *broken) {
			b.lock = func(context.Context, string) (openmanus.Lease, error) {
				runtime.Gosched()
				return lease{}, errors.New("not now")
			}
		}},
		{"drives once only", "a session may be driven again after its release", func(b *broken) {
			b.lock = func(ctx context.Context, s string) (openmanus.Lease, error) {
				_, err := b.Memory.Lock(ctx, s)
				return lease{}, err
			}
		}},
		{"restore stamps anew", "restore keeps numbers and times, and the session goes on", func(b *broken) {
			b.restore = func(ctx context.Context, s string, evs []openmanus.Event) error {
				for i := range evs {
					evs[i].Time = journal.Now()
				}
				return b.Memory.Restore(ctx, s, evs)
			}
		}},
		{"restore adds to what is there", "restore leaves alone a session that exists", func(b *broken) {
			b.restore = func(ctx context.Context, s string, evs []openmanus.Event) error {
				_, err := b.Memory.Append(ctx, s, evs[1].Body)
				return err
			}
		}},
		{"restore takes a key twice", "restore refuses what no session can be", func(b *broken) {
			b.restore = func(ctx context.Context, s string, evs []openmanus.Event) error {
				if len(evs) == 3 {
					evs = evs[:2]
				}
				return b.Memory.Restore(ctx, s, evs)
			}
		}},
		{"restore numbers anew", "restore refuses numbers with a gap", func(b *broken) {
			b.restore = func(ctx context.Context, s string, evs []openmanus.Event) error {
				for i := range evs {
					evs[i].Seq = int64(i) + 1
				}
				return b.Memory.Restore(ctx, s, evs)
			}
		}},
	}
}

// TestBodiesLeaveNothingOut looks whether some body of each type has each of
// its fields set, so that a field that is added is tested.
func TestBodiesLeaveNothingOut(t *testing.T) {
	empty := make(map[string]bool)
	for _, b := range Bodies() {
		unset(reflect.ValueOf(b), reflect.TypeOf(b).Name(), empty)
	}
	for field, always := range empty {
		if always && field != "Configured.N" && field != "ModelSaid.Turn" && field != "Asked.N" && field != "Answered.N" && field != "TakenOver.N" {
			t.Errorf("no body in Bodies has %s set", field)
		}
	}
}

func unset(v reflect.Value, path string, empty map[string]bool) {
	was, seen := empty[path]
	empty[path] = v.IsZero() && (was || !seen)
	if v.Kind() == reflect.Struct && strings.Contains(v.Type().PkgPath(), "openmanus") {
		for i := range v.NumField() {
			unset(v.Field(i), path+"."+v.Type().Field(i).Name, empty)
		}
	}
}
