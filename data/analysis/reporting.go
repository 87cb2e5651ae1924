package analysis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/data/report"
	"github.com/openmanus-go/openmanus/workspace"
)

// reportInput is the arguments of data_report, as its schema describes them.
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
	Files []string `json:"files"`           // relative to the workspace
	Shown int      `json:"shown"`           // how many charts, tables and pictures it has
	Notes []string `json:"notes,omitempty"` // what could not be shown, and why
}

// NewReport returns the tool data_report, which reads and writes files of ws.
// It prints PDFs with a Chromium that ws can run. Without one it calls install, if
// that is not nil, with the call: after nil it tries again, and an [openmanus.Ask] is
// put to the user. Without a Chromium it makes only the HTML, and the result says so.
func NewReport(ws workspace.Workspace, install func(context.Context, openmanus.Call) error) openmanus.Tool {
	return openmanus.Func(
		specOf("data_report", openmanus.Hints{Edits: true, Idempotent: true},
			openmanus.Argument{Name: "path", Kind: openmanus.PathArgument, Does: openmanus.Reads},
			openmanus.Argument{Name: "output", Kind: openmanus.PathArgument, Does: openmanus.Writes, Value: "report"}),
		func(ctx context.Context, call openmanus.Call, in reportInput) (openmanus.Result, error) {
			print := func(page []byte, name string) error {
				err := report.PDF(ctx, ws, page, name)
				if install == nil || !errors.Is(err, report.ErrNoChromium) {
					return err
				}
				if no := install(ctx, call); no != nil {
					return &noChromium{no}
				}
				return report.PDF(ctx, ws, page, name)
			}
			return makeReport(ctx, ws, in, print)
		})
}

// A noChromium is a [report.ErrNoChromium] that says why none was installed.
type noChromium struct{ error }

func (e *noChromium) Unwrap() []error { return []error{e.error, report.ErrNoChromium} }

// makeReport writes the report, and its PDF with print. That there is no Chromium is
// an error only if the PDF is all that was asked for, or if the user is to be asked.
func makeReport(
	ctx context.Context, ws workspace.Workspace, in reportInput, print func(page []byte, name string) error,
) (openmanus.Result, error) {
	var none openmanus.Result
	text, dir, err := source(ws, in)
	if err != nil {
		return none, err
	}
	output := cmp.Or(in.Output, "report")
	base, err := workspace.Name(ws.Dir(), strings.TrimSuffix(strings.TrimSuffix(output, ".html"), ".pdf"))
	if err != nil {
		return none, err
	}
	options := report.Options{Title: in.Title, Lang: in.Language, Name: namer(ws, dir)}
	page, err := report.Make(ctx, workspace.Unnamed(ws.FS()), text, options)
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
	var noPDF error
	if want("pdf") {
		if noPDF = print(page.Print, base+".pdf"); noPDF == nil {
			d.Files = append(d.Files, base+".pdf")
		}
	}
	if ask := (*openmanus.Ask)(nil); errors.As(noPDF, &ask) {
		return none, ask // what is there already is made again after the answer
	}
	tolerable := ctx.Err() == nil && errors.Is(noPDF, report.ErrNoChromium) && len(d.Files) > 0
	var b strings.Builder
	for _, f := range d.Files {
		fmt.Fprintf(&b, "Report saved in: %s\n", f)
	}
	fmt.Fprintf(&b, "(%d charts, tables and pictures in it)\n", page.Shown)
	for _, n := range page.Notes {
		fmt.Fprintf(&b, "Not shown: %s\n", n)
	}
	if tolerable {
		fmt.Fprintf(&b, "No PDF: %v\n", noPDF)
	}
	res := openmanus.TextResult("%s", b.String())
	res.Detail = d
	if noPDF != nil && !tolerable {
		return res, fmt.Errorf("no PDF: %w", noPDF)
	}
	return res, nil
}

// source returns the Markdown, and the directory to which its addresses are
// relative.
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

// namer returns a function that finds the file an address means: relative to
// dir, to the workspace, or to the folder of charts.
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
