package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// output says how a run tells what came of it.
type output string

const (
	outText  output = "text"
	outJSON  output = "json"
	outJSONL output = "jsonl"
)

// A drive is one request to a session, from its beginning to the end or to
// where it needs a person who is not there.
type drive struct {
	*app
	shown
	passing bool // nobody can go on with the session: do not say how
	id      string
	print   *printer
	root    *os.Root
	files   fs.FS // of root
	before  scan
	from    int64   // the last event before this request
	person  *person // who answers; nil if nobody is there
	below   *below
	asks    chan struct{}        // a session below asks
	plan    *planView            // what is drawn of a plan; nil if there is none
	waiting []openmanus.Question // what waits where the run ends

	mu    sync.Mutex
	seen  int64         // the last stored event that was shown
	moved chan struct{} // closed and replaced when seen grows
}

// newDrive prepares a request to the session id, which works in dir.
func (a *app) newDrive(id, dir string, s shown) (*drive, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, usage(fmt.Errorf("workspace: %w", err))
	}
	d := &drive{app: a, shown: s, id: id, root: root, files: root.FS(), moved: make(chan struct{}), asks: make(chan struct{}, 1)}
	d.print = newPrinter(a.t.err, a.style(), s.Quiet)
	d.before = d.scan()
	if isTerminal(a.t.in) && isTerminal(a.t.err) {
		d.person = &person{ask: a.t.ask, print: d.print, all: make(map[string]bool)}
	}
	a.retrying = func(err error, wait time.Duration) {
		d.print.remark("the model did not answer (%v); again in %s", err, wait.Round(100*time.Millisecond))
	}
	a.switching = func(err error, to string) { d.print.remark("the model failed (%v); %s is asked instead", err, to) }
	return d, nil
}

// scan looks at the files of the workspace.
func (d *drive) scan() scan {
	return scanFiles(context.Background(), d.files, ownDir(d.root.Name(), d.cfg.DataDir))
}

// ownDir is the directory of the program's own data as seen from a workspace.
func ownDir(workspace, data string) string {
	own, err := filepath.Rel(workspace, data)
	if err != nil {
		return ""
	}
	return filepath.ToSlash(own)
}

// Close lets go of the workspace.
func (d *drive) Close() error { return d.root.Close() }

// run drives the session until it ends or waits in vain, and reports.
func (d *drive) run(ctx context.Context) error {
	s, err := d.once(ctx)
	if err != nil {
		return err
	}
	return d.report(s)
}

// once drives the session until it ends or waits in vain, and shows it.
func (d *drive) once(ctx context.Context) (*openmanus.State, error) {
	d.seen = d.from
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := d.onSignal(ctx, cancel)
	defer stop()

	var watching sync.WaitGroup
	watch, unwatch := context.WithCancel(context.WithoutCancel(ctx))
	defer watching.Wait()
	defer unwatch()
	var watchErr error
	d.below = newBelow(watch, d)
	defer d.below.all.Wait()
	defer unwatch()
	if err := d.below.watchAll(watch); err != nil {
		return nil, d.failure(err)
	}
	watching.Go(func() { watchErr = d.follow(watch) })

	s, err := d.untilDone(ctx)
	if err == nil {
		d.waitShown(watch, s.Seq)
		d.below.settle(watch)
	}
	unwatch()
	watching.Wait()
	if err = errors.Join(err, watchErr); err != nil {
		d.print.flush()
		return nil, d.failure(err)
	}
	return s, nil
}

// failure is what err means to who runs the program.
func (d *drive) failure(err error) error {
	switch {
	case errors.Is(err, openmanus.ErrDriven):
		return fmt.Errorf("%w: it can be watched (openmanus sessions log %s --follow) and spoken to (openmanus sessions say %s)", err, d.id, d.id)
	case errors.Is(err, context.Canceled):
		return exit{code: exitInterrupted, err: fmt.Errorf("left; go on with: openmanus sessions resume %s", d.id)}
	}
	return fmt.Errorf("%w\nthe session is kept: openmanus sessions resume %s", err, d.id)
}

// untilDone wakes the session until it has ended, or waits and nobody answers.
func (d *drive) untilDone(ctx context.Context) (*openmanus.State, error) {
	last := int64(-1)
	for {
		if err := d.wake(ctx); err != nil {
			return nil, err
		}
		nodes, err := openmanus.Tree(ctx, d.db, d.id)
		if err != nil {
			return nil, err
		}
		s, seq := nodes[0].State, int64(0)
		for _, n := range nodes {
			seq += n.State.Seq
		}
		if d.waiting, err = openmanus.Questions(ctx, d.db, d.id); err != nil {
			return nil, err
		}
		switch st := standing(s, d.waiting); {
		case st == openmanus.Running && seq == last:
			return nil, errors.New("nothing is left to do, and yet it has not ended")
		case st == openmanus.Running:
			last = seq
			continue // somebody spoke while the driver was leaving
		case st != openmanus.Waiting || d.person == nil:
			return s, nil
		}
		d.waitShown(ctx, s.Seq)
		d.below.settle(ctx)
		if err := d.decide(ctx, d.waiting); err != nil {
			return nil, err
		}
	}
}

// wake drives the session until nothing is left to do. What those below ask
// meanwhile is put before the person while the others go on.
func (d *drive) wake(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- d.local.Wake(ctx, d.id) }()
	for {
		select {
		case err := <-done:
			return err
		case <-d.asks:
		}
		if d.person == nil {
			continue
		}
		qs, err := openmanus.Questions(ctx, d.db, d.id)
		if err == nil {
			qs = slices.DeleteFunc(qs, func(q openmanus.Question) bool { return q.Session == d.id })
			err = d.decide(ctx, qs)
		}
		if err != nil {
			cancel()
			<-done
			return err
		}
	}
}

// follow shows what happens, from d.seen on.
func (d *drive) follow(ctx context.Context) error {
	enc := d.t.encoder()
	if err := d.drawPlan(ctx); err != nil {
		return err
	}
	for ev, err := range d.local.Watch(ctx, d.id, d.seen) {
		if err != nil {
			return err
		}
		if d.Output == outJSONL && ev.Seq > 0 {
			if err := enc.Encode(ev); err != nil {
				return err
			}
		}
		d.print.event(ev)
		if c, ok := ev.Body.(openmanus.ChildOpened); ok {
			d.below.watch(c.Child, "", 0)
		}
		if d.plan != nil {
			d.plan.event(ev)
		}
		if ev.Seq > 0 {
			d.mu.Lock()
			d.seen = ev.Seq
			close(d.moved)
			d.moved = make(chan struct{})
			d.mu.Unlock()
		}
	}
	return nil
}

// waitShown waits until everything up to seq has been shown.
func (d *drive) waitShown(ctx context.Context, seq int64) {
	for {
		d.mu.Lock()
		seen, moved := d.seen, d.moved
		d.mu.Unlock()
		if seen >= seq {
			return
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
	}
}

// onSignal makes the first Ctrl-C interrupt the session, and the second, or
// SIGTERM, leave the program: the session can be resumed.
func (d *drive) onSignal(ctx context.Context, cancel context.CancelFunc) (stop func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case sig := <-signals:
				if n > 0 || sig != os.Interrupt {
					cancel()
					return
				}
				// The session may have ended on its own: then there is
				// nothing to interrupt, and the error says so.
				if _, err := d.db.Append(ctx, d.id, openmanus.Interrupted{ID: newID(), Said: d.print.soFar()}); err != nil {
					cancel()
				}
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// A summary is what is told at the end of a run.
type runSummary struct {
	Session *string        `json:"session"`
	Status  string         `json:"status"`
	Reason  string         `json:"reason"`
	Answer  string         `json:"answer"`
	Steps   int            `json:"steps"`
	Usage   usageSummary   `json:"usage"`
	Files   []fileChange   `json:"files"`
	Error   string         `json:"error"`
	Waiting []waitingEntry `json:"waiting,omitempty"`
	Models  []modelUse     `json:"models,omitempty"` // if there were several
}

type usageSummary struct {
	Input  int     `json:"input_tokens"`
	Output int     `json:"output_tokens"`
	Cached int     `json:"cached_tokens"`
	Cost   float64 `json:"cost_usd"`
}

type waitingEntry struct {
	Session  string `json:"session,omitempty"` // if it is one below
	Path     string `json:"path,omitempty"`    // of who asks, if it is one below
	Call     string `json:"call"`
	Tool     string `json:"tool"`
	Kind     string `json:"kind"`
	Question string `json:"question"`
	Input    string `json:"input,omitempty"`
}

func summarize(id string, s *openmanus.State, qs []openmanus.Question, files []fileChange) runSummary {
	sum := runSummary{
		Session: &id, Status: string(standing(s, qs)), Reason: string(s.Outcome.Reason), Answer: s.Answer, Steps: s.Steps,
		Usage: usageSummary{s.Usage.Input, s.Usage.Output, s.Usage.Cached, s.Cost.USD()},
		Files: files, Error: s.Outcome.Error,
	}
	for _, w := range qs {
		q := w.Call.Question()
		e := waitingEntry{Call: w.Call.ID, Tool: w.Call.Name, Kind: string(q.Kind), Question: q.Question, Input: w.Call.Arguments()}
		if e.Path = asker(id, w); e.Path != "" {
			e.Session = w.Session
		}
		sum.Waiting = append(sum.Waiting, e)
	}
	return sum
}

// code is the exit code that tells how s ended.
func code(s *openmanus.State, qs []openmanus.Question) int {
	o := s.Outcome
	switch standing(s, qs) {
	case openmanus.Finished:
		return exitFinished
	case openmanus.Waiting:
		return exitWaits
	case openmanus.Failed:
		if o.Reason == "auth" || o.Reason == "model" || o.HTTP == 401 || o.HTTP == 403 {
			return exitUsage
		}
		return exitFailed
	case openmanus.Halted:
		if o.Reason == openmanus.ByPerson {
			return exitInterrupted
		}
		return exitLimit
	}
	return exitFailed
}

// report tells what came of the request: the answer to standard output, the
// rest to standard error.
func (d *drive) report(s *openmanus.State) error {
	after := d.scan()
	files := changes(d.before, after)
	shown := d.print.flush()
	sum := summarize(d.id, s, d.waiting, files)
	models, err := spent(context.Background(), d.db, d.id) // also if this was interrupted
	if err != nil {
		return err
	}
	if len(models) > 1 {
		sum.Models = models
	}
	switch d.Output {
	case outJSON:
		if err := d.t.encoder().Encode(sum); err != nil {
			return err
		}
	case outText:
		if text, ok := planOutcome(s, d.waiting); ok {
			fmt.Fprintln(d.t.out, strings.TrimRight(d.forOut(text), "\n"))
		} else if answered(s) && !(d.onScreen && shown == s.Answer) {
			fmt.Fprintln(d.t.out, strings.TrimRight(d.forOut(s.Answer), "\n"))
		}
	}
	if !d.Quiet {
		d.footer(s, sum, d.before.partial || after.partial)
	}
	c := code(s, d.waiting)
	if c == exitFailed && s.Outcome.Reason == openmanus.Reason(llm.Network) && d.wrongEndpoint.Load() {
		c = exitUsage
	}
	if c != exitFinished {
		return exit{c, d.explain(s), true}
	}
	return nil
}

// answered reports whether s has an answer to give: what was said on the way
// is none.
func answered(s *openmanus.State) bool {
	return s.Answer != "" && (s.Status() == openmanus.Finished || s.Outcome.Reason == openmanus.ByAgent)
}

// forOut is the answer as it goes to standard output: without control
// characters if that is a terminal.
func (d *drive) forOut(answer string) string {
	if isTerminal(d.t.out) {
		return plain(answer)
	}
	return answer
}

// footer is the account at the end of a run.
func (d *drive) footer(s *openmanus.State, sum runSummary, partial bool) {
	const most = 20
	for i, f := range sum.Files {
		if i == most {
			d.print.remark("and %d more files", len(sum.Files)-most)
			break
		}
		d.print.remark("%-8s %s%s", f.Change, f.Path, sizeOf(f))
	}
	if partial {
		d.print.remark("the workspace is large: not every file was looked at")
	}
	for _, m := range sum.Models {
		d.print.remark("%s: %d tokens in (%d cached), %d out%s", m.Model, m.Input, m.Cached, m.Output, dollars(m.Cost))
	}
	d.print.remark("%s · %d steps · %d tokens in (%d cached), %d out%s", describe(s, d.waiting), s.Steps, s.Usage.Input, s.Usage.Cached, s.Usage.Output, dollars(s.Cost.USD()))
	if s.Status() == openmanus.Finished && !d.passing {
		d.print.remark("go on with: openmanus run --session %s \"…\"", d.id)
	}
}

// dollars is what something cost, if that is known.
func dollars(usd float64) string {
	if usd == 0 {
		return ""
	}
	return fmt.Sprintf(" · $%.4f", usd)
}

func sizeOf(f fileChange) string {
	if f.Change == "deleted" {
		return ""
	}
	return fmt.Sprintf(" (%d bytes)", f.Bytes)
}

// describe is how s stands, in words.
func describe(s *openmanus.State, qs []openmanus.Question) string {
	text := string(standing(s, qs))
	if s.Outcome.Reason != "" {
		text += " (" + string(s.Outcome.Reason) + ")"
	}
	return text
}

// explain says why a run did not finish, and how to go on.
func (d *drive) explain(s *openmanus.State) error {
	o := s.Outcome
	switch standing(s, d.waiting) {
	case openmanus.Waiting:
		var b strings.Builder
		b.WriteString("waits for a person, and nobody is there")
		for _, w := range d.waiting {
			c, q := w.Call, w.Call.Question()
			fmt.Fprintf(&b, "\n  %s%s: %s", above(asker(d.id, w)), c.Name, oneLine(summary(c.Call), 100))
			if q.Kind == openmanus.AskRuling {
				fmt.Fprintf(&b, "\n    %s\n    openmanus sessions approve %s %s", oneLine(q.Question, 200), w.Session, c.ID)
			} else {
				fmt.Fprintf(&b, "\n    openmanus sessions answer %s %s \"…\"", w.Session, c.ID)
			}
		}
		fmt.Fprintf(&b, "\nthen: openmanus sessions resume %s", d.id)
		return errors.New(b.String())
	case openmanus.Failed:
		if d.onScreen && o.Reason == openmanus.ByAgent {
			return nil
		}
		return fmt.Errorf("%s\nthe session is kept: openmanus sessions resume %s", o.Error, d.id)
	}
	if o.Reason == openmanus.ByPerson {
		return fmt.Errorf("interrupted; go on with: openmanus sessions resume %s", d.id)
	}
	return fmt.Errorf("stopped: %s; go on with: openmanus sessions resume %s%s", o.Error, d.id, larger(o.Reason))
}

// above is who asks, before what is asked.
func above(who string) string {
	if who == "" {
		return ""
	}
	return who + ": "
}

// larger is the flag that raises the limit that was reached.
func larger(r openmanus.Reason) string {
	switch r {
	case openmanus.NoTokens:
		return " --budget-tokens N"
	case openmanus.NoMoney:
		return " --max-cost USD"
	}
	return ""
}

// encoder writes JSON to standard output, one value a line.
func (t *terminal) encoder() *json.Encoder {
	enc := json.NewEncoder(t.out)
	enc.SetEscapeHTML(false)
	return enc
}

// isTerminal reports whether w is a terminal.
func isTerminal(w any) bool {
	f, ok := bare(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// bare is w without what keeps secrets out of it.
func bare(w any) any {
	for {
		u, ok := w.(interface{ Unwrap() io.Writer })
		if !ok {
			return w
		}
		w = u.Unwrap()
	}
}
