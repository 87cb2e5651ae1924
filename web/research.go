package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/toolspec"
	"github.com/openmanus-go/openmanus/workspace"
)

const researchDescription = `
Keep the notes of a piece of research, and write its report. Every quotation is checked word for word against the saved page.
1. plan: the questions that have to be answered. 2. web_search for each. 3. read: pages, several at once; each gets an id. 4. note: a claim, with the words of a page that support it, copied exactly. 5. follow_up: what a page made you ask, until the depth or the time is used up. 6. report: sections of claims, each with the numbers of its notes.
Examples:
{"command":"plan","questions":["How high is the tower?","When was it built?"],"max_depth":2,"time_limit_seconds":600}
{"command":"read","urls":["https://a.example/tower","https://b.example/"]}
{"command":"note","question":1,"page":"p1","claim":"The tower is 330 m high.","quote":"The tower is 330 metres high."}
{"command":"report","title":"The tower","summary":"It is 330 m high.","sections":[{"heading":"Height","claims":[{"text":"The tower is 330 m high.","notes":[1]}]}]}`

const researchSchema = `{
	"type": "object",
	"properties": {
		"command": {"type": "string", "enum": ["plan", "read", "note", "follow_up", "status", "report"], "description": "What to do."},
		"questions": {"type": "array", "items": {"type": "string"}, "description": "For plan: the questions. For follow_up: those that came up."},
		"max_depth": {"type": "integer", "minimum": 1, "maximum": 5, "description": "For plan: how many questions may follow from each other: 2 if not given."},
		"time_limit_seconds": {"type": "integer", "minimum": 1, "description": "For plan: after so long there is no more reading: 600 if not given."},
		"urls": {"type": "array", "items": {"type": "string"}, "maxItems": 10, "description": "For read: the pages."},
		"question": {"type": "integer", "description": "For note: which question it answers. For follow_up: which question they follow from. Counted from 1."},
		"page": {"type": "string", "description": "For note: the id of the page, such as p1."},
		"claim": {"type": "string", "description": "For note: what it says, in your words."},
		"quote": {"type": "string", "description": "For note: the words of the page that say so, exactly as they stand there, in one piece."},
		"title": {"type": "string", "description": "For report."},
		"summary": {"type": "string", "description": "For report: the answer in a few sentences."},
		"sections": {"type": "array", "description": "For report.", "items": {"type": "object", "properties": {
			"heading": {"type": "string"},
			"claims": {"type": "array", "items": {"type": "object", "properties": {
				"text": {"type": "string"},
				"notes": {"type": "array", "items": {"type": "integer"}, "description": "The notes that support it; none, if nothing does: it is then marked as unsupported."}
			}, "required": ["text"], "additionalProperties": false}}
		}, "required": ["heading", "claims"], "additionalProperties": false}},
		"file": {"type": "string", "description": "For report: the files' name without an ending: report if not given."}
	},
	"required": ["command"],
	"additionalProperties": false
}`

// A Research is what is known so far. It is the Detail of the tool's results.
type Research struct {
	Begun     time.Time  `json:"begun"`
	Seconds   int        `json:"time_limit_seconds"`
	Depth     int        `json:"max_depth"`
	Questions []Question `json:"questions"`
	Sources   []Source   `json:"sources"`
	Notes     []Note     `json:"notes"`
	Files     []string   `json:"files,omitempty"` // the report
}

// A Question is one that is to be answered.
type Question struct {
	Text   string `json:"text"`
	Parent int    `json:"parent,omitempty"` // counted from 1; 0: it was there from the beginning
	Depth  int    `json:"depth"`
}

// A Source is a page that was read.
type Source struct {
	ID string `json:"id"`
	Saved
}

// A Note is a claim and what supports it. Only what was checked is noted.
type Note struct {
	Question int    `json:"question"`
	Source   string `json:"source"`
	Claim    string `json:"claim"`
	Quote    string `json:"quote"`
}

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

// NewResearch returns the tool research, which writes its report into files.
// dir is their root.
func NewResearch(r *Reader, files workspace.Files, dir string) openmanus.Tool {
	// It changes the session's notes and writes reports that are its own.
	hints := openmanus.Hints{Internal: true, Idempotent: true}
	return openmanus.Func(toolspec.New("research", researchDescription, researchSchema, hints, opens("urls"),
		openmanus.Argument{Name: "file", Kind: openmanus.PathArgument, Does: openmanus.Writes}),
		func(ctx context.Context, call openmanus.Call, in researchInput) (openmanus.Result, error) {
			var s Research
			if len(call.Last) > 0 {
				if err := json.Unmarshal(call.Last, &s); err != nil {
					return openmanus.Result{}, fmt.Errorf("the notes so far: %w", err)
				}
			}
			t := &researcher{r: r, files: files, dir: dir, call: call, s: &s}
			text, err := t.run(ctx, in)
			if err != nil {
				return openmanus.Result{}, err
			}
			res := openmanus.TextResult("%s", text)
			res.Detail, res.Source = s, t.source
			return res, nil
		})
}

// A researcher is one call under way.
type researcher struct {
	r      *Reader
	files  workspace.Files
	dir    string
	call   openmanus.Call
	s      *Research
	source string
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

func (t *researcher) plan(in researchInput) (string, error) {
	if len(in.Questions) == 0 {
		return "", errors.New("questions are required for plan")
	}
	if len(t.s.Questions) > 0 {
		return "", errors.New("the questions are planned already: add some with follow_up")
	}
	*t.s = Research{Begun: time.Now().UTC(), Seconds: in.Seconds, Depth: in.Depth}
	if t.s.Seconds == 0 {
		t.s.Seconds = 600
	}
	if t.s.Depth == 0 {
		t.s.Depth = 2
	}
	for _, q := range in.Questions {
		t.s.Questions = append(t.s.Questions, Question{Text: q, Depth: 1})
	}
	return t.s.String(), nil
}

// late says that the time is used up, if it is.
func (t *researcher) late() error {
	if left := t.left(); left <= 0 {
		return fmt.Errorf("the time limit of %d seconds is used up: write the report with the notes there are", t.s.Seconds)
	}
	return nil
}

func (t *researcher) left() time.Duration {
	return time.Until(t.s.Begun.Add(time.Duration(t.s.Seconds) * time.Second))
}

func (t *researcher) followUp(in researchInput) (string, error) {
	if err := t.late(); err != nil {
		return "", err
	}
	if in.Question < 1 || in.Question > len(t.s.Questions) || len(in.Questions) == 0 {
		return "", fmt.Errorf("question (1 to %d) and questions are required for follow_up", len(t.s.Questions))
	}
	depth := t.s.Questions[in.Question-1].Depth + 1
	if depth > t.s.Depth {
		return "", fmt.Errorf("question %d is as deep as it may go (%d): answer what there is", in.Question, t.s.Depth)
	}
	for _, q := range in.Questions {
		t.s.Questions = append(t.s.Questions, Question{Text: q, Parent: in.Question, Depth: depth})
	}
	return t.s.String(), nil
}

// read reads pages at once.
func (t *researcher) read(ctx context.Context, in researchInput) (string, error) {
	if err := t.late(); err != nil {
		return "", err
	}
	if len(in.URLs) == 0 {
		return "", errors.New("urls are required for read")
	}
	limited, cancel := context.WithTimeout(ctx, max(time.Second, t.left()))
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
	each := max(1500, 8500/len(in.URLs))
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
		if len(md) > each {
			md = strings.ToValidUTF8(md[:each], "") + fmt.Sprintf("\n(… %d more bytes: web_fetch shows all)", len(md)-each)
		}
		fmt.Fprintf(&b, "== %s: %s\n%s\n\n", src.ID, p.URL, p.head()+md)
	}
	return b.String(), nil
}

// keep saves a page under an id; one that was read before keeps its id, if it
// is the same.
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

func (s *Research) source(id string) (Source, bool) {
	for _, src := range s.Sources {
		if src.ID == id {
			return src, true
		}
	}
	return Source{}, false
}

// note notes a claim, if the page says what is quoted.
func (t *researcher) note(ctx context.Context, in researchInput) (string, error) {
	if in.Claim == "" || in.Quote == "" || in.Page == "" || in.Question < 1 || in.Question > len(t.s.Questions) {
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
		return "", fmt.Errorf("the quotation is not on the page %s (%s) as it was saved, so it was not noted: copy the words exactly as they stand there, in one piece, or leave the claim out", src.ID, src.URL)
	}
	t.s.Notes = append(t.s.Notes, Note{in.Question, src.ID, in.Claim, in.Quote})
	return fmt.Sprintf("Note %d: checked word for word against %s.\n\n%s", len(t.s.Notes), src.ID, t.s), nil
}

// String is how far the research is.
func (s *Research) String() string {
	var b strings.Builder
	for i, q := range s.Questions {
		n := 0
		for _, note := range s.Notes {
			if note.Question == i+1 {
				n++
			}
		}
		fmt.Fprintf(&b, "%s%d. %s (%d notes)\n", strings.Repeat("  ", q.Depth-1), i+1, q.Text, n)
	}
	fmt.Fprintf(&b, "Depth: at most %d. Time limit: %d seconds since %s.\n", s.Depth, s.Seconds, s.Begun.Format(time.TimeOnly))
	return b.String()
}
