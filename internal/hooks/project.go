package hooks

import (
	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// A Projector reads the events of one session, from the first on, and makes of them the
// events that watching hooks get. The zero value has read no event.
type Projector struct{ state openmanus.State }

// Ended reports whether the session had ended with the last event.
func (p *Projector) Ended() bool { return ended(p.state.Status()) }

func ended(s openmanus.Status) bool {
	return s == openmanus.Finished || s == openmanus.Failed || s == openmanus.Halted
}

// Events reads the next event, and returns the events for hooks that come of it, each with
// its number and its time.
func (p *Projector) Events(session string, ev openmanus.Event) (list []Event) {
	before := p.state.Status()
	var done *Call // by this event
	if d, ok := ev.Body.(openmanus.CallDone); ok {
		if c := p.state.Call(d.Call); c != nil {
			done = callOf(c)
			done.Result, done.IsError = clip.Text(d.Parts.Text(), maxResult), d.IsError
		}
	}
	p.state.Apply(ev)
	add := func(name string) *Event {
		e := about(name, session, p.state.Opened, p.state.Config)
		e.Seq, e.Time = ev.Seq, &ev.Time
		list = append(list, e)
		return &list[len(list)-1]
	}
	if done != nil {
		add("after_call").Call = done
	}
	switch b := ev.Body.(type) {
	case openmanus.Compacted:
		add("compacted")
	case openmanus.CallDone:
		if len(b.Files) > 0 {
			add("files").Files = b.Files
		}
	case openmanus.Asked:
		e := add("waiting")
		if e.Question = b.Question; p.state.Call(b.Call) != nil {
			e.Call = callOf(p.state.Call(b.Call))
		}
	}
	if now := p.state.Status(); now != before && ended(now) {
		names := []string{"failed", "session_end"}
		switch p.state.Outcome.Reason {
		case openmanus.NoSteps, openmanus.NoTokens, openmanus.NoMoney, openmanus.NoTime:
			names = []string{"budget", "failed", "session_end"}
		}
		if now == openmanus.Finished {
			names[0] = "finished"
		}
		for _, n := range names {
			e, o := add(n), p.state.Outcome
			e.Status, e.Reason, e.Error, e.Text = string(now), string(o.Reason), o.Error, clip.Text(p.state.Answer, maxResult)
		}
	}
	return list
}
