package tui

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/view"
	"github.com/openmanus-go/openmanus/tools"
)

// panelSessions is how many sessions the panel lists.
const panelSessions = 8

// A panel is the column beside the conversation: the plan, the files that changed, and
// the sessions.
type panel struct {
	on       bool
	sessions []Session
}

// refresh returns a command that reads the newest sessions. If that fails the panel stays
// as it is; the list of sessions shows the error.
func (n *panel) refresh(p *program) tea.Cmd {
	return p.do(func(ctx context.Context) tea.Msg {
		all, err := p.src.Sessions(ctx, panelSessions)
		if err != nil {
			return nil // the list of sessions says why
		}
		return then(func(*program) tea.Cmd {
			n.sessions = urgentFirst(all)
			return nil
		})
	})
}

// any reports whether there is something to show.
func (n *panel) any(p *program) bool {
	files, _ := p.session.State.Files(0)
	return len(n.sessions) > 0 || p.session.Plan != nil || len(files) > 0
}

// urgentFirst returns sessions with those that wait for the person first, then those that
// run; otherwise in their order.
func urgentFirst(all []Session) []Session {
	rank := func(s Session) int {
		switch {
		case s.Questions > 0 || s.Status == string(openmanus.Waiting):
			return 0
		case s.Status == BrokenOff || s.Status == string(openmanus.Failed):
			return 1
		case s.Status == string(openmanus.Running):
			return 2
		}
		return 3
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Session) int { return rank(a) - rank(b) })
	return all
}

// view returns the panel: height lines of at most width columns. The plan comes first,
// then the changed files, then the sessions; sections without content are left out.
func (n *panel) view(p *program, width, height int) []string {
	t := p.theme
	var lines []string
	section := func(title string, items []string) {
		if len(items) == 0 {
			return
		}
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, t.bold(title))
		for _, it := range items {
			lines = append(lines, fitLine(it, width))
		}
	}
	section("Plan", planLines(t, p.session.Plan, width))
	section("Changed files", fileLines(t, p.session, width, max(4, height/3)))
	var sessions []string
	for _, s := range n.sessions {
		if s.ID == p.id { // what is on the screen is newer
			s.Status, s.Questions = string(p.session.Status()), len(p.questions())
			if p.broken {
				s.Status = BrokenOff
			}
		}
		mark := sessionMark(t, s)
		title := clip.Fit(clip.OneLine(clip.Visible(s.Title)), width-2)
		if s.ID == p.id {
			title = t.bold(title)
		}
		sessions = append(sessions, mark+" "+title)
	}
	section("Sessions", sessions)
	if len(lines) > height {
		lines = lines[:height]
	}
	for len(lines) < height {
		lines = append(lines, "")
	}
	return lines
}

// sessionMark returns a sign of one column for the state of a session. A question to the
// person has precedence over everything else.
func sessionMark(t Theme, s Session) string {
	switch {
	case s.Questions > 0 || s.Status == string(openmanus.Waiting):
		return t.ask("?")
	case s.Status == string(openmanus.Running):
		return t.accent("◐")
	case s.Status == BrokenOff:
		return t.ask("×")
	case s.Status == string(openmanus.Failed):
		return t.bad("!")
	case s.Status == string(openmanus.Finished):
		return t.good("●")
	}
	return t.dim("○")
}

// planLines returns the steps of a plan, one on each line, in colours for their status.
// Without a plan there are none.
func planLines(t Theme, plan *tools.Plan, width int) (lines []string) {
	if plan == nil {
		return nil
	}
	for _, st := range plan.Steps {
		mark, text := st.Status.Mark(), clip.Fit(clip.OneLine(clip.Visible(st.Text)), width-4)
		switch st.Status {
		case tools.Completed:
			text = t.dim(text)
		case tools.InProgress:
			text = t.accent(text)
		case tools.Blocked:
			text = t.bad(text)
		}
		lines = append(lines, mark+" "+text)
	}
	return lines
}

// fileLines returns at most n names of files that changed, with the lines that were added
// and removed.
func fileLines(t Theme, s *view.Session, width, n int) (lines []string) {
	files, _ := s.State.Files(0)
	for i, f := range files {
		if i == n-1 && len(files) > n {
			return append(lines, t.dim("… "+clip.Count(len(files)-i, "more file")))
		}
		mark := t.accent("~")
		switch f.Change {
		case openmanus.FileCreated:
			mark = t.good("+")
		case openmanus.FileDeleted:
			mark = t.bad("-")
		}
		count := ""
		if n := s.Lines[f.Path]; n.Added > 0 {
			count += t.good(fmt.Sprintf(" +%d", n.Added))
		}
		if n := s.Lines[f.Path]; n.Removed > 0 {
			count += t.bad(fmt.Sprintf(" −%d", n.Removed))
		}
		room := max(width-2-columns(count), 8)
		lines = append(lines, mark+" "+pad(clip.Fit(clip.Visible(clip.OneLine(f.Path)), room), room)+count)
	}
	return lines
}
