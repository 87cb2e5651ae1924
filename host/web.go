package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/browser"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/data/document"
	"github.com/openmanus-go/openmanus/sandbox/egress"
	"github.com/openmanus-go/openmanus/web"
	"github.com/openmanus-go/openmanus/workspace"
)

// webTools are the web tools of one agent. All of them, browsers included, reach
// the network through one dialer, which decides by [web] and by the rules of
// [approval] where they may connect to.
type webTools struct {
	cfg    *config.Config
	dialer *egress.Dialer
	tools  []openmanus.Tool
	tool   *browser.Tool

	notIn   []string      // directories that commands write
	running *atomic.Int32 // counts browsers; may be nil
}

// webDialer returns a dialer that decides by [web] alone.
func webDialer(cfg *config.Config) (*egress.Dialer, error) {
	return egress.New(egress.Policy{Mode: egress.Mode(cfg.Web.Network), Hosts: cfg.Web.Hosts, Section: "[web]"})
}

// newWebTools makes the web tools of a workspace. No browser runs until one of
// them is used. judge is the [egress.Dialer].Judge. vision reports whether the
// model sees images; install is the [browser.Config].Install.
func newWebTools(
	cfg *config.Config, ws workspace.Workspace, judge func(host string, named bool) error, vision bool,
	install func(context.Context, openmanus.Call) error,
) (*webTools, error) {
	d, err := webDialer(cfg)
	if err != nil {
		return nil, err
	}
	d.Judge = judge
	w := &webTools{cfg: cfg, dialer: d, notIn: agentDirs(cfg, ws.Dir())}
	reader := &web.Reader{Client: d.Client(), Local: d.Local, Robots: cfg.Web.Robots, Convert: documentText}
	files := &web.Downloads{Files: ws, Dir: ws.Dir(), MaxBytes: cfg.Web.MaxDownload}
	if cfg.DataDir != "" {
		files.Partial = filepath.Join(cfg.DataDir, "downloads")
	}
	c := cfg.Search
	search := web.SearchTool{Reader: reader, Lang: c.Lang, Country: c.Country, Searcher: &web.Searcher{
		Client: d.Client(), Delay: time.Duration(c.RetryDelay) * time.Second, Rounds: c.MaxRetries,
		Engines: web.Engines(c.Engine, c.Fallback, web.Keys{SearXNG: c.SearXNG, Brave: string(c.Brave), Tavily: string(c.Tavily), Serper: string(c.Serper)}),
	}}
	w.tool = browser.NewTool(browser.Config{Start: w.start, Install: install, Files: ws, Dir: ws.Dir(), Check: d.CheckURL, Local: d.Local, Vision: vision, Markdown: web.Markdown,
		Private: cfg.Browser.Profile != "" || cmp.Or(cfg.Browser.WSS, cfg.Browser.CDP) != "",
		Search: func(ctx context.Context, query string) (browser.Found, error) {
			q := web.Query{Text: query, Count: 1, Lang: c.Lang, Country: c.Country}
			hits, err := search.Search(ctx, q, true)
			if err != nil {
				return browser.Found{Sources: search.Sources(nil)}, err
			}
			return browser.Found{Text: web.Format(q, hits), First: hits[0].URL, Sources: search.Sources(hits)}, nil
		}})
	w.tools = []openmanus.Tool{web.NewSearch(search), web.NewFetch(reader, files), web.NewCrawl(reader), web.NewResearch(reader, ws, ws.Dir()), w.tool}
	return w, nil
}

// documentText converts a document from the web to text.
func documentText(ctx context.Context, name string, data []byte) (string, error) {
	d, err := document.Bytes(ctx, name, data, document.Options{})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("(%s, %s)\n%s", d.Format, d.About, d), nil
}

// Close ends the browsers, and waits for that.
func (w *webTools) Close() error { return w.tool.Close() }

// start starts a browser as the configuration says, or connects to the one that
// it names. A browser of the user's own connects itself; what it requests is judged.
func (w *webTools) start(ctx context.Context) (*browser.Browser, error) {
	b := w.cfg.Browser
	if b.Proxy != "" {
		return nil, errors.New("[browser.proxy] server is not supported: a browser reaches what [web] allows, directly. Take it out of the configuration, or connect to a browser of your own that uses the proxy ([browser] cdp_url)")
	}
	o := browser.Options{Path: b.Path, URL: cmp.Or(b.WSS, b.CDP), Profile: b.Profile, Window: !b.Headless, NoSandbox: !b.Sandbox, DisableSecurity: b.DisableSecurity, Args: b.Args, Dialer: w.dialer, NotIn: w.notIn}
	if slices.Contains(b.Args, "--no-sandbox") {
		o.NoSandbox = true
	}
	started, err := browser.Start(ctx, o)
	if err != nil || w.running == nil {
		return started, err
	}
	w.running.Add(1)
	go func() {
		<-started.Dead()
		w.running.Add(-1)
	}()
	return started, nil
}

// Browsers returns how many browsers run for agents of the host.
func (h *Host) Browsers() int { return int(h.browsers.Load()) }
