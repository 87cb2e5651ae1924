package lawtest_test

import (
	"context"
	"slices"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal/replay"
	"github.com/openmanus-go/openmanus/run"
)

// replays replays sess, as far as it has come, with the flows of l. All tests that
// wake a session call it: their models, tools and people do whatever may happen.
func replays(t *testing.T, l *run.Local) {
	t.Helper()
	blobs := l.Blobs
	if blobs == nil {
		blobs, _ = l.Journal.(openmanus.Blobs)
	}
	if blobs == nil {
		return // nothing large is kept
	}
	ctx := context.WithoutCancel(t.Context())
	rec, err := replay.Load(ctx, l.Journal, blobs, sess)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(rec.Sessions[0].Events, madeByHand) {
		return
	}
	if _, err := replay.Run(ctx, rec, replay.Options{Flow: l.Flow}); err != nil {
		t.Errorf("%v\n%s", err, log(t, l.Journal, sess))
	}
}

// madeByHand reports whether a test wrote ev, and not a worker.
func madeByHand(ev openmanus.Event) bool {
	switch b := ev.Body.(type) {
	case openmanus.Opened:
		return b.Version < 2
	case openmanus.Ruled:
		return b.By == openmanus.ByGate && b.Hash == ""
	}
	return false
}
