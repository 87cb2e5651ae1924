package tui

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// A Keeper is a [Source] whose configuration the person sees, and changes in part.
type Keeper interface {
	// Servers lists the MCP servers that are configured.
	Servers(ctx context.Context) ([]Server, error)

	// ServerDo does something with a server as it was listed, and reports the outcome.
	ServerDo(ctx context.Context, s Server, do ServerAct) (ServerReport, error)

	// Settings says what is set, and where.
	Settings(ctx context.Context) (Settings, error)

	// Edited is called after the person has edited Settings.File. It says what that
	// changes, or the mistake in it.
	Edited(ctx context.Context) (string, error)
}

// A Server is an MCP server that is configured.
type Server struct {
	Name, Shown, Source string // Shown: how it is started or reached
	Hash                string // of what is approved with it
	Found               bool   // in a workspace: it must be approved
	Own                 bool   // in the person's file, so that it can be changed from here
	Approved, Disabled  bool
	Remote              bool   // it is reached at an address
	Tools               string // for ApproveTools: of the report that showed them
}

// A ServerReport is the outcome of something that was done with a server.
type ServerReport struct {
	Lines []string // foreign
	Tools string   // the hash of tools that wait for approval; "": none do
}

// A ServerTested is what an MCP server is and offers.
type ServerTested struct {
	Software, Protocol string
	Hash               string // of its tools
	Notes              []string
	Tools              []ServerTool
}

// A ServerTool is a tool of an MCP server.
type ServerTool struct {
	Name, Description string
	Held              string // why agents do not get it before it is approved
	Off               bool
}

// Report says that in lines.
func (t ServerTested) Report() (r ServerReport) {
	r.Lines = append([]string{fmt.Sprintf("%s, MCP %s: %s", t.Software, t.Protocol, clip.Count(len(t.Tools), "tool"))}, t.Notes...)
	for _, tool := range t.Tools {
		line := tool.Name + ": " + clip.Text(clip.OneLine(tool.Description), 200)
		switch {
		case tool.Held != "":
			line, r.Tools = tool.Name+" is held back: "+tool.Held+". Now: "+tool.Description, t.Hash
		case tool.Off:
			line = tool.Name + " is switched off"
		}
		r.Lines = append(r.Lines, line)
	}
	return r
}

// A ServerAct is something to do with an MCP server.
type ServerAct string

// The actions on an MCP server.
const (
	TryServer     ServerAct = "try" // connect to it, and list its tools
	ApproveServer ServerAct = "approve"
	ApproveTools  ServerAct = "approve tools"
	SwitchOn      ServerAct = "switch on"
	SwitchOff     ServerAct = "switch off"
	RemoveServer  ServerAct = "remove"
	SignIn        ServerAct = "sign in"
)

// Settings are what is configured.
type Settings struct {
	File string // that the person can edit here; "": none
	Set  []Value
}

// A Value is what a key is set to, without secrets, and where.
type Value struct{ Key, Value, From string }

// keeper returns the source as a Keeper; nil, after a notice, if it is none.
func (p *program) keeper() Keeper {
	k, ok := p.src.(Keeper)
	if !ok {
		p.addNotice(true, "the settings cannot be seen from here")
	}
	return k
}

const notApproved = "not approved"

// standing says how a server stands, in two words.
func (s Server) standing() string {
	switch {
	case s.Disabled:
		return "switched off"
	case s.Found && !s.Approved:
		return notApproved
	}
	return "approved"
}

// listServers lists the MCP servers, those that wait for approval first.
func (p *program) listServers() tea.Cmd {
	k := p.keeper()
	if k == nil {
		return nil
	}
	return p.do(func(ctx context.Context) tea.Msg {
		all, err := k.Servers(ctx)
		switch {
		case err != nil:
			return noticeMsg{err.Error(), true}
		case len(all) == 0:
			return noticeMsg{"there are no MCP servers; to add one: openmanus mcp add NAME -- COMMAND ARG…", false}
		}
		rank := map[bool]int{false: 1}
		slices.SortStableFunc(all, func(a, b Server) int { return rank[a.standing() == notApproved] - rank[b.standing() == notApproved] })
		l := &list{title: "MCP servers"}
		for _, s := range all {
			l.items = append(l.items, item{text: s.Name, detail: s.standing() + " · " + s.Source, run: func(p *program) tea.Cmd {
				p.push(serverList(k, s))
				return nil
			}})
		}
		return listMsg{l}
	})
}

// serverList asks what to do with a server, after it says what the server is.
func serverList(k Keeper, s Server) *list {
	l := &list{title: "MCP server " + clip.OneLine(clip.Visible(s.Name)), above: []string{s.Shown, "from " + s.Source + ", " + s.standing()}}
	offer := func(text, detail string, do ServerAct) {
		l.items = append(l.items, item{text: text, detail: detail, run: func(p *program) tea.Cmd { return p.serverDo(k, s, do) }})
	}
	usable := !s.Found || s.Approved
	if !usable {
		l.items = append(l.items, item{text: "leave it out: it stays unapproved", run: func(*program) tea.Cmd { return nil }})
		how := "it runs with your rights"
		if s.Remote {
			how = "it is reached at its address"
		}
		offer("approve it", how, ApproveServer)
	} else {
		offer("connect to it, and list its tools", "", TryServer)
	}
	if s.Remote && usable {
		offer("sign in", "in your browser", SignIn)
	}
	switch {
	case s.Own && s.Disabled:
		offer("switch it on", "for sessions that begin from now on", SwitchOn)
	case s.Own:
		offer("switch it off", "for sessions that begin from now on", SwitchOff)
	}
	if s.Own {
		offer("remove it", "with its approvals", RemoveServer)
	}
	return l
}

// serverDo does something with a server, and shows the outcome.
func (p *program) serverDo(k Keeper, s Server, do ServerAct) tea.Cmd {
	p.addNotice(false, fmt.Sprintf("%s: %s …", s.Name, do))
	return p.do(func(ctx context.Context) tea.Msg {
		r, err := k.ServerDo(ctx, s, do)
		if err != nil {
			return noticeMsg{s.Name + ": " + err.Error(), true}
		}
		l := &list{title: "MCP server " + clip.OneLine(clip.Visible(s.Name)), above: r.Lines, items: []item{
			{text: "close", run: func(*program) tea.Cmd { return nil }},
		}}
		if s.Tools = r.Tools; s.Tools != "" {
			l.items = append(l.items, item{text: "approve its tools as they are now", run: func(p *program) tea.Cmd { return p.serverDo(k, s, ApproveTools) }})
		}
		return listMsg{l}
	})
}

// listSettings lists what is set, and where.
func (p *program) listSettings() tea.Cmd {
	k := p.keeper()
	if k == nil {
		return nil
	}
	return p.do(func(ctx context.Context) tea.Msg {
		s, err := k.Settings(ctx)
		if err != nil {
			return noticeMsg{err.Error(), true}
		}
		l := &list{title: "Settings"}
		open := func(p *program) tea.Cmd { return p.editSettings(k, s.File) }
		if s.File == "" {
			open = func(*program) tea.Cmd { return nil }
		} else {
			l.items = append(l.items, item{text: "edit " + s.File, detail: "$EDITOR", run: open})
		}
		for _, v := range s.Set {
			l.items = append(l.items, item{text: v.Key + " = " + v.Value, detail: v.From, run: open})
		}
		return listMsg{l}
	})
}

// editSettings has the person edit their configuration file.
func (p *program) editSettings(k Keeper, file string) tea.Cmd {
	words, err := editor()
	if err != nil {
		return p.notice(true, "%v; the file is %s", err, file)
	}
	outside, err := here()
	if err != nil {
		return p.notice(true, "%v", err)
	}
	cmd := outside.Command(p.ctx, words[0], append(words[1:], file)...)
	cmd.Dir = filepath.Dir(file)
	return tea.ExecProcess(cmd, func(err error) tea.Msg {
		if err == nil {
			var text string
			if text, err = k.Edited(p.ctx); err == nil {
				return noticeMsg{text, false}
			}
		}
		return noticeMsg{err.Error(), true}
	})
}
