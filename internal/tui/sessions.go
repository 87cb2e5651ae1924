package tui

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"
)

// listLength is how many sessions are listed.
const listLength = 200

// listSessions opens the list of sessions.
func (p *program) listSessions() tea.Cmd {
	return p.sessionList("Sessions", func(ctx context.Context) ([]Session, error) {
		all, err := p.src.Sessions(ctx, listLength)
		return urgentFirst(all), err
	})
}

// search lists the sessions in which words were said.
func (p *program) search(words string) tea.Cmd {
	return p.sessionList("Sessions in which was said: "+words, func(ctx context.Context) ([]Session, error) {
		return p.src.Search(ctx, words, listLength)
	})
}

// sessionList returns a command that opens a list of the sessions that read returns.
// Typing in the list searches all sessions.
func (p *program) sessionList(title string, read func(context.Context) ([]Session, error)) tea.Cmd {
	now := p.now()
	return p.do(func(ctx context.Context) tea.Msg {
		all, err := read(ctx)
		if err != nil {
			return noticeMsg{err.Error(), true}
		}
		l := &list{title: title, again: func(p *program, typed string) tea.Cmd { return p.search(typed) }}
		for _, s := range all {
			l.items = append(l.items, sessionItem(p.theme, s, now))
		}
		return show(l)
	})
}

// sessionItem returns a session as an item of a list. One that was found by a search shows
// the text that was found, and opens there.
func sessionItem(t Theme, s Session, now time.Time) item {
	status := s.Status
	if s.Reason != "" {
		status += " (" + s.Reason + ")"
	}
	it := item{mark: sessionMark(t, s), text: s.Title, detail: status + " · " + ago(now.Sub(s.Updated))}
	if it.text == "" {
		it.text = s.ID
	}
	if s.Found != "" {
		it.text = s.Found
		it.detail = s.Title
	}
	it.run = func(p *program) tea.Cmd {
		show := p.show(s.ID)
		if s.Seq > 0 {
			p.goal = s.Seq
		}
		return show
	}
	return it
}

// ago formats how long ago something was, in the largest unit that fits.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}
