package tui

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/surface"
)

// A Keeper is a [Source] whose configuration the person sees, and changes in part.
type Keeper interface {
	surface.ServerKeeper

	// Settings says what is set, and where.
	Settings(ctx context.Context) (Settings, error)

	// Edited is called after the person has edited Settings.File. It says what that
	// changes, or the mistake in it.
	Edited(ctx context.Context) (string, error)
}

// A serverReport is the outcome of something that was done with a server.
type serverReport struct {
	lines []string // foreign
	tools string   // the hash of tools that wait for approval; "": none do
}

// reported is a report of one line.
func reported(line string, err error) (serverReport, error) {
	return serverReport{lines: []string{line}}, err
}

// tested says what an MCP server is and offers.
func tested(t surface.ServerTested, err error) (r serverReport, _ error) {
	r.lines = append([]string{fmt.Sprintf("%s, MCP %s: %s", t.Software, t.Protocol, clip.Count(len(t.Tools), "tool"))}, t.Notes...)
	for _, tool := range t.Tools {
		line := tool.Name + ": " + clip.Text(clip.OneLine(tool.Description), 200)
		switch {
		case tool.Held != "":
			line, r.tools = tool.Name+" is held back: "+tool.Held+". Now: "+tool.Description, t.Hash
		case tool.Off:
			line = tool.Name + " is switched off"
		}
		r.lines = append(r.lines, line)
	}
	return r, err
}

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
func standing(s surface.ServerSetting) string {
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
		slices.SortStableFunc(all, func(a, b surface.ServerSetting) int {
			return rank[standing(a) == notApproved] - rank[standing(b) == notApproved]
		})
		l := &list{title: "MCP servers"}
		for _, s := range all {
			l.items = append(l.items, item{text: s.Name, detail: standing(s) + " · " + s.Source, run: func(p *program) tea.Cmd {
				p.push(serverList(k, s))
				return nil
			}})
		}
		return show(l)
	})
}

// serverList asks what to do with a server, after it says what the server is.
func serverList(k Keeper, s surface.ServerSetting) *list {
	l := &list{title: "MCP server " + clip.OneLine(clip.Visible(s.Name)), above: []string{s.Shown, "from " + s.Source + ", " + standing(s)}}
	offer := func(text, detail, what string, do func(context.Context) (serverReport, error)) {
		l.items = append(l.items, item{text: text, detail: detail, run: func(p *program) tea.Cmd { return p.serverDo(k, s, what, do) }})
	}
	change := func(off bool, has string) func(context.Context) (serverReport, error) {
		return func(ctx context.Context) (serverReport, error) {
			return reported("Sessions that begin from now on have its tools: "+has+".", k.ChangeServer(ctx, s.Name, surface.ServerChange{Disabled: &off}))
		}
	}
	usable := !s.Found || s.Approved
	if !usable {
		l.items = append(l.items, item{text: "leave it out: it stays unapproved", run: func(*program) tea.Cmd { return nil }})
		how := "it runs with your rights"
		if s.Remote {
			how = "it is reached at its address"
		}
		offer("approve it", how, "approve", func(ctx context.Context) (serverReport, error) {
			return reported("It is approved. Sessions that begin from now on have its tools.", k.ApproveServer(ctx, s.Name, s.Hash, ""))
		})
	} else {
		offer("connect to it, and list its tools", "", "try", func(ctx context.Context) (serverReport, error) { return tested(k.TestServer(ctx, s.Name)) })
	}
	if s.Remote && usable {
		offer("sign in", "in your browser", "sign in", func(ctx context.Context) (serverReport, error) {
			in, err := k.SignIn(ctx, s.Name)
			if in.Link == "" {
				return reported("It can be used without signing in.", err)
			}
			return serverReport{lines: []string{"Open this link in a browser on the machine where the sessions run, and then try the server:", in.Link}}, err
		})
	}
	switch {
	case s.Own && s.Disabled:
		offer("switch it on", "for sessions that begin from now on", "switch on", change(false, "yes"))
	case s.Own:
		offer("switch it off", "for sessions that begin from now on", "switch off", change(true, "no"))
	}
	if s.Own {
		offer("remove it", "with its approvals", "remove", func(ctx context.Context) (serverReport, error) {
			return reported("It is removed, with its approvals.", k.RemoveServer(ctx, s.Name))
		})
	}
	return l
}

// serverDo does something with a server, and shows the outcome.
func (p *program) serverDo(k Keeper, s surface.ServerSetting, what string, do func(context.Context) (serverReport, error)) tea.Cmd {
	p.addNotice(false, fmt.Sprintf("%s: %s …", s.Name, what))
	return p.do(func(ctx context.Context) tea.Msg {
		r, err := do(ctx)
		if err != nil {
			return noticeMsg{s.Name + ": " + err.Error(), true}
		}
		l := &list{title: "MCP server " + clip.OneLine(clip.Visible(s.Name)), above: r.lines, items: []item{
			{text: "close", run: func(*program) tea.Cmd { return nil }},
		}}
		if r.tools != "" {
			l.items = append(l.items, item{text: "approve its tools as they are now", run: func(p *program) tea.Cmd {
				return p.serverDo(k, s, "approve tools", func(ctx context.Context) (serverReport, error) {
					return reported("Its tools are approved as they are now.", k.ApproveServer(ctx, s.Name, s.Hash, r.tools))
				})
			}})
		}
		return show(l)
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
		return show(l)
	})
}

// editSettings has the person edit their configuration file.
func (p *program) editSettings(k Keeper, file string) tea.Cmd {
	outside, words, err := editor()
	if err != nil {
		return p.notice(true, "%v; the file is %s", err, file)
	}
	cmd := outside.PersonsCommand(p.ctx, words[0], append(words[1:], file)...)
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
