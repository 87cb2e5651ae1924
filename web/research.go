package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/workspace"
)

// A Research is the state of a piece of research. It is the Detail of the tool's
// results, and so goes from one call to the next.
type Research struct {
	Begun     time.Time  `json:"begun"`
	Seconds   int        `json:"time_limit_seconds"`
	Depth     int        `json:"max_depth"`
	Questions []Question `json:"questions"`
	Sources   []Source   `json:"sources"`
	Notes     []Note     `json:"notes"`
	Files     []string   `json:"files,omitempty"` // the report
}

// A Question is one that the research is to answer.
type Question struct {
	Text   string `json:"text"`
	Parent int    `json:"parent,omitempty"` // the question it follows from, counted from 1; 0 if none
	Depth  int    `json:"depth"`            // 1 without a parent
}

// A Source is a page that was read.
type Source struct {
	ID string `json:"id"` // such as "p1"
	Saved
}

// A Note is a claim, and the quotation that supports it. When it was added, the
// quotation was on the saved page.
type Note struct {
	Question int    `json:"question"` // counted from 1
	Source   string `json:"source"`   // its id
	Claim    string `json:"claim"`
	Quote    string `json:"quote"`
}

// A researchInput is what a call of the tool gives: which fields count depends on the
// command.
type researchInput struct {
	Command   string    `json:"command"`
	Questions []string  `json:"questions"`
	Depth     int       `json:"max_depth"`
	Seconds   int       `json:"time_limit_seconds"`
	URLs      []string  `json:"urls"`
	Question  int       `json:"question"`
	Page      string    `json:"page"`
	Claim     string    `json:"claim"`
	Quote     string    `json:"quote"`
	Title     string    `json:"title"`
	Summary   string    `json:"summary"`
	Sections  []Section `json:"sections"`
	File      string    `json:"file"`
}

// NewResearch returns the tool research, which writes its reports into files; dir
// is the absolute path of their root. The Detail of its results is a [Research].
func NewResearch(r *Reader, files workspace.Files, dir string) openmanus.Tool {
	file := openmanus.Argument{Name: "file", Kind: openmanus.PathArgument, Does: openmanus.Writes}
	urls := opens("urls")
	urls.Local = false // its notes outlive the permission of a call
	return notebook{files: files, dir: dir, Tool: openmanus.Func(spec("research", reports, urls, file),
		func(ctx context.Context, call openmanus.Call, in researchInput) (openmanus.Result, error) {
			var s Research
			if len(call.Last) > 0 {
				if err := json.Unmarshal(call.Last, &s); err != nil {
					return openmanus.Result{}, fmt.Errorf("the notes of the last call: %w", err)
				}
			}
			t := &researcher{r: r, files: files, dir: dir, call: call, s: &s}
			text, err := t.run(ctx, in)
			// Whatever it says may quote the pages; what it could not read, too.
			from := append([]openmanus.Source{}, wrote(call, in.URLs...)...)
			for _, src := range s.Sources {
				from = append(from, wrote(call, src.URL)...)
			}
			if err != nil {
				return openmanus.Result{Sources: from}, err
			}
			res := openmanus.TextResult("%s", text)
			res.Detail, res.Source, res.Sources = s, t.source, from
			return res, nil
		})}
}

// A notebook is the tool research.
type notebook struct {
	openmanus.Tool
	files workspace.Files
	dir   string
}

// Hints implements [openmanus.CallHinter]. Reading pages reaches the network, so
// that a gate has to look at it. A report is written into the workspace. The rest is about
// the session's own notes.
func (notebook) Hints(call openmanus.Call) openmanus.Hints {
	switch inputOf(call).Command {
	case "read":
		return openmanus.Hints{ReadOnly: true, Idempotent: true, Ordered: true}
	case "report":
		return reports
	}
	return openmanus.Hints{Internal: true, Idempotent: true, Ordered: true}
}

// ArgumentsOf implements [openmanus.ArgumentHinter]: a report has two files, and every
// other call none.
func (n notebook) ArgumentsOf(call openmanus.Call) []openmanus.Argument {
	list := n.Spec().Arguments[:1:1]
	if in := inputOf(call); in.Command == "report" {
		list = append(list, reportFile(in, ".md"), reportFile(in, ".html"))
	}
	return list
}

// Preview implements [openmanus.Previewer]. Nobody is asked about a report that would replace
// what the session has not seen.
func (n notebook) Preview(ctx context.Context, call openmanus.Call) (string, error) {
	in := inputOf(call)
	if in.Command != "report" {
		return "", nil
	}
	name, err := workspace.NameIn(ctx, n.dir, in.base())
	for _, ext := range []string{".md", ".html"} {
		if err == nil {
			err = workspace.MayReplace(ctx, n.files, name+ext, nil)
		}
	}
	return "", err
}

// reportFile declares a file of a report.
func reportFile(in researchInput, ext string) openmanus.Argument {
	return openmanus.Argument{Kind: openmanus.PathArgument, Does: openmanus.Writes, Value: in.base() + ext}
}

// inputOf returns the arguments of a call. Those of another form do nothing.
func inputOf(call openmanus.Call) (in researchInput) {
	json.Unmarshal([]byte(call.Input), &in)
	return in
}

// reports are the hints of a call that writes a report.
var reports = openmanus.Hints{Edits: true, Idempotent: true, Ordered: true}

// A researcher carries out one call. It changes s, which becomes the Detail of the
// result if the call succeeds.
type researcher struct {
	r      *Reader
	files  workspace.Files
	dir    string
	call   openmanus.Call
	s      *Research
	source string // the last page that was read
}

func (t *researcher) run(ctx context.Context, in researchInput) (string, error) {
	if in.Command != "plan" && len(t.s.Questions) == 0 {
		return "", errors.New("there are no questions yet: plan comes first")
	}
	switch in.Command {
	case "plan":
		return t.plan(in)
	case "read":
		return t.read(ctx, in)
	case "note":
		return t.note(ctx, in)
	case "follow_up":
		return t.followUp(in)
	case "status":
		return t.s.String(), nil
	case "report":
		return t.report(ctx, in)
	}
	return "", fmt.Errorf("unknown command: %s", in.Command)
}

// plan sets the questions and the limits. There is one plan in a session.
func (t *researcher) plan(in researchInput) (string, error) {
	if len(in.Questions) == 0 {
		return "", errors.New("questions are required for plan")
	}
	if len(t.s.Questions) > 0 {
		return "", errors.New("the questions are planned already: add more with follow_up")
	}
	*t.s = Research{Begun: time.Now().UTC(), Seconds: cmp.Or(in.Seconds, 600), Depth: cmp.Or(in.Depth, 2)}
	for _, q := range in.Questions {
		t.s.Questions = append(t.s.Questions, Question{Text: q, Depth: 1})
	}
	return t.s.String(), nil
}

// timeLeft returns how much of the time limit is left, or an error if none is.
func (t *researcher) timeLeft() (time.Duration, error) {
	left := time.Until(t.s.Begun.Add(time.Duration(t.s.Seconds) * time.Second))
	if left <= 0 {
		return 0, fmt.Errorf(
			"the time limit of %d seconds is used up: write the report with the notes there are", t.s.Seconds)
	}
	return left, nil
}

// followUp adds questions that another one raised, one level below it.
func (t *researcher) followUp(in researchInput) (string, error) {
	if _, err := t.timeLeft(); err != nil {
		return "", err
	}
	if in.Question < 1 || in.Question > len(t.s.Questions) || len(in.Questions) == 0 {
		return "", fmt.Errorf("question (1 to %d) and questions are required for follow_up", len(t.s.Questions))
	}
	depth := t.s.Questions[in.Question-1].Depth + 1
	if depth > t.s.Depth {
		return "", fmt.Errorf(
			"question %d is as deep as it may go (%d): answer what there is", in.Question, t.s.Depth)
	}
	for _, q := range in.Questions {
		t.s.Questions = append(t.s.Questions, Question{Text: q, Parent: in.Question, Depth: depth})
	}
	return t.s.String(), nil
}

// read reads several pages at the same time, and returns the beginning of each:
// together about as much as a result may have. A page that cannot be read does not
// stop the others.
func (t *researcher) read(ctx context.Context, in researchInput) (string, error) {
	left, err := t.timeLeft()
	if err != nil {
		return "", err
	}
	if len(in.URLs) == 0 {
		return "", errors.New("urls are required for read")
	}
	limited, cancel := context.WithTimeout(naming(ctx, t.call, in.URLs...), max(time.Second, left))
	defer cancel()
	pages, errs := make([]*Page, len(in.URLs)), make([]error, len(in.URLs))
	var wg sync.WaitGroup
	for i, u := range in.URLs {
		wg.Go(func() { pages[i], errs[i] = t.r.Read(limited, u) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	var b strings.Builder
	limit := max(1500, 8500/len(in.URLs)) // bytes of each page
	for i, p := range pages {
		if errs[i] != nil {
			fmt.Fprintf(&b, "%s was not read: %v\n\n", in.URLs[i], errs[i])
			continue
		}
		src, err := t.keep(ctx, p)
		if err != nil {
			return "", err
		}
		t.source = p.URL
		md := p.Markdown
		if more := len(md) - limit; more > 0 {
			md = strings.ToValidUTF8(md[:limit], "") + fmt.Sprintf("\n(… %d more bytes: web_fetch shows all)", more)
		}
		fmt.Fprintf(&b, "== %s: %s\n%s\n\n", src.ID, p.URL, p.head()+md)
	}
	return b.String(), nil
}

// keep saves a page as a source. A page that was read before and has not changed
// keeps its id.
func (t *researcher) keep(ctx context.Context, p *Page) (Source, error) {
	saved, err := save(ctx, t.call.Blobs, p)
	if err != nil {
		return Source{}, err
	}
	for _, s := range t.s.Sources {
		if s.URL == saved.URL && s.Blob == saved.Blob {
			return s, nil
		}
	}
	src := Source{ID: fmt.Sprintf("p%d", len(t.s.Sources)+1), Saved: saved}
	t.s.Sources = append(t.s.Sources, src)
	return src, nil
}

// source returns the source with an id, and whether there is one.
func (s *Research) source(id string) (Source, bool) {
	for _, src := range s.Sources {
		if src.ID == id {
			return src, true
		}
	}
	return Source{}, false
}

// note adds a note if its quotation is on the page, word for word. This is what the
// tool is for: a model that remembers a sentence wrongly learns so at once.
func (t *researcher) note(ctx context.Context, in researchInput) (string, error) {
	complete := in.Claim != "" && in.Quote != "" && in.Page != ""
	if !complete || in.Question < 1 || in.Question > len(t.s.Questions) {
		return "", fmt.Errorf("question (1 to %d), page, claim and quote are required for note", len(t.s.Questions))
	}
	src, ok := t.s.source(in.Page)
	if !ok {
		return "", fmt.Errorf("there is no page %q: read it first", in.Page)
	}
	ok, err := t.r.Check(ctx, t.call.Blobs, src.Saved, in.Quote)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", fmt.Errorf(
			"the quotation is not on the page %s (%s) as it was saved, so the note was not added:"+
				" copy the words exactly, in one piece, or leave the claim out", src.ID, src.URL)
	}
	t.s.Notes = append(t.s.Notes, Note{in.Question, src.ID, in.Claim, in.Quote})
	return fmt.Sprintf("Note %d: checked word for word against %s.\n\n%s", len(t.s.Notes), src.ID, t.s), nil
}

// String returns the questions with the number of their notes, and the limits.
func (s *Research) String() string {
	notes := make(map[int]int) // by question
	for _, n := range s.Notes {
		notes[n.Question]++
	}
	var b strings.Builder
	for i, q := range s.Questions {
		fmt.Fprintf(&b, "%s%d. %s (%d notes)\n", strings.Repeat("  ", q.Depth-1), i+1, q.Text, notes[i+1])
	}
	fmt.Fprintf(&b, "Depth: at most %d. Time limit: %d seconds since %s.\n",
		s.Depth, s.Seconds, s.Begun.Format(time.TimeOnly))
	return b.String()
}
