package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/bench/stats"
	"github.com/openmanus-go/openmanus/browser"
	"github.com/openmanus-go/openmanus/web"
)

const (
	browserReps = 15 // repetitions in one measurement, of which the median counts
	browserTabs = 8  // that are opened for their memory
)

// A pilot drives a browser: what it does n times on a page, in ms.
type pilot interface {
	do(ctx context.Context, what, url string, n int) ([]float64, error)
	pid() int // whose children are the browser
	Close() error
}

// browser measures what an agent waits for that uses a browser, beside
// playwright-core, with the same Chromium.
func (b *bench) browser(ctx context.Context) (err error) {
	site := httptest.NewServer(http.HandlerFunc(browserPage))
	defer site.Close()
	program, err := browser.Find()
	if err != nil {
		return err
	}
	theirs, err := newPlaywright(ctx, program)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, theirs.Close()) }()
	mine, err := newPilot(ctx, program)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mine.Close()) }()
	t := &table{head: []string{"what", "pairs", "openmanus (median, 95 %)", "target", "met", "playwright-core", "ratio (median of pairs, 95 %)", "target", "met"}}
	for _, row := range []struct {
		what, do, path string
		most           float64 // 0: there is no target
		ratio          float64 // 0: the two do not do the same
	}{
		{"click, and wait for what it sets off, ms", "click", "/click", 10, 0.8},
		{"click, and the page as it is with the next frame, ms", "clicked", "/click", 0, 0.8},
		{"state of a page of 1,600 nodes, ms", "state", "/large", 60, 0},
	} {
		one := func(p pilot) func() (float64, error) {
			return func() (float64, error) {
				times, err := p.do(ctx, row.do, site.URL+row.path, browserReps)
				return stats.Median(times), err
			}
		}
		as, bs, err := alternate(b.pairs, b.calm(ctx), one(mine), one(theirs))
		if err != nil {
			return fmt.Errorf("%s: %w", row.do, err)
		}
		e, r := stats.Estimated(as), stats.Estimated(stats.Ratios(as, bs))
		cells := []any{row.what, len(as), interval(e, "%.1f"), "-", "-", fmt.Sprintf("%.1f", stats.Median(bs)), interval(r, "%.2f"), "-", "-"}
		if row.most > 0 {
			cells[3], cells[4] = fmt.Sprintf("<= %.0f", row.most), e.AtMost(row.most)
		}
		if row.ratio > 0 {
			cells[7], cells[8] = fmt.Sprintf("<= %.1f", row.ratio), r.AtMost(row.ratio)
		}
		t.row(cells...)
	}
	if err := tabRow(ctx, t, mine, theirs, site.URL+"/large"); err != nil {
		return err
	}
	if err := b.markdownRow(ctx, t); err != nil {
		return err
	}
	t.print(b.out, "Browser: one Chromium, driven by openmanus and by playwright-core")
	return nil
}

// tabRow measures the memory of a tab: what all processes of the browser hold
// more once tabs are open, pages that they share counted in part.
func tabRow(ctx context.Context, t *table, mine, theirs pilot, url string) error {
	var each []float64
	for _, p := range []pilot{mine, theirs} {
		before, err := treePSS(p.pid())
		if err != nil {
			return err
		}
		if _, err := p.do(ctx, "tabs", url, browserTabs); err != nil {
			return err
		}
		after, err := treePSS(p.pid())
		if err != nil {
			return err
		}
		each = append(each, (after-before)/browserTabs)
	}
	t.row("memory of an open tab of 1,600 nodes, MiB", 1, fmt.Sprintf("%.1f", each[0]), "-", "-", fmt.Sprintf("%.1f", each[1]), fmt.Sprintf("%.2f", each[0]/each[1]), "-", "-")
	return nil
}

// markdownRow measures how long a page of 1 MB takes to become Markdown.
func (b *bench) markdownRow(ctx context.Context, t *table) error {
	var page strings.Builder
	page.WriteString("<html><title>T</title><article>")
	for i := 0; page.Len() < 1<<20; i++ {
		fmt.Fprintf(&page, "<h2>Part %d</h2><p>Some words with <b>strong</b> ones, <a href=/p%d>a link</a>, and so on until the line is as long as lines are.</p><ul><li>one<li>two</ul>", i, i)
	}
	var r web.Reader
	var times []float64
	for range b.pairs {
		start := time.Now()
		if _, err := r.Page(ctx, &web.Body{URL: "http://example.com/a", Type: "text/html", Data: []byte(page.String())}); err != nil {
			return err
		}
		times = append(times, since(start, time.Now()))
	}
	e := stats.Estimated(times)
	t.row("page of 1 MB to Markdown, ms", len(times), interval(e, "%.0f"), "<= 60", e.AtMost(60), "-", "-", "-", "-")
	return nil
}

// browserPage is the site.
func browserPage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	io.WriteString(w, "<!doctype html><title>Page</title>")
	if r.URL.Path == "/click" {
		io.WriteString(w, `<button onclick="this.dataset.n = 1 + Number(this.dataset.n || 0)">OK</button>`)
		return
	}
	io.WriteString(w, "<ul>")
	for i := range 200 {
		fmt.Fprintf(w, "<li><a href=#%d>Link %d</a> <span>some words</span> <button>Do %d</button></li>", i, i, i)
	}
	io.WriteString(w, "</ul>")
}

// ourPilot is the package browser.
type ourPilot struct {
	b   *browser.Browser
	tab *browser.Tab
}

func newPilot(ctx context.Context, program string) (pilot, error) {
	b, err := browser.Start(ctx, browser.Options{Path: program, NoSandbox: true})
	if err != nil {
		return nil, err
	}
	return &ourPilot{b: b, tab: b.Active()}, nil
}

func (p *ourPilot) pid() int     { return os.Getpid() }
func (p *ourPilot) Close() error { return p.b.Close() }

func (p *ourPilot) do(ctx context.Context, what, url string, n int) ([]float64, error) {
	if what == "tabs" {
		for range n {
			if _, err := p.b.Open(ctx, url); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	if p.tab.URL() != url {
		if _, err := p.tab.Go(ctx, url); err != nil {
			return nil, err
		}
	}
	page, err := p.tab.State(ctx)
	if err != nil || page.Find("button") == nil {
		return nil, errors.Join(err, errors.New("the page has no button"))
	}
	var times []float64
	for range n {
		start := time.Now()
		if what != "state" {
			_, err = p.tab.Click(ctx, page.Find("button"), browser.Button{})
		}
		if err == nil && what != "click" {
			_, err = p.tab.State(ctx)
		}
		if err != nil {
			return nil, err
		}
		times = append(times, since(start, time.Now()))
	}
	return times, nil
}

// playwright is playwright-core, in a process of Node's.
type playwright struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func newPlaywright(ctx context.Context, program string) (pilot, error) {
	library, err := filepath.Abs("../bin/playwright/node_modules/playwright-core")
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(library); err != nil {
		return nil, fmt.Errorf("playwright-core is not there: make deps installs it: %w", err)
	}
	p := &playwright{cmd: exec.CommandContext(ctx, "node", "peer/playwright.js", library, program)}
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := p.answer(); err != nil { // it is there
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *playwright) pid() int { return p.cmd.Process.Pid }

func (p *playwright) do(_ context.Context, what, url string, n int) ([]float64, error) {
	if _, err := fmt.Fprintf(p.in, "%s %s %d\n", what, url, n); err != nil {
		return nil, err
	}
	return p.answer()
}

func (p *playwright) answer() (times []float64, err error) {
	if !p.out.Scan() {
		return nil, errors.Join(errors.New("playwright-core ended"), p.out.Err())
	}
	return times, json.Unmarshal(p.out.Bytes(), &times)
}

func (p *playwright) Close() error { return errors.Join(p.in.Close(), p.cmd.Wait()) }

// treePSS is the memory of the browsers that are children of a process, in
// MiB: of each page of memory the share that falls to them.
func treePSS(root int) (float64, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	parent, sum := map[int]int{}, 0.0
	for _, d := range dirs {
		data, err := os.ReadFile(d + "/stat")
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
		pid, _ := strconv.Atoi(filepath.Base(d))
		parent[pid], _ = strconv.Atoi(fields[1])
	}
	for pid := range parent {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || !strings.Contains(string(name), "chrom") || !under(parent, pid, root) {
			continue
		}
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			continue // it has ended, or is not ours to look at
		}
		for line := range strings.Lines(string(data)) {
			if v, ok := strings.CutPrefix(line, "Pss:"); ok {
				kib, err := strconv.ParseFloat(strings.Fields(v)[0], 64)
				if err != nil {
					return 0, err
				}
				sum += kib / 1024
			}
		}
	}
	if sum == 0 {
		return 0, errors.New("the browser's memory cannot be read")
	}
	return sum, nil
}

// under reports whether a process comes from another; what Node started is its
// alone.
func under(parent map[int]int, pid, root int) bool {
	for p := parent[pid]; p > 1; p = parent[p] {
		if p == root {
			return true
		}
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p)); err != nil || strings.HasPrefix(string(name), "node") {
			return false
		}
	}
	return false
}
