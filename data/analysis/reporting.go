package analysis

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/data/report"
	"github.com/openmanus-go/openmanus/internal/toolspec"
	"github.com/openmanus-go/openmanus/workspace"
)

const reportDescription = `
Make a report of Markdown: one HTML file with everything in it, and a PDF. ![caption](visualization/NAME.html) puts a chart of data_visualization into it, ![caption](data.csv) a table (its first 40 rows), ![caption](picture.png) a picture. Raw HTML is left out; nothing is loaded from the network. Write what the numbers mean, not only what they are: lead with the answer, one section for each question, a chart or table where it says more than words, limits and sources at the end.
Example: {"markdown":"# Sales 2024\n\nRevenue rose by 12 %.\n\n![Revenue by month](visualization/Revenue_by_month.html)\n","output":"report"}`

const reportSchema = `{
	"type": "object",
	"properties": {
		"markdown": {"type": "string", "description": "The text of the report. Instead: path."},
		"path": {"type": "string", "description": "A Markdown file of the workspace."},
		"output": {"type": "string", "description": "The path of the report without an ending; report if not given. Files of that name are replaced."},
		"formats": {"type": "array", "items": {"type": "string", "enum": ["html", "pdf"]}, "description": "html and pdf if not given."},
		"title": {"type": "string", "description": "The title of the page; the first heading if not given."},
		"language": {"type": "string", "enum": ["en", "zh"]}
	},
	"additionalProperties": false
}`

type reportInput struct {
	Markdown string   `json:"markdown"`
	Path     string   `json:"path"`
	Output   string   `json:"output"`
	Formats  []string `json:"formats"`
	Title    string   `json:"title"`
	Language string   `json:"language"`
}

// A Report is the Detail of a result of data_report.
type Report struct {
	Files []string `json:"files"` // relative to the workspace
	Shown int      `json:"shown"` // charts, tables and pictures in it
	Notes []string `json:"notes,omitempty"`
}

// NewReport returns the tool data_report for ws. A PDF is made by the Chromium
// that ws can run; without one, the result says so and the HTML is there.
func NewReport(ws workspace.Workspace) openmanus.Tool {
	return openmanus.Func(
		toolspec.New("data_report", reportDescription, reportSchema, openmanus.Hints{Edits: true, Idempotent: true},
			openmanus.Argument{Name: "path", Kind: openmanus.PathArgument, Does: openmanus.Reads},
			openmanus.Argument{Name: "output", Kind: openmanus.PathArgument, Does: openmanus.Writes, Value: "report"}),
		func(ctx context.Context, _ openmanus.Call, in reportInput) (openmanus.Result, error) {
			return makeReport(ctx, ws, in)
		})
}

func makeReport(ctx context.Context, ws workspace.Workspace, in reportInput) (openmanus.Result, error) {
	var none openmanus.Result
	text, dir, err := source(ws, in)
	if err != nil {
		return none, err
	}
	if in.Output == "" {
		in.Output = "report"
	}
	output := strings.TrimSuffix(strings.TrimSuffix(in.Output, ".html"), ".pdf")
	base, err := workspace.Name(ws.Dir(), output)
	if err != nil {
		return none, err
	}
	page, err := report.Make(ctx, ws.FS(), text, report.Options{Title: in.Title, Lang: in.Language, Name: namer(ws, dir)})
	if err != nil {
		return none, err
	}
	d := Report{Shown: page.Shown, Notes: page.Notes}
	want := func(f string) bool { return len(in.Formats) == 0 || slices.Contains(in.Formats, f) }
	if want("html") {
		if err := ws.WriteFile(ctx, base+".html", page.HTML); err != nil {
			return none, err
		}
		d.Files = append(d.Files, base+".html")
	}
	var failed error
	if want("pdf") {
		if failed = report.PDF(ctx, ws, page.Print, base+".pdf"); failed == nil {
			d.Files = append(d.Files, base+".pdf")
		}
	}
	var b strings.Builder
	for _, f := range d.Files {
		fmt.Fprintf(&b, "Report saved in: %s\n", f)
	}
	fmt.Fprintf(&b, "(%d charts, tables and pictures in it)\n", page.Shown)
	for _, n := range page.Notes {
		fmt.Fprintf(&b, "Not shown: %s\n", n)
	}
	res := openmanus.TextResult("%s", b.String())
	res.Detail = d
	if failed != nil {
		if ctx.Err() == nil && errors.Is(failed, report.ErrNoChromium) && len(d.Files) > 0 {
			res.Parts = openmanus.TextResult("%sNo PDF: %v\n", b.String(), failed).Parts
			return res, nil
		}
		return res, fmt.Errorf("no PDF: %w", failed)
	}
	return res, nil
}

// source is the Markdown, and the directory to which its addresses relate.
func source(ws workspace.Workspace, in reportInput) (text []byte, dir string, err error) {
	switch {
	case in.Markdown != "" && in.Path != "":
		return nil, "", errors.New("give markdown or path, not both")
	case in.Path == "":
		return []byte(in.Markdown), ".", nil
	}
	name, err := workspace.Name(ws.Dir(), in.Path)
	if err != nil {
		return nil, "", err
	}
	text, err = fs.ReadFile(ws.FS(), name)
	return text, path.Dir(name), err
}

// namer finds the files that addresses in the report mean: beside it, in the
// workspace, among the charts.
func namer(ws workspace.Workspace, dir string) func(string) (string, error) {
	return func(address string) (string, error) {
		if dir != "." && !strings.HasPrefix(address, "/") {
			if name, err := find(ws, path.Join(dir, address)); err == nil {
				return name, nil
			}
		}
		return find(ws, address)
	}
}
