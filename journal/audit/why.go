package audit

import (
	"context"
	"fmt"
	"slices"

	"github.com/openmanus-go/openmanus"
)

// A Reason says how a part of an argument of a call came to be there: from the source,
// by the events that brought it into the session, to the call.
type Reason struct {
	openmanus.ArgumentSource
	Session string `json:"session"`
	Steps   []Step `json:"steps"` // in the order of the events; the last one is the ruling
}

// A Step is one event in the life of a text.
type Step struct {
	Seq  int64  `json:"seq"`
	What string `json:"what"` // for people
}

// Why returns where the arguments of a call of a session came from, as far as it was
// recorded, in the order of the arguments. A call that does not exist is an error.
func Why(ctx context.Context, j openmanus.Journal, session, call string) ([]Reason, error) {
	s := new(openmanus.State)
	made := make(map[string]int64)  // the event in which a call was made
	what := make(map[string]string) // the tool of a call, with its id
	var ruled int64                 // the event that has the sources
	var sources []openmanus.ArgumentSource
	for ev, err := range j.Events(ctx, session, 0) {
		if err != nil {
			return nil, err
		}
		for _, c := range openmanus.CallsOf(ev.Body) {
			made[c.ID], what[c.ID] = ev.Seq, c.Name+" ("+c.ID+")"
		}
		ev.Body = withSources(s, ev.Body)
		id, list := argumentSources(ev.Body)
		if id == call && len(list) > 0 && ruled == 0 {
			ruled, sources = ev.Seq, list
		}
		if ruled == 0 {
			s.Apply(ev)
		}
	}
	if made[call] == 0 {
		return nil, fmt.Errorf("there is no call %q in session %s; openmanus sessions audit %[2]s lists them", call, session)
	}
	reasons := []Reason{}
	for _, a := range sources {
		r := Reason{ArgumentSource: a, Session: session}
		for _, p := range s.Passages() {
			if !slices.ContainsFunc(p.Sources, func(o openmanus.Source) bool { return o.From == a.From }) {
				continue
			}
			how := "was said or configured"
			if p.Call != "" {
				how = "came with the result of " + what[p.Call]
			}
			r.Steps = append(r.Steps, Step{p.Seq, a.From + " " + how})
		}
		r.Steps = append(r.Steps,
			Step{made[call], "the call " + what[call] + " was made"}, Step{ruled, "its arguments were looked at"})
		reasons = append(reasons, r)
	}
	return reasons, nil
}

// argumentSources returns the call that b rules on or asks about, and the sources
// that b records.
func argumentSources(b openmanus.Body) (call string, sources []openmanus.ArgumentSource) {
	switch b := b.(type) {
	case openmanus.Asked:
		return b.Call, b.Sources
	case openmanus.Ruled:
		return b.Call, b.Sources
	}
	return "", nil
}
