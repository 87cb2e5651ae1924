package replay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// Options say with what a recording is replayed. The zero Options replay agents that
// decide for themselves.
type Options struct {
	// Flow returns what decides in a session in state s, which has its opening and
	// its first configuration. Only Counter and Today of its agent are used: no
	// model, no tool and no gate. nil, or a nil flow: the agent of the session
	// decides alone, which is an error if its spec names a flow.
	Flow func(ctx context.Context, s *openmanus.State) (openmanus.Flow, error)

	// Counter returns what counts the tokens of a session, as Flow's agent did when
	// the session ran. nil: the Counter of the agent of its flow.
	Counter func(s *openmanus.State) llm.Counter

	// Today, if not nil, returns the agent that today's program would make for a
	// session, or nil. Its instructions, tools and settings are compared with the
	// recorded ones.
	Today func(ctx context.Context, s *openmanus.State) (*openmanus.Agent, error)
}

// A Result says what was replayed.
type Result struct {
	Sessions   int
	Events     int
	ModelCalls int           // replies, failures and summaries
	ToolCalls  int           // calls that ran, with every attempt
	Took       time.Duration // from the first event of the first session to the last of all
	Unchecked  int           // replies whose requests were not recorded
	Imported   int           // events that came with an import, which were taken as they are

	// Digest is the SHA-256 of what [Recording.Write] writes, in hexadecimal.
	Digest string
}

// A Difference is the first event that is another one today. It is an error.
type Difference struct {
	Session string
	Seq     int64  // the event; 0: what differs belongs to no single one
	What    string // a sentence about it
	Was     []byte // the recorded event, in JSON
	Is      []byte // what today's program makes instead, in JSON; nil: nothing
}

// Error implements error.
func (d *Difference) Error() string {
	if d.Seq == 0 {
		return fmt.Sprintf("session %s: %s", d.Session, d.What)
	}
	text := fmt.Sprintf("session %s, event %d: %s", d.Session, d.Seq, d.What)
	if d.Is == nil {
		return text + "\n  was: " + clip.Text(string(d.Was), maxShown)
	}
	at := firstDifference(d.Was, d.Is)
	return text + fmt.Sprintf("; the first byte that differs is %d\n  was: %s\n  is:  %s", at, around(d.Was, at), around(d.Is, at))
}

// maxShown is how many bytes of each version of an event an error shows.
const maxShown = 300

// firstDifference returns the index of the first byte that differs.
func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// around returns the part of text around a byte, on one line.
func around(text []byte, at int) string {
	from, to := max(0, at-maxShown/3), min(len(text), at+2*maxShown/3)
	part := string(bytes.ToValidUTF8(text[from:to], []byte("\uFFFD")))
	if from > 0 {
		part = "…" + part
	}
	if to < len(text) {
		part += "…"
	}
	return clip.Text(part, 2*maxShown)
}

// Run replays a recording. The error is a [*Difference] if an event is another one
// today; any other error says why the recording cannot be replayed.
func Run(ctx context.Context, rec *Recording, o Options) (*Result, error) {
	if err := rec.replayable(); err != nil {
		return nil, err
	}
	into := new(journal.Memory)
	result := &Result{Sessions: len(rec.Sessions)}
	again := &Recording{blobs: into}
	for _, s := range rec.Sessions {
		p, err := newPlayer(ctx, rec, s, o, into)
		if err != nil {
			return nil, err
		}
		events, err := p.session(ctx)
		if err != nil {
			return nil, err
		}
		again.Sessions = append(again.Sessions, Session{s.ID, events})
		result.Events += len(events)
		result.ModelCalls += p.modelCalls
		result.ToolCalls += p.toolCalls
		result.Unchecked += p.unchecked
		result.Imported += int(p.imported)
		first := rec.Sessions[0].Events[0].Time
		result.Took = max(result.Took, events[len(events)-1].Time.Sub(first))
	}
	var was, is bytes.Buffer
	if err := rec.Write(ctx, &was); err != nil {
		return nil, err
	}
	if err := again.Write(ctx, &is); err != nil {
		return nil, err
	}
	if !bytes.Equal(was.Bytes(), is.Bytes()) {
		return nil, &Difference{Session: rec.Sessions[0].ID, What: "the files of the two journals differ", Was: was.Bytes(), Is: is.Bytes()}
	}
	sum := sha256.Sum256(is.Bytes())
	result.Digest = hex.EncodeToString(sum[:])
	return result, nil
}
