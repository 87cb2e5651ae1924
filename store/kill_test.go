package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/store"
)

// appendOn appends pairs of events to a session until it is killed, some of them
// with a string that becomes a blob. It prints what was acknowledged.
func appendOn(dir, session string) error {
	ctx := context.Background()
	db, err := store.Open(dir, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.Append(ctx, session, openmanus.Opened{Flow: "manus"}); err != nil && !errors.Is(err, openmanus.ErrExists) {
		return err
	}
	next := int64(2)
	for ev, err := range db.Events(ctx, session, 1) {
		if err != nil {
			return err
		}
		next = ev.Seq + 1
	}
	for {
		evs, err := db.Append(ctx, session, pair(next)...)
		if err != nil {
			return err
		}
		next = evs[1].Seq + 1
		fmt.Println(evs[1].Seq)
	}
}

// pair returns the events that a child appends at a sequence number.
func pair(seq int64) []openmanus.Body {
	text := fmt.Sprint("result of ", seq)
	if seq%5 == 0 {
		text = strings.Repeat(text+" ", 1000)
	}
	return []openmanus.Body{
		openmanus.CallStarted{Call: fmt.Sprint("c", seq), Attempt: 1},
		openmanus.CallDone{Call: fmt.Sprint("c", seq), Parts: llm.Parts{llm.Text{Text: text}}},
	}
}

// kills returns how many processes the next test kills: 40, or as many as the
// environment asks for.
func kills(t *testing.T) int {
	t.Helper()
	text := os.Getenv("KILLS")
	if text == "" {
		return 40
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("KILLS: %v", err)
	}
	return n
}

// TestKilledAtAnyMomentLosesNothingThatWasAcknowledged kills processes, two at a
// time, that append to two sessions of one store, and checks what is stored.
func TestKilledAtAnyMomentLosesNothingThatWasAcknowledged(t *testing.T) {
	dir := t.TempDir()
	acknowledged := make([]int64, 2)
	for round := range (kills(t) + 1) / 2 {
		var wg sync.WaitGroup
		for i := range acknowledged {
			c := spawn(t, "append", dir, fmt.Sprint("s", i))
			wg.Go(func() {
				for range 1 + rand.IntN(20) {
					if !c.out.Scan() {
						t.Errorf("child %d printed no more: %v", i, c.out.Err())
						break
					}
				}
				c.kill()
				for {
					seq, err := strconv.ParseInt(c.out.Text(), 10, 64)
					if err == nil {
						acknowledged[i] = seq
					}
					if !c.out.Scan() {
						return
					}
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		checkPairs(t, dir, round, acknowledged)
	}
	t.Logf("acknowledged: %v", acknowledged)
}

// checkPairs checks the store after processes were killed.
func checkPairs(t *testing.T, dir string, round int, acknowledged []int64) {
	t.Helper()
	db, err := store.Open(dir, nil)
	if err != nil {
		t.Fatalf("round %d: %v", round, err)
	}
	defer db.Close()
	for i, want := range acknowledged {
		var last int64
		for ev, err := range db.Events(t.Context(), fmt.Sprint("s", i), 0) {
			if err != nil || ev.Seq != last+1 {
				t.Fatalf("round %d, session %d: event %d after %d, %v", round, i, ev.Seq, last, err)
			}
			last = ev.Seq
			if b, ok := ev.Body.(openmanus.CallDone); ok && b.Parts.Text() != pair(ev.Seq - 1)[1].(openmanus.CallDone).Parts.Text() {
				t.Errorf("round %d, session %d: event %d is not what was appended", round, i, ev.Seq)
			}
		}
		if last < want || last%2 != 1 {
			t.Errorf("round %d, session %d: the last event is %d, and %d was acknowledged: lost or torn", round, i, last, want)
		}
		info, err := db.Session(t.Context(), fmt.Sprint("s", i))
		if err != nil || info.Events != last {
			t.Errorf("round %d, session %d: listed with %d events, %v, and has %d", round, i, info.Events, err, last)
		}
	}
}

func TestFollowersSeeWhatAnotherProcessAppends(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir, nil)
	spawn(t, "append", dir, "s")
	next := int64(1)
	for ev, err := range db.Follow(t.Context(), "s", 0) {
		if err != nil || ev.Seq != next {
			t.Fatalf("event %d after %d, %v", ev.Seq, next-1, err)
		}
		if next++; next > 50 {
			break
		}
		if _, err := db.Append(t.Context(), "s", openmanus.Noted{ID: fmt.Sprint(next)}); err != nil { // and it sees ours
			t.Fatal(err)
		}
	}
}
